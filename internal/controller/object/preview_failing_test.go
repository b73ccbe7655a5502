package object_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestPreviewBesideBrokenWebhook shows that a comparison which the target cannot make, as a webhook of it is down, is
// said in its own condition: those of the resource and of the observation are as they are without it.
func TestPreviewBesideBrokenWebhook(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	w := newWorld(t, c, build.Namespaced())
	kube.Create(t, tc, &corev1.ConfigMap{ObjectMeta: build.Meta(w.target, "settings")})
	nowhere := "https://127.0.0.1:1"
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: build.Meta("", w.target),
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "down.test.example.org", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &nowhere},
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), FailurePolicy: new(admissionregistrationv1.Fail),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.target},
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
				},
			}},
		}},
	}
	kube.Create(t, tc, hook)
	o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
	o.SetManagementPolicies(observeOnly)
	kube.Create(t, c, o)
	awaitReady(t, c, o)
	cannot := wantCondition{
		Type: commonv1.TypeUpToDate, Status: corev1.ConditionFalse, Reason: commonv1.ReasonCannotCompare,
	}
	awaitCondition(t, c, o, cannot, "cannot try to apply the manifest", "failed calling webhook")
	if s := o.GetCondition(xpv2.TypeSynced); s.Status != corev1.ConditionTrue {
		t.Errorf("want the Object synced, got %s", conditions(o))
	}
	staysUnwritten(t, c, o)
	kube.Delete(t, tc, hook)
	awaitCondition(t, c, o, wantCondition{
		Type: commonv1.TypeUpToDate, Status: corev1.ConditionFalse, Reason: commonv1.ReasonDifferent,
	}, "data")
}
