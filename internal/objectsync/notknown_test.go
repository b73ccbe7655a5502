package objectsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestNotKnown shows that what cannot be looked at does not count as absent: a related object whose copy is not known
// is not copied, and copies of one that is not known are not given up.
func TestNotKnown(t *testing.T) {
	above := func(in *objectsync.Input) { in.Workspace.Side = veil(in.Workspace.Side, "tls", errBoom) }
	below := func(in *objectsync.Input) { in.Service = veil(in.Service, "tls", errBoom) }
	for name, tc := range map[string]struct {
		origin v1alpha1.Origin
		veil   func(in *objectsync.Input)
	}{
		"DownOrigin": {origin: v1alpha1.OriginKCP, veil: above},
		"DownCopy":   {origin: v1alpha1.OriginKCP, veil: below},
		"UpOrigin":   {origin: v1alpha1.OriginService, veil: below},
		"UpCopy":     {origin: v1alpha1.OriginService, veil: above},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.syncer(related(tc.origin, byReference("spec.secretName")))
			in := w.input
			tc.veil(&in)
			w.create(w.above, thing(w.input.Object))
			origin := newSecret(w.input.Object.Namespace, "tls", "one")
			from := w.above
			if tc.origin == v1alpha1.OriginService {
				from, origin.Namespace = w.below, w.cluster
				w.ensureNamespace(w.cluster)
			}
			w.create(from, origin)
			w.refused(s, in, errBoom)
			if w.secretOf(w.above, w.input.Object.Namespace, "tls") != nil &&
				w.secretOf(w.below, w.cluster, "tls") != nil {
				t.Error("want no copy before both sides are known")
			}
			w.mustSync(s, w.input)
			w.patch(from, origin, `{"data":{"k":"dHdv"}}`)
			inKCP, ofService := w.writes(func() { w.refused(s, in, errBoom) })
			if len(inKCP)+len(ofService) != 0 {
				t.Errorf("want nothing asked while one side is not known, got %v and %v", inKCP, ofService)
			}
			w.mustSync(s, w.input)
			if a, b := w.secretOf(w.above, w.input.Object.Namespace, "tls")["k"], w.secretOf(w.below, w.cluster,
				"tls")["k"]; a != "two" || b != "two" {
				t.Errorf("want both in step again, got %q and %q", a, b)
			}
		})
	}
}

// TestTakenMeanwhile shows that what somebody has made after the look, where a copy was to be, is neither overwritten
// nor deleted with the object.
func TestTakenMeanwhile(t *testing.T) {
	for name, origin := range map[string]v1alpha1.Origin{"Down": v1alpha1.OriginKCP, "Up": v1alpha1.OriginService} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.syncer(related(origin, byReference("spec.secretName")))
			in, to, ns := w.input, w.below, w.cluster
			in.Service = veil(in.Service, "tls", nil)
			if origin == v1alpha1.OriginService {
				in, to, ns = w.input, w.above, w.input.Object.Namespace
				in.Workspace.Side = veil(in.Workspace.Side, "tls", nil)
			}
			w.ensureNamespace(w.cluster)
			w.create(w.above, newSecret(w.input.Object.Namespace, "tls", "the consumer's"))
			w.create(w.below, newSecret(w.cluster, "tls", "the operator's"))
			was := w.secretOf(to, ns, "tls")["k"]
			w.create(w.above, thing(w.input.Object))
			if _, err := w.sync(s, in); !apierrors.IsConflict(err) {
				t.Errorf("want to look again, got %v", err)
			}
			w.refused(s, w.input, objectsync.ErrForeign)
			if got := w.secretOf(to, ns, "tls")["k"]; got != was {
				t.Errorf("overwritten: want %q, got %q", was, got)
			}
			w.delete(w.input)
			w.mustSync(s, w.input)
			if got := w.secretOf(to, ns, "tls")["k"]; got != was {
				t.Errorf("deleted: want %q, got %q", was, got)
			}
		})
	}
}

// before returns a side where something is done before each write of what has a name.
func before(s objectsync.Side, verb, name string, do func()) objectsync.Side {
	return tap(s, func(w *write) error {
		if w.verb == verb && w.name == name {
			do()
		}
		return w.send()
	})
}

// TestReplacedBeforeWrite shows that what somebody makes in the place of a copy between the look and the write gets
// nothing of it.
func TestReplacedBeforeWrite(t *testing.T) {
	w := newWorld(t)
	s, origin := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName"))), thing(w.input.Object)
	w.create(w.above, origin)
	w.create(w.above, newSecret(w.input.Object.Namespace, "tls", "one"))
	w.mustSync(s, w.input)
	w.patch(w.above, newSecret(w.input.Object.Namespace, "tls", ""), `{"data":{"k":"dHdv"}}`)
	w.patch(w.above, origin, `{"spec":{"size":7}}`)
	copied, related := w.theCopy(w.cluster), newSecret(w.cluster, "tls", "the operator's")
	at := client.ObjectKeyFromObject(copied)
	operators := objectOf(things.Service, at, map[string]any{"spec": map[string]any{"of": "the operator"}})
	for _, u := range []client.Object{operators, related} {
		in := w.input
		in.Service = before(in.Service, "patch", u.GetName(), func() {
			kube.Delete(t, w.below, u.DeepCopyObject().(client.Object))
			w.create(w.below, u)
		})
		if _, err := s.Sync(t.Context(), in); !apierrors.IsConflict(err) {
			t.Errorf("%s: want a conflict, got %v", u.GetName(), err)
		}
	}
	is := w.read(w.input.Service, things.Service, at)
	if diff := cmp.Diff(operators.Object["spec"], is.Object["spec"]); diff != "" {
		t.Errorf("written: -want, +got:\n%s", diff)
	}
	if got := w.secretOf(w.below, w.cluster, "tls")["k"]; got != "the operator's" {
		t.Errorf("written: %q", got)
	}
}

// TestReplacedBeforeStatus shows the same of the status of a copy. Servers do not compare UIDs there.
func TestReplacedBeforeStatus(t *testing.T) {
	w := newWorld(t)
	spec := related(v1alpha1.OriginKCP, byReference("spec.thing"))
	spec.Related[0].SyncStatus = true
	s := w.syncerOf(plains, spec)
	w.create(w.above, objectOf(plains.Workspace, w.input.Object, map[string]any{"spec": map[string]any{"thing": "part"}}))
	w.mustSync(s, w.input)
	at := types.NamespacedName{Namespace: w.cluster, Name: "part"}
	from, to := thing(w.input.Object), objectOf(things.Service, at, map[string]any{})
	from.SetName(at.Name)
	w.create(w.above, from)
	w.mustSync(s, w.input)
	w.patchStatus(w.above, from, `{"status":{"phase":"x"}}`)
	in := w.input
	in.Service = before(in.Service, "patch", at.Name, func() {
		kube.Delete(t, w.below, to.DeepCopy())
		w.create(w.below, to.DeepCopy())
	})
	if _, err := s.Sync(t.Context(), in); !apierrors.IsConflict(err) {
		t.Errorf("want a conflict, got %v", err)
	}
	if got := w.read(w.input.Service, things.Service, at).Object["status"]; got != nil {
		t.Errorf("written: %v", got)
	}
}
