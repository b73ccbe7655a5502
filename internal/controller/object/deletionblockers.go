package object

import (
	"fmt"
	"slices"
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// deletionBlockers returns what keeps a resource that is being deleted, in words that follow the resource in a message:
// its finalizers, the time it has to end, and what its conditions say if they are about that. Empty if it is not being
// deleted.
func deletionBlockers(live *unstructured.Unstructured) string {
	if live == nil || live.GetDeletionTimestamp() == nil {
		return ""
	}
	var parts []string
	if finalizers := finalizersOf(live); len(finalizers) > 0 {
		parts = append(parts, "finalizers: "+strings.Join(finalizers, ", "))
	}
	if grace := live.GetDeletionGracePeriodSeconds(); grace != nil && *grace > 0 {
		parts = append(parts, fmt.Sprintf("it has %d s to end", *grace))
	}
	return strings.Join(append(parts, endingConditions(live)...), "; ")
}

// finalizersOf returns the finalizers of a resource, sorted. A Namespace has some in its spec, too.
func finalizersOf(live *unstructured.Unstructured) []string {
	all := slices.Clone(live.GetFinalizers())
	if isNamespace(live) {
		more, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "finalizers")
		all = append(all, more...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// endingConditions returns the conditions of a resource that say why it is not gone: all that are True of a Namespace,
// and Terminating of others, such as CustomResourceDefinitions.
func endingConditions(live *unstructured.Unstructured) []string {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	var said []string
	for _, x := range conditions {
		c, _ := x.(map[string]any)
		kind, _ := c["type"].(string)
		message, _ := c["message"].(string)
		if c["status"] != "True" || message == "" || !isNamespace(live) && kind != "Terminating" {
			continue
		}
		said = append(said, kind+": "+strings.TrimSuffix(message, "."))
	}
	slices.Sort(said)
	return said
}

func isNamespace(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Namespace"}
}

// explainDeletion says in condition Ready of a deleted Object what its resource waits for.
func (p *pass) explainDeletion(o Object) {
	ready := o.GetCondition(xpv2.TypeReady)
	if p.remains == "" || ready.Reason != xpv2.ReasonDeleting || ready.Status != corev1.ConditionFalse {
		return
	}
	ready.Message = p.remains
	p.set(o, ready)
}
