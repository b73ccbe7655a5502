package targetresource

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	objectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// TestReasonOfTermination shows that a namespace which is being deleted is no matter of rights.
func TestReasonOfTermination(t *testing.T) {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web", errors.New("it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	if got := CauseOf(errors.Wrap(err, "cannot apply")).Reason; got != commonv1.ReasonNamespaceTerminating {
		t.Errorf("want NamespaceTerminating, got %s", got)
	}
}

// TestReasonOfForbidden shows that who can cure a 403 follows from its reason.
func TestReasonOfForbidden(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		answer string
		want   xpv2.ConditionReason
	}{
		"Quota": {
			reason: "A quota is raised, and no right is lacking.",
			answer: "exceeded quota: few, requested: count/pods=1, used: count/pods=1, limited: count/pods=1",
			want:   commonv1.ReasonQuotaExceeded,
		},
		"Right": {
			reason: "A right is granted.",
			answer: `User "jane" cannot create resource "pods" in API group "" in the namespace "default"`,
			want:   commonv1.ReasonForbidden,
		},
		"UserNamedLikeIt": {
			reason: "A user may have any name.",
			answer: `User "exceeded quota: jane" cannot create resource "pods" in API group "" in the namespace "default"`,
			want:   commonv1.ReasonForbidden,
		},
		"Kind": {
			reason: "A CustomResourceDefinition that is being deleted lacks no right.",
			answer: "create not allowed while custom resource definition is terminating",
			want:   commonv1.ReasonUnknownKind,
		},
		"Policy": {
			reason: "A webhook may deny it, too, and says what it wants.",
			answer: "pods need a label",
			want:   commonv1.ReasonForbidden,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web", errors.New(tc.answer))
			if diff := cmp.Diff(tc.want, CauseOf(errors.Wrap(err, "cannot apply")).Reason); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestExplain shows that who cannot reach a target learns by which ProviderConfig it is reached, once.
func TestExplain(t *testing.T) {
	o := &objectv1alpha1.Object{}
	o.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: "prod"})
	refused := apierrors.NewUnauthorized("no")
	for name, tc := range map[string]struct {
		err  error
		of   client.Object
		want string
	}{
		"Unreachable": {clusters.ErrUnreachable, o, `ClusterProviderConfig "prod": target is unreachable`},
		"Refused": {
			refused, o, `target refuses the credentials of ClusterProviderConfig "prod": ` +
				`renew the Secret, or other source, that it names: no`,
		},
		"OfItself": {errors.New("no such field"), o, "no such field"},
		"NoConfig": {clusters.ErrUnreachable, &corev1.Secret{}, "target is unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Synced(tc.of, tc.err).Message); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestWoken shows which failures are tried again only when somebody is told that they may be over.
func TestWoken(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", nil)
	for name, tc := range map[string]struct {
		err  error
		want Cause
	}{
		"Stated":       {err: Because(commonv1.ReasonNameTaken, "cure it"), want: Cause{commonv1.ReasonNameTaken, true}},
		"NoConfig":     {err: scope.ErrNoConfig, want: Cause{commonv1.ReasonInvalidConnection, true}},
		"Target":       {err: forbidden, want: Cause{commonv1.ReasonForbidden, false}},
		"Stream":       {err: Awaited(forbidden), want: Cause{commonv1.ReasonForbidden, true}},
		"Request":      {err: clusters.ErrUnreachable, want: Cause{commonv1.ReasonTargetUnreachable, false}},
		"ControlPlane": {err: OfControlPlane(forbidden)}, // It is not blamed on the target.
		"Other":        {err: errors.New("boom")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, CauseOf(errors.Wrap(tc.err, "cannot do it"))); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
