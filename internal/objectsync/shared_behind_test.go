package objectsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// encoded are the values of Secrets in patches.
const (
	encodedOld = "b2xk"
	encodedNew = "bmV3"
)

// TestSharedBehind shows that a copy which is behind is brought into step by an object that comes to share it, though
// the one it was made for releases it before it was brought into step for that, and that what an operator has added
// stays.
func TestSharedBehind(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		share  func(w *world, s *objectsync.Syncer)
	}{
		"Found": {
			reason: "The second finds the copy of the first.",
			share: func(w *world, s *objectsync.Syncer) {
				w.mustSync(s, w.input)
				w.patch(w.above, newSecret(w.input.Object.Namespace, "tls", ""), `{"data":{"k":"`+encodedNew+`"}}`)
				w.patch(w.below, newSecret(w.cluster, "tls", ""), `{"data":{"operator":"b3A="}}`)
			},
		},
		"Met": {
			reason: "The second is about to make the copy as the first makes it.",
			share: func(w *world, s *objectsync.Syncer) {
				origin := newSecret(w.input.Object.Namespace, "tls", "")
				w.patch(w.above, origin, `{"data":{"k":"`+encodedNew+`"}}`)
				meets := w.second()
				meets.Service.Writer = meddling{Writer: meets.Service.Writer, name: "tls", hit: new(bool), do: func() {
					w.patch(w.above, origin, `{"data":{"k":"`+encodedOld+`"}}`)
					w.mustSync(s, w.input)
					w.patch(w.above, origin, `{"data":{"k":"`+encodedNew+`"}}`)
					w.patch(w.below, newSecret(w.cluster, "tls", ""), `{"data":{"operator":"b3A="}}`)
				}}
				if _, err := s.Sync(t.Context(), meets); !apierrors.IsConflict(err) {
					t.Fatalf("want a conflict, got %v", err)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.syncer(related(v1alpha1.OriginKCP, byReference("spec.secretName")))
			w.create(w.above, thing(w.input.Object))
			w.create(w.above, thing(w.second().Object))
			w.create(w.above, newSecret(w.input.Object.Namespace, "tls", "old"))
			tc.share(w, s)
			w.mustSync(s, w.second())
			w.patch(w.above, thing(w.input.Object), `{"spec":{"secretName":"another"}}`)
			w.mustSync(s, w.input)
			want := map[string]string{"k": "new", "operator": "op"}
			if diff := cmp.Diff(want, w.secretOf(w.below, w.cluster, "tls")); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
