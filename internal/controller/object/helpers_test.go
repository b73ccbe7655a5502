package object_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

var (
	// observeOnly is the policy of an Object that only looks.
	observeOnly = xpv2.ManagementPolicies{xpv2.ManagementActionObserve}
	// observeDelete is the policy of an Object that looks, and deletes in the end.
	observeDelete = xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionDelete}
	// observeUpdate is the policy of an Object that keeps some fields of a resource of others.
	observeUpdate = xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionUpdate}
	// neverDelete is the policy of an Object that does everything but delete.
	neverDelete = xpv2.ManagementPolicies{
		xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate,
	}
)

// emptySettings returns a ConfigMap of the name most tests use.
func emptySettings(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: build.Meta(namespace, "settings")}
}

// touched counts the touches of this process, so that each is a change.
var touched atomic.Int64

// touch labels an Object, so that the controller reconciles it.
func touch(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	patch := `{"metadata":{"labels":{"touch":"` + strconv.FormatInt(touched.Add(1), 10) + `"}}}`
	kube.Patch(t, c, o, patch)
}

// staysUnwritten checks that the provider does not write Objects that are reconciled again.
func staysUnwritten(t *testing.T, c client.Client, objs ...build.Object) {
	t.Helper()
	mark := local.Audit(t).Mark()
	holds(t, c, "Objects are not written", func() (bool, string) {
		written := writes(t, mark, objs...)
		for _, o := range objs {
			if len(written) > 0 && c.Get(t.Context(), client.ObjectKeyFromObject(o), o) == nil {
				written = append(written, o.GetName()+": "+conditions(o))
			}
		}
		return len(written) == 0, strings.Join(written, "\n")
	}, objs...)
}

// checkUnwritten checks that the provider has not written Objects since a mark.
func checkUnwritten(t *testing.T, mark kube.Mark, objs ...build.Object) {
	t.Helper()
	if written := writes(t, mark, objs...); len(written) > 0 {
		t.Errorf("want no writes of Objects, got:\n%s", strings.Join(written, "\n"))
	}
}

// writes returns what the provider has written of Objects since a mark.
func writes(t *testing.T, mark kube.Mark, objs ...build.Object) []string {
	t.Helper()
	var written []string
	for _, e := range local.Audit(t).Since(mark).By(user) {
		about := func(o build.Object) bool { return e.Name == o.GetName() && e.Namespace == o.GetNamespace() }
		if strings.HasPrefix(e.Subject(), "objects.") && e.Verb != "get" && slices.ContainsFunc(objs, about) {
			written = append(written, e.Verb+" "+e.Name)
		}
	}
	return written
}

// asksNothing checks that the user of a world asks nothing of the target while Objects are reconciled again.
func (w world) asksNothing(t *testing.T, objs ...build.Object) {
	t.Helper()
	mark := target.Audit(t).Mark()
	holds(t, w.c, "nothing is asked of the target", func() (bool, string) {
		asked := target.Audit(t).Since(mark).By(w.user)
		return len(asked) == 0, asked.String()
	}, objs...)
}

// checkAsked checks what the user of a world has asked of the target since a mark.
func (w world) checkAsked(t *testing.T, mark kube.Mark, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, target.Audit(t).Since(mark).By(w.user).Count(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("requests of %s to the target: -want, +got:\n%s", w.user, diff)
	}
}

// holds checks that something stays so while Objects are reconciled again, and whatever waits in the queue before them.
func holds(t *testing.T, c client.Client, what string, check func() (bool, string), objs ...build.Object) {
	t.Helper()
	kube.Holds(t, what, check, func() {
		for _, o := range objs {
			touch(t, c, o)
		}
		passQueue(t, c)
	})
}

// passQueue returns when what was queued before has begun.
func passQueue(t *testing.T, c client.Client) {
	t.Helper()
	provider.PassQueue(t, c, local.Namespace(t))
}

// conditions returns the conditions of an Object as text.
func conditions(o build.Object) string {
	s, r := o.GetCondition(xpv2.TypeSynced), o.GetCondition(xpv2.TypeReady)
	return "Synced " + string(s.Status) + " " + string(s.Reason) + " " + s.Message + " since " +
		s.LastTransitionTime.String() +
		", Ready " + string(r.Status) + " " + string(r.Reason) + " " + r.Message + " since " +
		r.LastTransitionTime.String()
}

// A wantCondition is a condition a test waits for; an empty reason stands for any.
type wantCondition struct {
	Type   xpv2.ConditionType
	Status corev1.ConditionStatus
	Reason xpv2.ConditionReason
}

// String names the condition in messages.
func (w wantCondition) String() string { return fmt.Sprintf("%s=%s %s", w.Type, w.Status, w.Reason) }

var (
	synced = wantCondition{Type: xpv2.TypeSynced, Status: corev1.ConditionTrue}
	ready  = wantCondition{Type: xpv2.TypeReady, Status: corev1.ConditionTrue}
)

// failed is condition Synced=False for a reason.
func failed(r xpv2.ConditionReason) wantCondition {
	return wantCondition{Type: xpv2.TypeSynced, Status: corev1.ConditionFalse, Reason: r}
}
