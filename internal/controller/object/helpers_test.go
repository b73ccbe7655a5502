package object_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
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
	audit := local.Audit(t)
	mark := audit.Mark()
	holds(t, c, "Objects are not written", func() (bool, string) {
		for _, e := range audit.Since(mark).By(user) {
			for _, o := range objs {
				about := e.Name == o.GetName() && e.Namespace == o.GetNamespace() &&
					strings.HasPrefix(e.Subject(), "objects.")
				if about && e.Verb != "get" {
					err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
					return false, e.Verb + " " + o.GetName() + ": " + conditions(o) + message(err)
				}
			}
		}
		return true, ""
	}, objs...)
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

// passQueue makes an Object that cannot be connected, and waits until it says so: what was queued before has begun.
func passQueue(t *testing.T, c client.Client) {
	t.Helper()
	ns := local.Namespace(t)
	last := build.Namespaced().Object(ns, ns, "none", build.ConfigMap(ns, "none"))
	kube.Create(t, c, last)
	awaitCondition(t, c, last, wantCondition{Type: xpv2.TypeSynced, Status: corev1.ConditionFalse})
	kube.Delete(t, c, last)
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
