package objectsync_test

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A meddling is a writer whose server does something else before it makes a Secret of a name, and that may end with
// that.
type meddling struct {
	objectsync.Writer

	name string
	do   func()
	ends bool
	hit  *bool
}

func (m meddling) Create(ctx context.Context, r schema.GroupVersionResource, u *unstructured.Unstructured) error {
	if u.GetName() != m.name {
		return m.Writer.Create(ctx, r, u)
	}
	m.do()
	*m.hit = true
	return m.Writer.Create(ctx, r, u)
}

func (m meddling) Patch(ctx context.Context, o objectsync.Ref, patch []byte, subresources ...string) error {
	if m.ends && *m.hit {
		return errBoom
	}
	return m.Writer.Patch(ctx, o, patch, subresources...)
}

// TestEndBeforeForgetting shows that a copy whose making was refused is not ours, and stays, if the program ends before
// that is remembered.
func TestEndBeforeForgetting(t *testing.T) {
	for name, synced := range map[string]bool{"Synced": true, "DeletedAtOnce": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := related(v1alpha1.OriginKCP, byReference("spec.secretName"))
			shared := inShared(w, open(spec))
			s := w.syncer(spec)
			late := w.tenant()
			for _, in := range []objectsync.Input{w.input, late} {
				w.create(w.above, thing(in.Object))
				w.create(w.above, newSecret(in.Object.Namespace, "tls", in.Workspace.Cluster))
			}
			ends := late
			ends.Service.Writer = meddling{
				Writer: late.Service.Writer, name: "tls", do: func() { w.mustSync(s, w.input) }, ends: true,
				hit: new(bool),
			}
			if _, err := s.Sync(t.Context(), ends); err == nil {
				t.Fatal("want an error")
			}
			if synced {
				w.refused(s, late, objectsync.ErrForeign)
				w.patch(w.above, newSecret(late.Object.Namespace, "tls", ""), `{"data":{"k":"dHdv"}}`)
				w.refused(s, late, objectsync.ErrForeign)
			}
			kube.Delete(t, w.above, thing(late.Object))
			w.mustSync(s, late)
			if got := w.secretOf(w.below, shared, "tls")["k"]; got != w.cluster {
				t.Errorf("want the copy of who was first, got %q", got)
			}
			if w.source(late) != nil {
				t.Error("want the object gone")
			}
		})
	}
}

// TestSharedByNewOnes shows that of objects of a workspace that are new, and share a Secret, none is told that its name
// is taken.
func TestSharedByNewOnes(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName")))
	second := w.second()
	w.create(w.above, thing(w.input.Object))
	w.create(w.above, thing(second.Object))
	w.create(w.above, newSecret(w.input.Object.Namespace, "tls", "one"))
	meets := second
	meets.Service.Writer = meddling{
		Writer: second.Service.Writer, name: "tls", do: func() { w.mustSync(s, w.input) }, hit: new(bool),
	}
	r, err := s.Sync(t.Context(), meets)
	if got := reasons([]objectsync.Result{r}); !apierrors.IsConflict(err) || got != "ObjectAccepted ObjectPlaced" {
		t.Errorf("want a conflict and no warning, got %v, %s", err, got)
	}
	w.mustSync(s, second)
	w.delete(w.input)
	w.mustSync(s, w.input)
	if w.secretOf(w.below, w.cluster, "tls") == nil {
		t.Error("want the copy to stay for the second")
	}
}
