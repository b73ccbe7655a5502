package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// TestRefusedValues shows that values which cannot work are refused with their names.
func TestRefusedValues(t *testing.T) {
	chart := buildChart(t, "v0.1.0", t.TempDir())
	for value, want := range map[string]string{
		"publising.selector=a":                               "'publising'", // Misspelt.
		"log.level=debug":                                    "at '/log'",
		"replicas=two":                                       "at '/replicas'",
		"log.format=text":                                    "at '/log/format'",
		"publishing.stateNamespace=A_B":                      "at '/publishing/stateNamespace'",
		"publishing.resources={hats}":                        "at '/publishing/resources/0'",
		"image.digest=latest":                                "at '/image/digest'",
		"leaderElection.leaseDuration=1500ms":                "at '/leaderElection/leaseDuration'",
		"extraArgs={-d}":                                     "at '/extraArgs/0'",
		"metrics.serviceMonitor.enabled=true":                "metrics.serviceMonitor.enabled: needs metrics.service.enabled",
		"replicas=2,leaderElection.enabled=false":            "replicas: more than one needs leaderElection.enabled",
		"metrics.enabled=false,metrics.service.enabled=true": "metrics.service.enabled: needs metrics.enabled",
		// The program refuses a flag that is there twice.
		"extraArgs={--state-namespace=a}":               "--state-namespace is set by the value publishing.stateNamespace",
		"extraArgs={--no-debug}":                        "--debug is set by the value log.debug",
		"extraArgs={--leader-election-retry-period=1s}": "set by the value leaderElection",
		"extraArgs={--health-probe-bind-addr=0}":        "the probes of the pod need the default address",
	} {
		t.Run(value, func(t *testing.T) {
			out, err := helm(t, "template", "sync", chart, "--set", value)
			if err == nil || !strings.Contains(out, want) {
				t.Errorf("want an error with %q, got %v:\n%s", want, err, out)
			}
		})
	}
}

// TestPods shows that pods have a Service for metrics, use the settings of the user, and mount their token.
func TestPods(t *testing.T) {
	all := render(t, buildChart(t, "v0.1.0", t.TempDir()),
		"--set", "metrics.service.enabled=true,podLabels.a=b,podAnnotations.c=d",
		"--set", "nodeSelector.e=f,priorityClassName=high,imagePullSecrets[0].name=pull",
		"--set", "extraEnv[0].name=HTTPS_PROXY,extraEnv[0].value=g",
		"--set", "extraVolumes[0].name=trust,extraVolumes[0].configMap.name=authorities",
		"--set", "extraVolumeMounts[0].name=trust,extraVolumeMounts[0].mountPath=/trust",
		"--set", "serviceAccount.name=robot")
	pod := as[appsv1.Deployment](t, all, "Deployment/kcp-sync/sync").Spec.Template
	selector := as[corev1.Service](t, all, "Service/kcp-sync/sync-metrics").Spec.Selector
	for k, v := range selector {
		if pod.Labels[k] != v {
			t.Errorf("the Service selects %s=%s, and the pod has %q", k, v, pod.Labels[k])
		}
	}
	type facts struct {
		Label, Annotation, Node, Priority, Pull, Account string
		Volume                                           string
		Env                                              []corev1.EnvVar
		Mounts                                           []corev1.VolumeMount
		Token                                            bool
	}
	s := pod.Spec
	got := facts{
		Label: pod.Labels["a"], Annotation: pod.Annotations["c"], Node: s.NodeSelector["e"], Priority: s.PriorityClassName,
		Pull: s.ImagePullSecrets[0].Name, Account: s.ServiceAccountName, Env: s.Containers[0].Env,
		Volume: s.Volumes[0].ConfigMap.Name, Mounts: s.Containers[0].VolumeMounts,
		Token: *s.AutomountServiceAccountToken,
	}
	want := facts{
		Label: "b", Annotation: "d", Node: "f", Priority: "high", Pull: "pull", Account: "robot",
		Env: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "g"}}, Token: true,
		Volume: "authorities", Mounts: []corev1.VolumeMount{{Name: "trust", MountPath: "/trust"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	as[corev1.ServiceAccount](t, all, "ServiceAccount/kcp-sync/robot")
	for _, b := range []string{"sync-states", "sync-credentials", "sync-leader-election"} {
		if n := as[rbacv1.RoleBinding](t, all, "RoleBinding/kcp-sync/"+b).Subjects[0].Name; n != "robot" {
			t.Errorf("%s is bound to %q", b, n)
		}
	}
}
