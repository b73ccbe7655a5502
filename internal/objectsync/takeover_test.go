package objectsync_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

func hash(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// stateKey returns where api-syncagent remembers an object.
func stateKey(cluster, namespace, name string) string {
	return hash(fmt.Sprintf(`{"ClusterName":%q,"WorkspacePath":"","Namespace":%q,"Name":%q}`+"\n", cluster, namespace,
		name))
}

// left makes what api-syncagent leaves of an object with a related Secret: both objects, both Secrets, and the state.
func left(w *world) (copied *unstructured.Unstructured) {
	w.Helper()
	ns, cluster := w.input.Object.Namespace, w.cluster
	w.create(w.above, thing(w.input.Object, func(u *unstructured.Unstructured) {
		u.SetFinalizers([]string{"syncagent.kcp.io/cleanup"})
		u.SetLabels(map[string]string{"app": "web", "crossplane.io/claim-name": "went-down"})
		u.SetAnnotations(map[string]string{"related-resources.syncagent.kcp.io/tls.0": `{"namespace":"` + ns +
			`","name":"tls","apiVersion":"v1","kind":"Secret"}`})
	}))
	w.ensureNamespace(cluster)
	copied = thing(types.NamespacedName{Namespace: cluster, Name: "named-by-older-rules"},
		func(u *unstructured.Unstructured) {
			u.SetAPIVersion("example.org/v1")
			u.SetLabels(map[string]string{
				"app": "web", "crossplane.io/claim-name": "went-down", "syncagent.kcp.io/agent-name": "agent",
				"syncagent.kcp.io/remote-object-cluster":        cluster,
				"syncagent.kcp.io/remote-object-namespace-hash": hash(ns),
				"syncagent.kcp.io/remote-object-name-hash":      hash("web"),
			})
			u.SetAnnotations(map[string]string{
				"syncagent.kcp.io/remote-object-name": "web", "syncagent.kcp.io/remote-object-namespace": ns,
			})
			u.Object["spec"].(map[string]any)["defaulted"] = "by a webhook"
		})
	w.create(w.below, copied)
	w.create(w.below, newSecret(cluster, "tls", "one"))
	w.create(w.above, newSecret(ns, "tls", "one"))
	w.create(w.below, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.state,
			Name: "obj-state-" + cluster + "-" +
				hash(fmt.Sprintf(`{"apiVersion":"ws.example.com/v1","kind":"Thing","name":"web","namespace":%q}`+"\n",
					ns))[:20],
			Labels: map[string]string{
				"syncagent.kcp.io/object-state": "true", "syncagent.kcp.io/remote-object-cluster": cluster,
				"syncagent.kcp.io/remote-object-namespace-hash": hash(ns),
				"syncagent.kcp.io/remote-object-name-hash":      hash("web"),
			},
		},
		Data: map[string][]byte{
			stateKey(cluster, ns, "web"): []byte(`{"apiVersion":"ws.example.com/v1","kind":"Thing",` +
				`"metadata":{"labels":{"app":"web","crossplane.io/claim-name":"went-down"},` +
				`"name":"web","namespace":"` + ns + `"},"spec":{"secretName":"tls","size":9007199254740993}}`),
			stateKey("", cluster, "tls"): []byte(`{"apiVersion":"v1","data":{"k":"b25l"},"kind":"Secret",` +
				`"metadata":{"name":"tls","namespace":"` + cluster + `"},"type":"Opaque"}`),
		},
	})
	return copied
}

