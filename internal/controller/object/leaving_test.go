package object_test

import (
	"bytes"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// applyAs applies a manifest by server-side apply as a field manager.
func (w world) applyAs(t *testing.T, manager string, m build.Manifest) {
	t.Helper()
	u := &unstructured.Unstructured{Object: m}
	err := w.tc.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager))
	if err != nil {
		t.Fatal(err)
	}
}

// TestFieldsOfFormerOwnersLeave shows that what another Object has left, or kubectl or an application has made, leaves
// the resource when it leaves the manifest of the Object that has it, and that fields which this never gave stay.
func TestFieldsOfFormerOwnersLeave(t *testing.T) {
	createOnly := xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionCreate}
	for name, former := range map[string]func(*testing.T, world, build.Manifest){
		"Orphaned": func(t *testing.T, w world, m build.Manifest) {
			o := w.former(m, nil)
			legacy, ok := o.(*objectv1alpha2.Object)
			if !ok {
				o.SetManagementPolicies(neverDelete) // Only Objects of the cluster scope have a deletion policy.
			} else {
				legacy.SetDeletionPolicy(xpv2.DeletionOrphan)
			}
			createReady(t, w.c, o)
			kube.Remove(t, w.c, o)
		},
		"NotDeleted": func(t *testing.T, w world, m build.Manifest) {
			o := w.former(m, neverDelete)
			createReady(t, w.c, o)
			kube.Remove(t, w.c, o)
		},
		"OnlyMade": func(t *testing.T, w world, m build.Manifest) {
			o := w.former(m, createOnly)
			createReady(t, w.c, o)
			kube.Remove(t, w.c, o)
		},
		"Replaced": func(t *testing.T, w world, m build.Manifest) {
			o := w.former(m, neverDelete)
			createReady(t, w.c, o)
			setManifest(t, w.c, o, build.ConfigMap(w.target, "another"))
			w.awaitData(t, "another")
		},
		"Application": func(t *testing.T, w world, m build.Manifest) {
			u := &unstructured.Unstructured{Object: m}
			kube.Create(t, w.tc, u)
			u.SetManagedFields([]metav1.ManagedFieldsEntry{entryOf(workloadv1alpha1.FieldManagerRemotePrefix+"x", u)})
			kube.Update(t, w.tc, u)
		},
		"Kubectl":       func(t *testing.T, w world, m build.Manifest) { w.asKubectl(t, m, nil) },
		"KubectlServer": func(t *testing.T, w world, m build.Manifest) { w.applyAs(t, "kubectl", m) },
		"KubectlCreate": func(t *testing.T, w world, m build.Manifest) {
			u := &unstructured.Unstructured{Object: m}
			if err := w.tc.Create(t.Context(), u, client.FieldOwner("kubectl-create")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				former(t, w, build.ConfigMap(w.target, "settings", "a", "1", "b", "2", "c", "3"))
				o := w.keep(t, build.ConfigMap(w.target, "settings", "a", "1", "b", "2"))
				w.awaitData(t, "settings", "a", "1", "b", "2", "c", "3")
				setManifest(t, w.c, o, build.ConfigMap(w.target, "settings", "a", "1"))
				w.awaitData(t, "settings", "a", "1", "c", "3")
				awaitObserved(t, w.c, o, map[string]string{"a": "1", "c": "3"})
				staysUnwritten(t, w.c, o)
			})
		})
	}
}

// former returns an Object of another name than w.object has.
func (w world) former(m build.Manifest, p xpv2.ManagementPolicies) build.Object {
	o := w.scope.Object(w.namespace, w.name("former"), w.config, m)
	if p != nil {
		o.SetManagementPolicies(p)
	}
	return o
}

// entryOf returns the managed fields of a ConfigMap's data as those of one that has left it.
func entryOf(manager string, u *unstructured.Unstructured) metav1.ManagedFieldsEntry {
	e := u.GetManagedFields()[0]
	e.Manager = manager
	return e
}

