package objectsync_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// role returns the content of a RoleBinding.
func role(name string) map[string]any {
	return map[string]any{"roleRef": map[string]any{
		"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name,
	}}
}

// relates returns a syncer of things with one related object, of the same name on both sides.
func (w *world) relates(origin v1alpha1.Origin, r objectsync.Resource) *objectsync.Syncer {
	w.Helper()
	spec := related(origin,
		located(v1alpha1.RelatedResourceObjectSpec{Template: &v1alpha1.TemplateExpression{Template: "rel"}}))
	return w.newSyncer(objectsync.Config{
		Spec: spec, Primary: things,
		Related: map[string]objectsync.Pair{spec.Related[0].Name(): {Workspace: r, Service: r}},
	})
}

// TestReplacedOrigin shows that a related object which has been replaced unseen, by one into which its copy cannot be
// changed, gets a copy of its own, once for all objects that share it. A copy that can be changed stays.
func TestReplacedOrigin(t *testing.T) {
	opaque := func(value string) map[string]any {
		return map[string]any{"type": "Opaque", "data": map[string]any{"k": value}}
	}
	cases := map[string]struct {
		reason   string
		resource objectsync.Resource
		was, is  map[string]any
		stays    bool
	}{
		"Type": {
			reason: "The type of a Secret cannot be changed.", resource: secret, was: opaque("b25l"),
			is: map[string]any{"type": "example.org/other", "data": map[string]any{"k": "dHdv"}},
		},
		"Field": {
			reason: "Nor some fields of other kinds.", was: role("one"), is: role("two"),
			resource: objectsync.Resource{
				GroupVersionResource: rbacv1.SchemeGroupVersion.WithResource("rolebindings"), Kind: "RoleBinding",
				Scope: v1alpha1.ScopeNamespaced,
			},
		},
		"Changed": {
			reason: "What others have added to a copy that can be changed stays.", resource: secret, stays: true,
			was: opaque("b25l"), is: opaque("dHdv"),
		},
	}
	for name, tc := range cases {
		for _, from := range []v1alpha1.Origin{v1alpha1.OriginService, v1alpha1.OriginKCP} {
			t.Run(name+"/"+string(from), func(t *testing.T) {
				w := newWorld(t)
				s, second := w.relates(from, tc.resource), w.second()
				w.ensureNamespace(w.cluster)
				at := types.NamespacedName{Namespace: w.cluster, Name: "rel"}
				copyAt := types.NamespacedName{Namespace: w.input.Object.Namespace, Name: "rel"}
				c, other, to := w.below, w.above, w.input.Workspace.Side
				if from == v1alpha1.OriginKCP {
					at, copyAt, c, other, to = copyAt, at, w.above, w.below, w.input.Service
				}
				for _, in := range []objectsync.Input{w.input, second} {
					w.create(w.above, thing(in.Object))
				}
				origin := objectOf(tc.resource, at, runtime.DeepCopyJSON(tc.was))
				w.create(c, origin.DeepCopy())
				w.mustSync(s, w.input)
				w.mustSync(s, second)
				was := w.read(to, tc.resource, copyAt)
				w.patch(other, was.DeepCopy(), `{"metadata":{"labels":{"added":"by-another"}}}`)

				w.replace(c, origin, objectOf(tc.resource, at, runtime.DeepCopyJSON(tc.is)))
				w.mustSync(s, w.input)
				is := w.read(to, tc.resource, copyAt)
				if is == nil || (is.GetUID() == was.GetUID()) != tc.stays ||
					(is.GetLabels()["added"] != "") != tc.stays {
					t.Fatalf("%s want the copy to stay %t, got %v", tc.reason, tc.stays, is)
				}
				for field, want := range tc.is {
					if diff := cmp.Diff(want, is.Object[field]); diff != "" {
						t.Errorf("%s %s: -want, +got:\n%s", tc.reason, field, diff)
					}
				}
				w.mustSync(s, second)
				if got := w.read(to, tc.resource, copyAt); got.GetUID() != is.GetUID() {
					t.Error("want the copy made once for both objects")
				}
				w.writesNothing("first at rest", s, w.input)
				w.writesNothing("second at rest", s, second)
			})
		}
	}
}

// replace makes an object in place of another one, which nobody sees being deleted.
func (w *world) replace(c client.Client, was, is *unstructured.Unstructured) {
	w.Helper()
	w.patch(c, was.DeepCopy(), `{"metadata":{"finalizers":null}}`)
	kube.Delete(w, c, was)
	w.create(c, is)
}

// TestImmutableCopy shows that a copy which others have made immutable stays as it is, as its origin is the same, and
// that the consumer is told which side refuses what. A copy of the new content comes when that one is deleted.
func TestImmutableCopy(t *testing.T) {
	for from, says := range map[v1alpha1.Origin]string{
		v1alpha1.OriginService: "This workspace does not accept Secret ",
		v1alpha1.OriginKCP:     "The provider of the service does not accept Secret ",
	} {
		t.Run(string(from), func(t *testing.T) {
			w := newWorld(t)
			s := w.relates(from, secret)
			w.ensureNamespace(w.cluster)
			w.create(w.above, thing(w.input.Object))
			mine := types.NamespacedName{Namespace: w.input.Object.Namespace, Name: "rel"}
			origin, copied := newSecret(w.cluster, "rel", "one"), newSecret(mine.Namespace, "rel", "")
			c, other, side := w.below, w.above, "the workspace refuses it"
			if from == v1alpha1.OriginKCP {
				origin, copied = newSecret(mine.Namespace, "rel", "one"), newSecret(w.cluster, "rel", "")
				c, other, side = w.above, w.below, "the service cluster refuses it"
			}
			w.create(c, origin)
			w.mustSync(s, w.input)
			w.patch(other, copied.DeepCopy(), `{"immutable":true}`)
			w.patch(c, origin, `{"data":{"k":"dHdv"}}`)
			all, err := w.sync(s, w.input)
			told := all[len(all)-1].Events
			if objectsync.RefusalOf(err) == nil || !strings.Contains(err.Error(), side) || len(told) != 1 ||
				!strings.HasPrefix(told[0].Message, says+mine.String()) {
				t.Errorf("want to be told that %s, got %v, %v", side, told, err)
			}
			if got := w.secretOf(other, copied.Namespace, "rel")["k"]; got != "one" {
				t.Errorf("want the copy as it was, got %q", got)
			}
			kube.Delete(t, other, copied)
			w.mustSync(s, w.input)
			if got := w.secretOf(other, copied.Namespace, "rel")["k"]; got != "two" {
				t.Errorf("want a new copy, got %q", got)
			}
		})
	}
}
