package objectsync_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSelectedNoMore shows that the copy of what is selected no more goes, be it the last, and that the consumer is
// told of what there is: by its kind in the workspace, without gaps.
func TestSelectedNoMore(t *testing.T) {
	w := newWorld(t)
	spec := related(v1alpha1.OriginService,
		located(v1alpha1.RelatedResourceObjectSpec{Selector: &v1alpha1.RelatedResourceSelector{
			LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "found"}},
			Rewrite:       v1alpha1.SelectorRewrite{Template: &v1alpha1.TemplateExpression{Template: "found-{{ .Name }}"}},
		}}))
	s := w.newSyncer(objectsync.Config{
		Spec: spec, Primary: things,
		Related: map[string]objectsync.Pair{"tls": {Workspace: plains.Workspace, Service: things.Service}},
	})
	w.create(w.above, thing(w.input.Object))
	w.hasFound(s)
	selected := map[string]*unstructured.Unstructured{}
	for _, name := range []string{"a", "b"} {
		selected[name] = objectOf(things.Service, types.NamespacedName{Namespace: w.cluster, Name: name},
			map[string]any{})
		selected[name].SetLabels(map[string]string{"app": "found"})
		w.create(w.below, selected[name])
	}
	w.hasFound(s, "a", "b")
	w.patch(w.below, selected["a"], `{"metadata":{"labels":null}}`)
	w.hasFound(s, "b")
	kube.Delete(t, w.below, selected["b"])
	w.hasFound(s)
}

// hasFound syncs, and checks which copies of selected objects there are, and that the consumer is told of these.
func (w *world) hasFound(s *objectsync.Syncer, names ...string) {
	w.Helper()
	w.mustSync(s, w.input)
	ns, want := w.input.Object.Namespace, map[string]string{}
	for i, name := range names {
		want[fmt.Sprintf("%stls.%d", objectsync.AnnotationRelatedPrefix, i)] = fmt.Sprintf(
			`{"namespace":%q,"name":"found-%s","apiVersion":"ws.example.com/v1","kind":"Plain"}`, ns, name)
	}
	if diff := cmp.Diff(want, w.source(w.input).GetAnnotations(), cmpopts.EquateEmpty()); diff != "" {
		w.Errorf("annotations of the object: -want, +got:\n%s", diff)
	}
	for _, name := range []string{"a", "b"} {
		u := w.read(w.input.Workspace.Side, plains.Workspace,
			types.NamespacedName{Namespace: ns, Name: "found-" + name})
		if there, wanted := u != nil, slices.Contains(names, name); there != wanted {
			w.Errorf("copy of %s: want it %t, it is %t", name, wanted, there)
		}
	}
}
