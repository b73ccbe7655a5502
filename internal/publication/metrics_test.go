package publication

import (
	"testing"
	"time"

	"github.com/pkg/errors"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestFailuresByReason shows that syncs that fail are counted by what their consumer is told, and that a metric has no
// label that a tenant has written: a series for each would be without end.
func TestFailuresByReason(t *testing.T) {
	webhook := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 422, Reason: "hunter2-430", Message: "no",
	}}
	for _, err := range []error{errors.Wrap(objectsync.ErrForeign, "x"), errors.New("x"), webhook, errPanic, nil} {
		observe(t.Name(), err, time.Second)
	}
	t.Cleanup(func() { forgetMetrics(t.Name()) })
	for reason, want := range map[string]float64{"NameTaken": 1, "ReconcilingError": 3, "hunter2-430": 0} {
		m := &dto.Metric{}
		if err := failures.WithLabelValues(t.Name(), reason).Write(m); err != nil || m.GetCounter().GetValue() != want {
			t.Errorf("%s: want %v, got %v, %v", reason, want, m.GetCounter().GetValue(), err)
		}
	}
}
