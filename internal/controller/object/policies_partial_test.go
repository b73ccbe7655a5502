package object_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestLateTarget shows that an Object which may not create its resource is not ready as long as there is none, begins
// as soon as others make it, and can go when it has gone again.
func TestLateTarget(t *testing.T) {
	for name, p := range map[string]xpv2.ManagementPolicies{
		"Update": observeUpdate, "Observe": observeOnly, "ObserveDelete": observeDelete,
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				o := w.object(build.ConfigMap(w.target, "settings", "ours", "yes"))
				o.SetManagementPolicies(p)
				kube.Create(t, w.c, o)
				awaitCondition(t, w.c, o, missing)
				kube.Create(t, w.tc, emptySettings(w.target))
				awaitReady(t, w.c, o)
				if name == "Update" {
					key := types.NamespacedName{Namespace: w.target, Name: "settings"}
					awaitData(t, w.tc, key, map[string]string{"ours": "yes"})
				}
				kube.Delete(t, w.tc, emptySettings(w.target))
				awaitCondition(t, w.c, o, missing)
				awaitCondition(t, w.c, o, wantCondition{Type: xpv2.TypeReady, Status: corev1.ConditionFalse})
				w.exists(t, emptySettings(w.target), false)
				kube.Remove(t, w.c, o)
			})
		})
	}
}

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
		gadget := build.Manifest{
			"apiVersion": group + "/v1", "kind": "Gadget",
			"metadata": map[string]any{"name": "gadget", "namespace": w.target},
		}
		theirs := &unstructured.Unstructured{Object: gadget}
		kube.Eventually(t, "kind Gadget to be served", func() (bool, string) {
			err := w.tc.Create(t.Context(), theirs.DeepCopy())
			return err == nil, message(err)
		})
		o := w.object(build.Manifest{
			"apiVersion": group + "/v1", "kind": "Gadget",
			"metadata": map[string]any{"name": "gadget", "namespace": w.target},
			"size":     int64(3),
		})
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
	var message string
	kube.Eventually(t, "an event "+reason+" of "+o.GetName(), func() (bool, string) {
		events := &corev1.EventList{}
		if err := c.List(t.Context(), events); err != nil {
			return false, err.Error()
		}
		seen := []string{}
		for _, e := range events.Items {
			if e.InvolvedObject.UID != o.GetUID() {
				continue
			}
			if e.Reason == reason {
				message = e.Message
				return true, ""
			}
			seen = append(seen, e.Reason)
		}
		return false, cmp.Diff([]string{reason}, seen)
	})
	return message
}