// TestSameNameReturns shows that an Object which comes again under the name of one that has left its resource goes on
// as that one would have: what its manifest no longer gives goes.
func TestSameNameReturns(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		for range 2 {
			o := w.former(build.ConfigMap(w.target, "settings", "a", "1", "b", "2"), neverDelete)
			createReady(t, w.c, o)
			kube.Remove(t, w.c, o)
			o = w.former(build.ConfigMap(w.target, "settings", "a", "1"), neverDelete)
			createReady(t, w.c, o)
			w.awaitData(t, "settings", "a", "1")
			kube.Remove(t, w.c, o)
		}
	})
}

// TestLeavesWithoutRight shows that an Object whose target does not let it give up its fields leaves all the same, and
// that an event says what stays.
func TestLeavesWithoutRight(t *testing.T) {
	c := provide(t)
	cfg := targetUser(t)
	var closed atomic.Bool
	w := newWorldOf(t, c, build.Namespaced(), kube.Front(t, cfg, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if closed.Load() && r.Method == http.MethodPatch {
				rw.Header().Set("Content-Type", "application/json")
				rw.WriteHeader(http.StatusForbidden)
				_, _ = rw.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
				return
			}
			server.ServeHTTP(rw, r)
		})
	}))
	o := w.former(build.ConfigMap(w.target, "settings", "a", "1"), neverDelete)
	createReady(t, c, o)
	closed.Store(true)
	kube.Remove(t, c, o)
	if told := awaitEvent(t, c, o, "FieldsMayStay"); !strings.Contains(told, "remain until you remove them") {
		t.Errorf("event: got %q", told)
	}
	w.awaitData(t, "settings", "a", "1")
}

// TestOnlyOwnersShare shows that a resource is left to an Object of other credentials that has fields on it, by
// whatever URL, and not to one whose server only shows its UID.
func TestOnlyOwnersShare(t *testing.T) {
	c := provide(t)
	t.Run("OtherURL", func(t *testing.T) {
		w := newWorld(t, c, build.Namespaced())
		other := newWorldOf(t, c, build.Namespaced(),
			kube.Front(t, targetUser(t), func(server http.Handler) http.Handler { return server }))
		other.target = w.target
		first, second := w.sharer("first", nil), other.sharer("second", nil)
		createReady(t, c, first, second)
		kube.Remove(t, c, first)
		w.awaitData(t, "shared", "color", "blue", "second", "yes")
		kube.Remove(t, c, second)
		w.exists(t, w.kept("shared"), false)
	})
	t.Run("Forged", func(t *testing.T) {
		w := newWorld(t, c, build.Namespaced())
		first, shared := w.sharer("first", nil), w.kept("shared")
		createReady(t, c, first)
		w.exists(t, shared, true)
		var its atomic.Pointer[types.UID]
		tenant := newWorldOf(t, c, build.Namespaced(), kube.Front(t, targetUser(t),
			func(server http.Handler) http.Handler {
				return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					r.Header.Del("Accept-Encoding") // Kubernetes 1.37 compresses watches, too.
					server.ServeHTTP(forger{rw, &its, shared.GetUID()}, r)
				})
			}))
		// Of the same name, too, so that the resource has fields of its field manager.
		forged := tenant.scope.Object(tenant.namespace, first.GetName(), tenant.config,
			build.ConfigMap(tenant.target, "fake"))
		createReady(t, c, forged)
		fake := tenant.kept("fake")
		tenant.exists(t, fake, true)
		its.Store(new(fake.GetUID()))
		kube.Patch(t, w.tc, fake, `{"data":{"x":"y"}}`)
		kube.Await(t, c, forged, "the forged UID", func() (bool, string) {
			raw := forged.Observed().Manifest.Raw
			return bytes.Contains(raw, []byte(shared.GetUID())), string(raw)
		})
		kube.Remove(t, c, first)
		w.exists(t, w.kept("shared"), false)
	})
}

// A forger shows one UID for another.
type forger struct {
	http.ResponseWriter

	its *atomic.Pointer[types.UID]
	as  types.UID
}

// Write writes an answer with the UID replaced.
func (f forger) Write(b []byte) (int, error) {
	if its := f.its.Load(); its != nil {
		b = bytes.ReplaceAll(b, []byte(*its), []byte(f.as))
	}
	return f.ResponseWriter.Write(b)
}

// Flush sends what was written.
func (f forger) Flush() { _ = http.NewResponseController(f.ResponseWriter).Flush() }
