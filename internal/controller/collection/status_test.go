package collection

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	collectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/collection/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

func TestReason(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", nil)
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   xpv2.ConditionReason
		woken  bool
	}{
		"Target": {
			reason: "What the target denies is called forbidden.",
			err:    errors.Wrap(forbidden, "cannot select"),
			want:   commonv1.ReasonForbidden,
			woken:  true,
		},
		"ControlPlane": {
			reason: "What the control plane denies is not blamed on the target.",
			err:    targetresource.OfControlPlane(forbidden),
			want:   xpv2.ReasonReconcileError,
			woken:  false,
		},
		"Template": {
			reason: "What the control plane finds invalid is the template.",
			err: targetresource.OfControlPlane(
				errors.Wrap(apierrors.NewInvalid(schema.GroupKind{}, "x", nil), "cannot apply")),
			want: commonv1.ReasonInvalidTemplate, woken: true,
		},
		"Selection": {
			reason: "An invalid selection is called so.",
			err:    errors.Wrap(errInvalidSelection, "x"),
			want:   commonv1.ReasonInvalidSelection,
			woken:  true,
		},
		"Name": {
			reason: "A name that is taken is called so.",
			err:    errors.Wrap(errNameTaken, "x"),
			want:   commonv1.ReasonNameTaken,
			woken:  true,
		},
		"Unreachable": {
			reason: "A target that does not answer is unreachable.",
			err:    errors.Wrap(clusters.ErrUnreachable, "x"),
			want:   commonv1.ReasonTargetUnreachable,
			woken:  true,
		},
		"NoConfig": {
			reason: "A missing ProviderConfig is no connection.",
			err:    errors.Wrap(scope.ErrNoConfig, "x"),
			want:   commonv1.ReasonInvalidConnection,
			woken:  true,
		},
		"Other": {
			reason: "Any other error is tried again.",
			err:    errors.New("boom"),
			want:   xpv2.ReasonReconcileError,
			woken:  false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := targetresource.CauseOf(tc.err, causes...).Woken; got != tc.woken {
				t.Errorf("%s\nWoken: want %t, got %t", tc.reason, tc.woken, got)
			}
			c := &collectionv1alpha1.ObservedObjectCollection{}
			conclude(c, nil)
			conclude(c, tc.err)
			synced, ready := c.GetCondition(xpv2.TypeSynced), c.GetCondition(xpv2.TypeReady)
			if synced.Status != corev1.ConditionFalse || synced.Reason != tc.want || synced.Message != tc.err.Error() {
				t.Errorf("%s\ncondition Synced: got %v", tc.reason, synced)
			}
			if ready.Status != corev1.ConditionTrue {
				t.Errorf("A failure does not take the members away: want Ready, got %v", ready)
			}
		})
	}
}
