package collection

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	collectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/collection/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

func TestReason(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", nil)
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   xpv2.ConditionReason
		woken  bool
	}{
		"Target":       {"What the target denies is called forbidden.", errors.Wrap(forbidden, "cannot select"), commonv1.ReasonForbidden, true},
		"ControlPlane": {"What the control plane denies is not blamed on the target.", controlPlaneError{forbidden}, xpv2.ReasonReconcileError, false},
		"Template": {
			"What the control plane finds invalid is the template.",
			controlPlaneError{errors.Wrap(apierrors.NewInvalid(schema.GroupKind{}, "x", nil), "cannot apply")},
			commonv1.ReasonInvalidTemplate, true,
		},
		"Selection":   {"An invalid selection is called so.", errors.Wrap(errInvalidSelection, "x"), commonv1.ReasonInvalidSelection, true},
		"Name":        {"A name that is taken is called so.", errors.Wrap(errNameTaken, "x"), commonv1.ReasonNameTaken, true},
		"Unreachable": {"A target that does not answer is unreachable.", errors.Wrap(target.ErrUnreachable, "x"), commonv1.ReasonTargetUnreachable, true},
		"NoConfig":    {"A missing ProviderConfig is no connection.", errors.Wrap(scope.ErrNoConfig, "x"), commonv1.ReasonInvalidConnection, true},
		"Other":       {"Any other error is tried again.", errors.New("boom"), xpv2.ReasonReconcileError, false},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, reason(tc.err)); diff != "" {
				t.Errorf("%s\nreason: -want, +got:\n%s", tc.reason, diff)
			}
			if got := isWoken(tc.err); got != tc.woken {
				t.Errorf("%s\nisWoken: want %t, got %t", tc.reason, tc.woken, got)
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
