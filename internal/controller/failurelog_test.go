package controller

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

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

// lines runs a change with a log and returns what it logs. There is one of a leader, and one of a replica that waits.
func lines(leads bool, change func(failureLog)) []string {
	var out []string
	elected := make(chan struct{})
	if leads {
		close(elected)
	}
	change(failureLog{
		log:  logging.NewLogrLogger(funcr.New(func(_, args string) { out = append(out, args) }, funcr.Options{})),
		kind: mobjectv1alpha1.ObjectGroupVersionKind, elected: elected,
	})
	return out
}

func TestFailureLog(t *testing.T) {
	failed := xpv2.ReconcileError(errors.New("no right"))
	failed.Reason = commonv1.ReasonForbidden
	other := failed
	other.Reason = commonv1.ReasonTargetUnreachable
	about := func(condition string) string {
		return `"kind"="Object.kubernetes.m.crossplane.io" "name"="hat" "condition"="` + condition +
			`" "namespace"="shop" "providerConfig"="ClusterProviderConfig/remote" `
	}
	lost := xpv2.Unavailable()
	lost.Reason = commonv1.ReasonTargetUnreachable
	fails := []string{
		`"level"=0 "msg"="Condition has failed" ` + about("Synced") + `"reason"="Forbidden" "message"="no right"`,
	}
	for name, tc := range map[string]struct {
		reason  string
		waits   bool // this replica does not lead
		was, is *mobjectv1alpha1.Object
		want    []string
	}{
		"Fails": {
			reason: "A condition that turns to a failure is logged.",
			was:    newLogged("1", xpv2.ReconcileSuccess()),
			is:     newLogged("1", failed),
			want:   fails,
		},
		"FailsAtOnce": {
			reason: "So is the first one of a resource.",
			was:    newLogged("1"),
			is:     newLogged("1", failed),
			want:   fails,
		},
		"FailsStill": {
			reason: "Nothing is repeated, whatever the next attempt says.",
			was:    newLogged("1", failed),
			is:     newLogged("1", other),
		},
		"IsWell": {
			reason: "The end of a failure is logged.",
			was:    newLogged("1", failed),
			is:     newLogged("1", xpv2.ReconcileSuccess()),
			want: []string{`"level"=0 "msg"="Condition fails no more" ` + about("Synced") +
				`"reason"="ReconcileSuccess" "failed"="Forbidden"`},
		},
		"IsReady": {
			reason: "A resource that becomes ready has not failed.",
			was:    newLogged("1", xpv2.ReconcileSuccess(), xpv2.Creating()),
			is:     newLogged("1", xpv2.ReconcileSuccess(), xpv2.Available()),
		},
		"IsNotReady": {
			reason: "Whether a resource of a target is ready is not our failure.",
			was:    newLogged("1", xpv2.ReconcileSuccess(), xpv2.Available()),
			is:     newLogged("1", xpv2.ReconcileSuccess(), xpv2.Unavailable()),
		},
		"IsLost": {
			reason: "Readiness that is lost for another reason is.",
			was:    newLogged("1", xpv2.Available()),
			is:     newLogged("1", lost),
			want: []string{`"level"=0 "msg"="Condition has failed" ` + about("Ready") +
				`"reason"="TargetUnreachable" "message"=""`},
		},
		"IsPaused": {
			reason: "A pause is somebody's wish.",
			was:    newLogged("1", xpv2.ReconcileSuccess()),
			is:     newLogged("1", xpv2.ReconcilePaused()),
		},
		"Namesake": {
			reason: "A resource is not compared with another one of its name.",
			was:    newLogged("1", xpv2.ReconcileSuccess()),
			is:     newLogged("2", failed),
		},
		"Waits": {
			reason: "Only the leader logs.",
			waits:  true,
			was:    newLogged("1", xpv2.ReconcileSuccess()),
			is:     newLogged("1", failed),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := lines(!tc.waits, func(l failureLog) { l.OnUpdate(tc.was, tc.is) })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFailureLogOfAdded shows that a resource that is seen first while it fails is logged, and that what a provider
// finds at its start is not.
func TestFailureLogOfAdded(t *testing.T) {
	o := newLogged("1", xpv2.ReconcileError(errors.New("no right")))
	for initial, want := range map[bool]int{true: 0, false: 1} {
		got := lines(true, func(l failureLog) { l.OnAdd(o, initial) })
		if len(got) != want {
			t.Errorf("found at the start: %t, want %d lines, got %q", initial, want, got)
		}
	}
}

// TestFailureLogOfPublished shows which conditions of a PublishedResource are failures.
func TestFailureLogOfPublished(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		is     xpv2.Condition
		want   int
	}{
		"NoEndpointSlice": {
			reason: "Somebody may have to make it.",
			is: xpv2.Condition{
				Type: syncagentv1alpha1.TypeEndpointsReady, Reason: syncagentv1alpha1.ReasonEndpointSliceMissing,
			},
			want: 1,
		},
		"Claims": {
			reason: "Somebody has to accept them.",
			is: xpv2.Condition{
				Type: syncagentv1alpha1.TypeClaimsAccepted, Reason: syncagentv1alpha1.ReasonPending,
			},
			want: 1,
		},
		"NotPublished": {
			reason: "Nor has one that is on its way.",
			is: xpv2.Condition{
				Type: syncagentv1alpha1.TypeSchemaPublished, Reason: syncagentv1alpha1.ReasonNotPublished,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			was, is := &syncagentv1alpha1.PublishedResource{}, &syncagentv1alpha1.PublishedResource{}
			tc.is.Status = corev1.ConditionFalse
			is.SetConditions(tc.is)
			got := lines(true, func(l failureLog) {
				l.OnUpdate(was, is)
				l.OnUpdate(is, is)
			})
			if len(got) != tc.want {
				t.Errorf("%s want %d lines, got %q", tc.reason, tc.want, got)
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
		failures: failureLog{
			log: logging.NewLogrLogger(funcr.New(func(_, args string) { got = append(got, args) }, funcr.Options{})),
		},
	}
	both := part{kinds: []schema.GroupVersionKind{served, missing}}
	s.logMissing([]part{both, both})
	want := []string{`"level"=0 "msg"="Kinds are not served yet: install or activate them" ` +
		`"kinds"=["PublishedResource.syncagent.kcp.io"]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
