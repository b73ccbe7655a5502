package object_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestConversionFails shows that an Object is not synced while the target cannot convert its resource, which somebody
// has changed meanwhile, and that drift is reverted after that.
func TestConversionFails(t *testing.T) {
	w, group := gates(t)
	c, o, d := w.c, w.object(gate(group, "v1beta1", w.target, "size", "big")), twoVersions(group)
	createReady(t, c, o)
	kube.Edit(t, w.tc, d, func() {
		d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"},
				ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: new("https://" + kube.Refused(t))},
			},
		}
	})
	u := &unstructured.Unstructured{Object: gate(group, "v1", w.target)}
	kube.Patch(t, w.tc, u, `{"spec":{"size":"small"}}`)
	awaitCondition(t, c, o, failed(xpv2.ReasonReconcileError), "conversion webhook")
	kube.Edit(t, w.tc, d, func() { d.Spec.Conversion = nil })
	w.awaitGate(t, group, map[string]any{"size": "big", "access": "deny"})
	awaitReady(t, c, o)
}
