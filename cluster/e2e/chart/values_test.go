package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestRefusedValues shows that values which cannot work are refused with their names.
func TestRefusedValues(t *testing.T) {
	chart := buildChart(t, "v0.1.0", t.TempDir())
	cases := map[string]struct {
		reason, value, want string
	}{
		"Unknown":     {reason: "A misspelt value is not ignored.", value: "publising.selector=a", want: "'publising'"},
		"UnknownPart": {reason: "Nor is one inside of another.", value: "log.level=debug", want: "at '/log'"},
		"Type":        {reason: "A text is no number.", value: "replicas=two", want: "at '/replicas'"},
		"Choice":      {reason: "There are two formats.", value: "log.format=text", want: "at '/log/format'"},
		"Namespace": {
			reason: "It is no name.",
			value:  "publishing.stateNamespace=A_B",
			want:   "at '/publishing/stateNamespace'",
		},
		"Resource": {
			reason: "A resource has a group.",
			value:  "publishing.resources={hats}",
			want:   "at '/publishing/resources/0'",
		},
		"Digest": {reason: "It is no digest.", value: "image.digest=latest", want: "at '/image/digest'"},
		"Seconds": {
			reason: "A Lease has whole seconds.",
			value:  "leaderElection.leaseDuration=1500ms",
			want:   "at '/leaderElection/leaseDuration'",
		},
		"Replicas": {
			reason: "Two would work at a time.",
			value:  "replicas=2,leaderElection.enabled=false",
			want:   "replicas: more than one needs leaderElection.enabled",
		},
		"Metrics": {
			reason: "Nothing would answer.",
			value:  "metrics.enabled=false,metrics.service.enabled=true",
			want:   "metrics.service.enabled: needs metrics.enabled",
		},
		"ServiceMonitor": {
			reason: "It would find no Service.",
			value:  "metrics.serviceMonitor.enabled=true",
			want:   "metrics.serviceMonitor.enabled: needs metrics.service.enabled",
		},
		"FlagTwice": {
			reason: "The program refuses a flag that is there twice.",
			value:  "extraArgs={--state-namespace=a}",
			want:   "--state-namespace is set by the value publishing.stateNamespace",
		},
		"NegatedFlag": {
			reason: "So it does if it is negated.",
			value:  "extraArgs={--no-debug}",
			want:   "--debug is set by the value log.debug",
		},
		"LeaseFlag": {
			reason: "All flags of the Lease have values.",
			value:  "extraArgs={--leader-election-retry-period=1s}",
			want:   "set by the value leaderElection",
		},
		"Probes": {
			reason: "The probes of the pod have a port.",
			value:  "extraArgs={--health-probe-bind-addr=0}",
			want:   "the probes of the pod need the default address",
		},
		"NoFlag": {reason: "A flag has two dashes.", value: "extraArgs={-d}", want: "at '/extraArgs/0'"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := helm(t, "template", "sync", chart, "--set", tc.value)
			if err == nil || !strings.Contains(out, tc.want) {
				t.Errorf("%s want an error with %q, got %v:\n%s", tc.reason, tc.want, err, out)
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

// TestOptionalResources shows that what is made of pods and their Service only where it is wanted selects these.
// TestRender shows that none of it is made by default.
func TestOptionalResources(t *testing.T) {
	all := render(t, buildChart(t, "v0.1.0", t.TempDir()),
		"--set", "metrics.service.enabled=true,metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.labels.team=a",
		"--set", "podDisruptionBudget.enabled=true,networkPolicy.enabled=true",
		"--set-json", `networkPolicy.metricsFrom=[{"namespaceSelector":{"matchLabels":{"monitors":"all"}}}]`,
		"--set-json", `networkPolicy.egress=[{"ports":[{"port":443}]}]`)
	pod := as[appsv1.Deployment](t, all, "Deployment/kcp-sync/sync").Spec.Selector
	service := as[corev1.Service](t, all, "Service/kcp-sync/sync-metrics")
	monitor := all["ServiceMonitor/kcp-sync/sync"]
	if monitor == nil {
		t.Fatal("no ServiceMonitor is rendered")
	}
	if monitor.GetLabels()["team"] != "a" {
		t.Errorf("the ServiceMonitor lacks its label: %v", monitor.GetLabels())
	}
	selected, _, err := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	if err != nil || !labels.SelectorFromSet(selected).Matches(labels.Set(service.GetLabels())) || len(selected) == 0 {
		t.Errorf("the ServiceMonitor selects %v, and the Service has %v: %v", selected, service.GetLabels(), err)
	}
	endpoints, _, _ := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	if diff := cmp.Diff([]any{map[string]any{"port": service.Spec.Ports[0].Name}}, endpoints); diff != "" {
		t.Errorf("endpoints of the ServiceMonitor: -want, +got:\n%s", diff)
	}
	budget := as[policyv1.PodDisruptionBudget](t, all, "PodDisruptionBudget/kcp-sync/sync")
	if diff := cmp.Diff(policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: new(intstr.FromInt32(1)), Selector: pod,
	}, budget.Spec); diff != "" {
		t.Errorf("PodDisruptionBudget: -want, +got:\n%s", diff)
	}
	policy := as[networkingv1.NetworkPolicy](t, all, "NetworkPolicy/kcp-sync/sync")
	if diff := cmp.Diff(networkingv1.NetworkPolicySpec{
		PodSelector: *pod, PolicyTypes: []networkingv1.PolicyType{"Ingress", "Egress"},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{
			Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromString("metrics"))}},
			From: []networkingv1.NetworkPolicyPeer{{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"monitors": "all"}},
			}},
		}},
		Egress: []networkingv1.NetworkPolicyEgressRule{{
			Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(443))}},
		}},
	}, policy.Spec); diff != "" {
		t.Errorf("NetworkPolicy: -want, +got:\n%s", diff)
	}
}
