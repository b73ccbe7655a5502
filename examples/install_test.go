package examples

import (
	"testing"

	pkgv1beta1 "github.com/crossplane/crossplane/apis/v2/pkg/v1beta1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// TestRuntimeConfigs shows that each runtime config of examples/install has the security contexts of the chart, which
// OpenShift admits, and is what Crossplane understands.
func TestRuntimeConfigs(t *testing.T) {
	type contexts struct {
		Pod       *corev1.PodSecurityContext `json:"podSecurityContext"`
		Container *corev1.SecurityContext    `json:"securityContext"`
	}
	want, n := contexts{}, 0
	if err := yaml.Unmarshal([]byte(read(t, "../package/chart/values.yaml")), &want); err != nil {
		t.Fatal(err)
	}
	for _, f := range find(t, "install", ".yaml") {
		for _, u := range resourcesIn(t, []byte(read(t, f))) {
			if u.GetKind() != "DeploymentRuntimeConfig" {
				continue
			}
			n++
			c := &pkgv1beta1.DeploymentRuntimeConfig{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, c, true); err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			pod := c.Spec.DeploymentTemplate.Spec.Template.Spec
			if diff := cmp.Diff(want, contexts{pod.SecurityContext, pod.Containers[0].SecurityContext}); diff != "" {
				t.Errorf("%s: -chart, +%s:\n%s", f, c.GetName(), diff)
			}
		}
	}
	if want.Pod == nil || n == 0 {
		t.Errorf("want security contexts in the chart, and runtime configs: got %v and %d", want.Pod, n)
	}
}
