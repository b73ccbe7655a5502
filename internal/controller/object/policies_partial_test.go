package object_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestPartialLeavesWhatIsNeeded shows that an Object goes although the resource would be invalid without its fields,
// which stay then.
func TestPartialLeavesWhatIsNeeded(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		group := w.target + ".example.org"
		crd := gadgets(group)
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{"size": {Type: "integer"}}
		schema.XValidations = apiextensionsv1.ValidationRules{{
			Rule: "!has(oldSelf.size) || has(self.size)", Message: "size stays",
		}}
		kube.Create(t, w.tc, crd)
		theirs := &unstructured.Unstructured{Object: gadget(group, w.target)}
		kube.Eventually(t, "kind Gadget to be served", func() (bool, string) {
			err := w.tc.Create(t.Context(), theirs.DeepCopy())
			return err == nil, message(err)
		})
		ours := gadget(group, w.target)
		ours["size"] = int64(3)
		o := w.object(ours)
		o.SetManagementPolicies(observeUpdate)
		createReady(t, w.c, o)
		kube.Remove(t, w.c, o)
		w.exists(t, theirs, true)
		if got, _, _ := unstructured.NestedInt64(theirs.Object, "size"); got != 3 {
			t.Errorf("size: want the value that cannot be taken away, got %d", got)
		}
		awaitEvent(t, w.c, o, "CannotWithdrawFields")
	})
}

// awaitEvent waits until there is an event about an Object for a reason, and returns its message.
func awaitEvent(t *testing.T, c client.Client, o build.Object, reason string) string {
	t.Helper()
	var told []string
	kube.Eventually(t, "an event "+reason+" of "+o.GetName(), func() (bool, string) {
		told = eventsFor(t, c, o, reason)
		return len(told) > 0, strings.Join(events(t, c, o, ""), "\n")
	})
	return told[0]
}

// eventsFor returns the messages of the events about an Object for a reason.
func eventsFor(t *testing.T, c client.Client, o build.Object, reason string) []string {
	t.Helper()
	return chosenEvents(t, c, o, func(e corev1.Event) bool { return e.Reason == reason })
}
