package e2e_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestRestartedPreviewsAskNothing shows that a provider which starts again knows what previews have found: it tries no
// apply, and writes no status. Objects that observe and Objects on a dry run come in turn, of both scopes, with a
// resource and without.
func TestRestartedPreviewsAskNothing(t *testing.T) {
	c, tc := clients(t)
	p := start(t)
	f := newFleet(t, c, 24)
	for i, o := range f.objects {
		if i/2%2 == 0 {
			o.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
		} else {
			o.SetAnnotations(map[string]string{commonv1.AnnotationKeyDryRun: "true"})
		}
		if i/4%2 == 0 {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: o.GetName()}}
			kube.Create(t, tc, cm)
		}
	}
	if err := f.create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for _, o := range f.objects {
		kube.Eventually(t, "Object "+o.GetName()+" to be compared", func() (bool, string) {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				return false, err.Error()
			}
			cond := o.GetCondition(commonv1.TypeUpToDate)
			return cond.Reason == commonv1.ReasonDifferent, string(cond.Reason) + " " + cond.Message
		})
	}
	awaitSilence(t)
	p.Kill()

	m := mark(t)
	start(t)
	kube.Eventually(t, "the provider to watch each resource again", func() (bool, string) {
		watches := target.Audit(t).Watches(m.target).By(user)
		return len(watches) >= len(f.objects), watches.String()
	})
	awaitSilence(t)
	for server, got := range map[string]kube.Requests{
		"control plane": writes(m.onLocal(t)), "target": writes(m.onTarget(t)),
	} {
		if diff := cmp.Diff(map[string]int(nil), got.Count()); diff != "" {
			t.Errorf("writes to the %s after a restart, dry runs included: -want, +got:\n%s\n%s", server, diff, got)
		}
	}
}