// TestTakeover shows that what api-syncagent leaves goes on without a copy being written.
func TestTakeover(t *testing.T) {
	w := newWorld(t)
	copied := left(w)
	s := w.syncer(related(v1alpha1.OriginService, byReference("spec.secretName")))
	above, below := w.writes(func() { w.mustSync(s, w.input) })
	// The state is written once, and only of an object with related objects: it is to tell what belongs to it. The
	// namespace is labelled once for all of its copies.
	want := []map[string]int{nil, {"patch secrets": 1, "get namespaces": 1, "patch namespaces": 1}}
	if diff := cmp.Diff(want, []map[string]int{above, below}); diff != "" {
		t.Errorf("requests: -want, +got:\n%s", diff)
	}
	if is := w.theCopy(w.cluster); is.GetResourceVersion() != copied.GetResourceVersion() {
		t.Errorf("the copy has been written: %v", is.Object)
	}
	states := w.states()
	if len(states) != 1 || len(states[0].Data) != 4 {
		t.Fatalf("want the one state, with what was in it, where the copy is, and the related objects, got %d: %v",
			len(states), sortedKeys(states[0].Data))
	}
	w.patch(w.above, thing(w.input.Object), `{"spec":{"size":null,"new":true}}`)
	w.mustSync(s, w.input)
	spec := map[string]any{"secretName": "tls", "new": true, "defaulted": "by a webhook"}
	if diff := cmp.Diff(spec, w.theCopy(w.cluster).Object["spec"]); diff != "" {
		t.Errorf("spec after a change: -want, +got:\n%s", diff)
	}
	w.delete(w.input)
	w.mustSync(s, w.input)
	if w.source(w.input) != nil || len(w.copies(w.cluster)) != 0 || len(w.states()) != 0 {
		t.Error("something is left after the deletion")
	}
}

// TestTakeoverOfTheEnd shows that what api-syncagent has copied of a workspace goes with an object that is deleted
// before it was ever synced by us.
func TestTakeoverOfTheEnd(t *testing.T) {
	w := newWorld(t)
	spec := related(v1alpha1.OriginService, byReference("spec.secretName"))
	spec.Related[0].Cleanup = true
	left(w)
	w.delete(w.input)
	w.mustSync(w.syncer(spec), w.input)
	if w.source(w.input) != nil || len(w.copies(w.cluster)) != 0 || len(w.states()) != 0 ||
		w.secretOf(w.above, w.input.Object.Namespace, "tls") != nil {
		t.Error("something is left")
	}
}

// TestAbandonTakeover shows that a copy of api-syncagent which is left behind before we have changed it tells its kind,
// as those that are left behind later do, and that it is known as the copy before and after.
func TestAbandonTakeover(t *testing.T) {
	w := newWorld(t)
	left(w)
	s := w.syncer(&v1alpha1.PublishedResourceSpec{})
	known := func() (orphaned bool, kind string) {
		t.Helper()
		u, _, err := s.Left(w.input)
		if err != nil || u == nil {
			t.Fatalf("want the copy found, got %v, %v", u, err)
		}
		return objectsync.IsOrphaned(u), u.GetAnnotations()[objectsync.AnnotationKind]
	}
	if orphaned, kind := known(); orphaned || kind != "" {
		t.Fatalf("want the copy as the agent has left it, got kind %q", kind)
	}
	if err := s.Abandon(t.Context(), w.input); err != nil {
		t.Fatal(err)
	}
	if orphaned, kind := known(); !orphaned || kind != "Thing.ws.example.com" {
		t.Errorf("want the copy marked and of kind Thing, got orphaned %t, kind %q", orphaned, kind)
	}
	above, below := w.writes(func() {
		if err := s.Abandon(t.Context(), w.input); err != nil {
			t.Fatal(err)
		}
	})
	if len(above)+len(below) > 0 {
		t.Errorf("requests for what is left behind already: %v %v", above, below)
	}
}

// publication returns a syncer of one of several publications of an owner, such as those of two kcps of one backup.
func (w *world) publication(name string) *objectsync.Syncer {
	return w.newSyncer(objectsync.Config{
		Spec:        related(v1alpha1.OriginKCP, byReference("spec.secretName")),
		Publication: name, Primary: things, Related: map[string]objectsync.Pair{"tls": secrets},
	})
}

