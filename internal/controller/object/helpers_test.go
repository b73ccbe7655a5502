package object_test

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// calm is how long a test watches that nothing happens: longer than two pauses between the retries of a failed Object,
// than two looks for an unknown kind, and than the second by which times in conditions differ.
const calm = 5 * time.Second

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

// remove requests the deletion of a resource.
func remove(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Delete(t.Context(), o); err != nil {
		t.Fatalf("cannot delete %T %s: %v", o, o.GetName(), err)
	}
}

// touch labels an Object, so that the controller reconciles it.
func touch(t *testing.T, c client.Client, o build.Object, value int) {
	t.Helper()
	patch := `{"metadata":{"labels":{"touch":"` + strconv.Itoa(value) + `"}}}`
	if err := c.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// staysUnwritten checks that nobody writes Objects for a while. They are as the server has last given them.
func staysUnwritten(t *testing.T, c client.Client, objs ...build.Object) {
	t.Helper()
	kube.Throughout(t, calm, "Objects are not written", func() (bool, string) {
		for _, o := range objs {
			was := o.GetResourceVersion()
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				return false, err.Error()
			}
			if o.GetResourceVersion() != was {
				return false, o.GetName() + ": " + conditions(o)
			}
		}
		return true, ""
	})
}

// conditions returns the conditions of an Object as text.
func conditions(o build.Object) string {
	s, r := o.GetCondition(xpv2.TypeSynced), o.GetCondition(xpv2.TypeReady)
	return "Synced " + string(s.Status) + " " + string(s.Reason) + " " + s.Message + " since " +
		s.LastTransitionTime.String() +
		", Ready " + string(r.Status) + " " + string(r.Reason) + " " + r.Message + " since " +
		r.LastTransitionTime.String()
}
