package publication

import (
	"testing"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestReasonOf shows that a metric has no label that a tenant has written: a series for each would be without end.
func TestReasonOf(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   string
	}{
		"Ours":    {reason: "Our own causes have words.", err: errors.Wrap(objectsync.ErrForeign, "x"), want: "Foreign"},
		"Unknown": {reason: "Others have one word.", err: errors.New("x"), want: "Other"},
		"Server": {
			reason: "Those of API servers are known.",
			err:    errors.Wrap(apierrors.NewConflict(schema.GroupResource{}, "x", nil), "cannot patch"),
			want:   "Conflict",
		},
		"Refusal": {
			reason: "So are those of refusals.",
			err:    errors.Wrap(objectsync.NewClaimRefusal(schema.GroupResource{}), "x"),
			want:   "Other",
		},
		"Webhook": {
			reason: "A webhook answers with what its tenant likes.",
			err: &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: 422, Reason: "hunter2-430", Message: "no",
			}},
			want: "Other",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reasonOf(tc.err); got != tc.want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