// TestTwoPublications shows that of two publications of an owner one has a copy, with all that belongs to it: the other
// neither writes nor deletes any of it. What the first leaves behind, the other takes, and it is the other's then.
func TestTwoPublications(t *testing.T) {
	for name, tc := range map[string]struct {
		leave  func(w *world, first *objectsync.Syncer) error
		change string // by which the copy tells whose it is
	}{
		"Unseen": {leave: func(w *world, first *objectsync.Syncer) error {
			return first.Abandon(w.Context(), w.input)
		}, change: `{}`},
		"Publication": {leave: func(w *world, first *objectsync.Syncer) error {
			return first.RemoveFinalizers(w.Context(), w.input)
		}, change: `{"spec":{"size":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			first, other := w.publication("first"), w.publication("other")
			w.create(w.above, newSecret(w.input.Object.Namespace, "tls", "one"))
			w.create(w.above, thing(w.input.Object))
			w.mustSync(first, w.input)
			w.restsBeside(first, other)

			if err := tc.leave(w, first); err != nil {
				t.Fatal(err)
			}
			w.patch(w.above, thing(w.input.Object), tc.change)
			was := w.theCopy(w.cluster)
			w.mustSync(other, w.input)
			if is := w.theCopy(w.cluster); is.GetUID() != was.GetUID() || objectsync.IsOrphaned(is) {
				t.Errorf("want the copy taken, got %v", is.Object["metadata"])
			}
			w.restsBeside(other, first)

			w.delete(w.input)
			w.mustSync(first, w.input) // Nothing is its own, so that it keeps nothing.
			if w.source(w.input) != nil || len(w.copies(w.cluster)) != 1 || len(w.states()) != 1 {
				t.Error("want the object gone, and nothing of the other's")
			}
		})
	}
}

// restsBeside fails unless one publication has the copy, and another one leaves that and all that belongs to it as they
// are, whatever becomes of the object in its own kcp.
func (w *world) restsBeside(one, another *objectsync.Syncer) {
	w.Helper()
	_, below := w.writes(func() {
		all, err := w.sync(another, w.input)
		if !errors.Is(err, objectsync.ErrForeign) || reasons(all) != objectsync.ReasonNameTaken {
			w.Errorf("want ErrForeign and a warning, got %v, %q", err, reasons(all))
		}
		released := another.Release(w.Context(), w.input)
		for _, err := range []error{
			released, another.Abandon(w.Context(), w.input), another.RemoveFinalizers(w.Context(), w.input),
		} {
			if err != nil {
				w.Error(err)
			}
		}
	})
	if len(below) != 0 {
		w.Errorf("want nothing written, got %v", below)
	}
	w.mustSync(one, w.input) // It holds the object again.
}

// A keeper is another object of the workspace, of another publication, that has copied a related object.
type keeper struct {
	nobody

	record objectsync.Record
}

func (k keeper) Holdings(string, objectsync.Ref) []objectsync.Holding {
	return []objectsync.Holding{{
		Record: k.record, State: types.NamespacedName{Namespace: "states", Name: "another"}, Kept: true,
		Primary: objectsync.Primary{Cluster: "c1", NamespacedName: types.NamespacedName{Name: "another"}},
	}}
}

// TestLeavesSharedHeld shows that related objects which another object keeps are still held when a PublishedResource
// goes whose copies stay, or an object is not seen any more, and that others are let go.
func TestLeavesSharedHeld(t *testing.T) {
	goes, leaves := (*objectsync.Syncer).RemoveFinalizers, (*objectsync.Syncer).Abandon
	for name, tc := range map[string]struct {
		leave  func(*objectsync.Syncer, context.Context, objectsync.Input) error
		shared bool
		held   bool
	}{
		"Alone": {leave: goes}, "Shared": {leave: goes, shared: true, held: true},
		"Unseen": {leave: leaves}, "UnseenShared": {leave: leaves, shared: true, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManyRelated(t)
			m.name(1)
			m.fill(1, "b25l")
			res, err := m.syncer.Sync(t.Context(), m.input)
			if err != nil || len(res.Related) != 1 {
				t.Fatalf("want one related object, got %v, %v", res.Related, err)
			}
			if tc.shared {
				m.input.Holders = keeper{record: res.Related[0].Record}
			}
			if err := tc.leave(m.syncer, t.Context(), m.input); err != nil {
				t.Fatal(err)
			}
			related := m.above.get(objectsync.Secrets, types.NamespacedName{Namespace: "default", Name: "s0"})
			if got := objectsync.HasFinalizer(related); got != tc.held {
				t.Errorf("want the related object held: %t, got %t", tc.held, got)
			}
			if objectsync.HasFinalizer(m.above.get(things.Workspace.GroupVersionResource, m.input.Object)) {
				t.Error("want the object let go")
			}
		})
	}
}
