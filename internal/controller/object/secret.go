package object

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/diff"
)

// show gives the live resource to those who refer to the Object, if the status is not to show all of it.
func (e *external) show(o Object) {
	if !e.options.SanitizeSecrets {
		return
	}
	if !diff.IsSecret(e.live.Object) {
		e.options.References.Hide(e.gvk, e.owner.NamespacedName)
		return
	}
	all := e.options
	all.SanitizeSecrets = false
	e.options.References.Show(o, e.gvk, present(e.live, all))
}

// withoutValues returns the content of a Secret without its values, nor the annotation that repeats them. Other parts
// are shared.
func withoutValues(content map[string]any) map[string]any {
	content = maps.Clone(content)
	content["data"] = map[string]any{"redacted": nil}
	if _, ok := content["stringData"]; ok {
		content["stringData"] = map[string]any{"redacted": nil}
	}
	return withoutAnnotation(content, corev1.LastAppliedConfigAnnotation)
}

// withoutAnnotation returns the content of a resource without an annotation. Other parts are shared.
func withoutAnnotation(content map[string]any, key string) map[string]any {
	m, _ := content["metadata"].(map[string]any)
	a, ok := m["annotations"].(map[string]any)
	if !ok {
		return content
	}
	a, m, content = maps.Clone(a), maps.Clone(m), maps.Clone(content)
	delete(a, key)
	m["annotations"], content["metadata"] = a, m
	return content
}
