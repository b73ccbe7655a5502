package objectsync_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// veiled is a cache that does not show what has a name, and says so if there is an error.
type veiled struct {
	objectsync.Cache

	name string
	err  error
}

func (v veiled) Get(n types.NamespacedName) (*unstructured.Unstructured, error) {
	if n.Name == v.name {
		return nil, v.err
	}
	return v.Cache.Get(n)
}

// veil returns a side that does not show the Secret of a name.
func veil(s objectsync.Side, name string, err error) objectsync.Side {
	all := s.Cache
	s.Cache = func(r schema.GroupVersionResource) objectsync.Cache {
		if r != objectsync.Secrets {
			return all(r)
		}
		return veiled{all(r), name, err}
	}
	return s
}

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
