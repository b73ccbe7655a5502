package controller

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	syncagentv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
)

// newLogged returns an Object with conditions.
func newLogged(uid types.UID, conditions ...xpv2.Condition) *mobjectv1alpha1.Object {
	o := &mobjectv1alpha1.Object{}
	o.SetNamespace("shop")
	o.SetName("hat")
	o.SetUID(uid)
	o.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: "remote"})
	o.SetConditions(conditions...)
	return o
}

func TestFailureLog(t *testing.T) {
	failed := xpv2.ReconcileError(errors.New("no right"))
	failed.Reason = commonv1.ReasonForbidden
	other, lost := failed, xpv2.Unavailable()
	other.Reason, lost.Reason = commonv1.ReasonTargetUnreachable, commonv1.ReasonTargetUnreachable
	line := func(message, condition, why string) string {
		return `"level"=0 "msg"="` + message + `" "kind"="Object.kubernetes.m.crossplane.io" "namespace"="shop" ` +
			`"name"="hat" "providerConfig"="ClusterProviderConfig/remote" "condition"="` + condition + `" ` + why
	}
	fails := []string{line("Condition has failed", "Synced", `"reason"="Forbidden" "message"="no right"`)}
	well := newLogged("1", xpv2.ReconcileSuccess(), xpv2.Available())
	for name, tc := range map[string]struct {
		reason  string
		waits   bool // another replica writes the conditions
		was, is *mobjectv1alpha1.Object
		want    []string
	}{
		"Fails":       {"A failure is logged.", false, well, newLogged("1", failed), fails},
		"FailsAtOnce": {"So is the first one of a resource.", false, newLogged("1"), newLogged("1", failed), fails},
		"FailsStill": {
			"Nothing is repeated, whatever the next attempt says.", false, newLogged("1", failed), newLogged("1", other), nil,
		},
		"IsWell": {
			"The end of a failure is logged.", false, newLogged("1", failed), newLogged("1", xpv2.ReconcileSuccess()),
			[]string{line("Condition no longer fails", "Synced", `"reason"="ReconcileSuccess" "message"=""`)},
		},
		"IsReady": {
			"What becomes ready has not failed.", false, newLogged("1", xpv2.Creating()), newLogged("1", xpv2.Available()), nil,
		},
		"IsNotReady": {
			"Whether a resource of a target is ready is not our failure.", false, well, newLogged("1", xpv2.Unavailable()), nil,
		},
		"IsLost": {
			"Readiness that is lost for another reason is.", false, well, newLogged("1", lost),
			[]string{line("Condition has failed", "Ready", `"reason"="TargetUnreachable" "message"=""`)},
		},
		"IsPaused": {"A pause is somebody's wish.", false, well, newLogged("1", xpv2.ReconcilePaused()), nil},
		"Namesake": {"Another resource of a name is not compared.", false, well, newLogged("2", failed), nil},
		"Waits":    {"Who writes the conditions logs.", true, well, newLogged("1", failed), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			log := logging.NewLogrLogger(funcr.New(func(_, args string) { got = append(got, args) }, funcr.Options{}))
			failureLog(log, mobjectv1alpha1.ObjectGroupVersionKind.GroupKind(),
				func(client.Object) bool { return !tc.waits }).OnUpdate(tc.was, tc.is)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A mapped manager knows kinds, and no more.
type mapped struct {
	ctrl.Manager

	mapper meta.RESTMapper
}

func (m mapped) GetRESTMapper() meta.RESTMapper { return m.mapper }

// TestMissingKindsAreLogged shows that one line names the kinds that a provider waits for, and no others.
func TestMissingKindsAreLogged(t *testing.T) {
	served, missing := mobjectv1alpha1.ObjectGroupVersionKind, syncagentv1alpha1.PublishedResourceGroupVersionKind
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(served, meta.RESTScopeNamespace)
	var got []string
	s := &starter{
		manager: mapped{mapper: mapper},
		log:     logging.NewLogrLogger(funcr.New(func(_, args string) { got = append(got, args) }, funcr.Options{})),
	}
	both := part{kinds: []schema.GroupVersionKind{served, missing}}
	s.logMissing([]part{both, both})
	want := []string{`"level"=0 "msg"="Kinds are not served yet: install or activate them" ` +
		`"kinds"=["PublishedResource.syncagent.kcp.io"]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
