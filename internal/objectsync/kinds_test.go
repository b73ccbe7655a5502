package objectsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// resource returns an API of testdata.
func resource(group, plural, kind string, scope v1alpha1.ResourceScope) objectsync.Resource {
	return objectsync.Resource{GroupVersionResource: schema.GroupVersionResource{
		Group: group, Version: "v1", Resource: plural,
	}, Kind: kind, Scope: scope, Status: kind != "Plain"}
}

var (
	wides = objectsync.Pair{
		Workspace: resource("ws.example.com", "wides", "Wide", v1alpha1.ScopeCluster),
		Service:   resource("example.org", "wides", "Wide", v1alpha1.ScopeCluster),
	}
	plains = objectsync.Pair{
		Workspace: resource("ws.example.com", "plains", "Plain", v1alpha1.ScopeNamespaced),
		Service:   resource("example.org", "plains", "Plain", v1alpha1.ScopeNamespaced),
	}
)

// syncerOf returns the syncer of other kinds than things. Related ones are things.
func (w *world) syncerOf(primary objectsync.Pair, spec *v1alpha1.PublishedResourceSpec) *objectsync.Syncer {
	w.Helper()
	related := map[string]objectsync.Pair{}
	for i := range spec.Related {
		related[spec.Related[i].Name()] = things
	}
	return w.newSyncer(objectsync.Config{
		Spec: spec, Primary: primary, Related: related,
	})
}

// objectOf returns an object of a resource.
func objectOf(r objectsync.Resource, n types.NamespacedName, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(r.GroupVersion().WithKind(r.Kind))
	u.SetNamespace(n.Namespace)
	u.SetName(n.Name)
	return u
}

func (w *world) read(s objectsync.Side, r objectsync.Resource, n types.NamespacedName) *unstructured.Unstructured {
	w.Helper()
	u, err := s.Cache(r.GroupVersionResource).Get(n)
	if err != nil {
		w.Fatal(err)
	}
	return u
}

// TestScopes shows objects and copies with and without a namespace, by the default names, in both directions.
func TestScopes(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		pair   objectsync.Pair
	}{
		"Cluster": {reason: "Both sides may be without.", pair: wides},
		"Narrowed": {
			reason: "A copy can have a namespace that its object has not.",
			pair:   objectsync.Pair{Workspace: wides.Workspace, Service: things.Service},
		},
		"Widened": {
			reason: "Or none where it has one.",
			pair:   objectsync.Pair{Workspace: things.Workspace, Service: wides.Service},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			in := w.input
			in.Object.Name = w.cluster
			if tc.pair.Workspace.Scope == v1alpha1.ScopeCluster {
				in.Object.Namespace = ""
			}
			s := w.syncerOf(tc.pair, &v1alpha1.PublishedResourceSpec{})
			src := objectOf(tc.pair.Workspace, in.Object, map[string]any{"spec": map[string]any{"size": int64(3)}})
			w.create(w.above, src)
			w.mustSync(s, in)
			copies, err := in.Service.Cache(tc.pair.Service.GroupVersionResource).Select("",
				labels.SelectorFromSet(labels.Set{objectsync.LabelCluster: w.cluster}))
			if err != nil || len(copies) != 1 {
				t.Fatalf("%s want one copy, got %d, %v", tc.reason, len(copies), err)
			}
			if has := copies[0].GetNamespace() != ""; has != (tc.pair.Service.Scope == v1alpha1.ScopeNamespaced) {
				t.Errorf("namespace of the copy: got %q", copies[0].GetNamespace())
			}
			w.patchStatus(w.below, copies[0], `{"status":{"phase":"Ready"}}`)
			w.mustSync(s, in)
			got := w.read(in.Workspace.Side, tc.pair.Workspace, in.Object)
			if diff := cmp.Diff([]any{copies[0].Object["spec"], map[string]any{"phase": "Ready"}},
				[]any{got.Object["spec"], got.Object["status"]}); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			kube.Delete(t, w.above, src)
			w.mustSync(s, in)
			if w.read(in.Workspace.Side, tc.pair.Workspace, in.Object) != nil || len(w.states()) != 0 {
				t.Error("something is left")
			}
		})
	}
}
