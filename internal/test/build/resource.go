package build

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Resource returns a resource of any kind, which has a name and nothing else.
func Resource(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}
