package build

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
)

// Application returns a KubernetesApplication that may be scheduled to clusters with label tier.
func Application(namespace, name, tier string,
	templates ...workloadv1alpha1.ResourceTemplate,
) *workloadv1alpha1.KubernetesApplication {
	return &workloadv1alpha1.KubernetesApplication{
		ObjectMeta: Meta(namespace, name),
		Spec: workloadv1alpha1.KubernetesApplicationSpec{
			ClusterSelector:   &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}},
			ResourceTemplates: templates,
		},
	}
}

// ResourceTemplate returns the template of a KubernetesApplicationResource with label app, which propagates Secrets.
func ResourceTemplate(name string, m Manifest, secrets ...string) workloadv1alpha1.ResourceTemplate {
	t := workloadv1alpha1.ResourceTemplate{Metadata: workloadv1alpha1.ResourceTemplateMetadata{
		Name: name, Labels: map[string]string{"app": "test"},
	}}
	t.Spec.Template = Template(m)
	for _, s := range secrets {
		t.Spec.Secrets = append(t.Spec.Secrets, workloadv1alpha1.SecretReference{Name: s})
	}
	return t
}

// Template returns a manifest as a template. It panics if the manifest is none.
func Template(m Manifest) workloadv1alpha1.Template {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	t := workloadv1alpha1.Template{}
	if err := json.Unmarshal(b, &t); err != nil {
		panic(err)
	}
	return t
}

// Namespace returns the manifest of a Namespace.
func Namespace(name string) Manifest {
	return Manifest{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
}

// Deployment returns the manifest of a Deployment without replicas.
func Deployment(namespace, name string) Manifest {
	labels := map[string]any{"app": name}
	return Manifest{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "namespace": namespace, "labels": labels},
		"spec": map[string]any{
			"replicas": 0, "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": name, "image": "registry.example.org/" + name + ":1",
				}}},
			},
		},
	}
}
