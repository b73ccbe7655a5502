package informer

import (
	"context"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

const (
	// namesPage is how many resources a page of a list has of which only the names are held, and metadataPage how many if
	// it is of metadata: whatever tenants write there, a page fits into memory.
	namesPage    = 500
	metadataPage = 50
	// domain begins the annotations, and the names of field managers, that tell what a resource is.
	domain = "syncagent.kcp.io/"
)

// nameOnly returns what a stream of names holds of a resource.
func nameOnly(o metav1.Object) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": o.GetNamespace(), "name": o.GetName()},
	}}
}

// metadataOf returns what a stream of metadata holds of a resource: its name, its labels, its version, and what tells
// what becomes of it and whose it is. It has no kind.
func metadataOf(o metav1.Object) *unstructured.Unstructured {
	u := nameOnly(o)
	u.SetUID(o.GetUID())
	u.SetResourceVersion(o.GetResourceVersion())
	u.SetLabels(o.GetLabels())
	u.SetFinalizers(o.GetFinalizers())
	u.SetOwnerReferences(o.GetOwnerReferences())
	u.SetDeletionTimestamp(o.GetDeletionTimestamp())
	u.SetAnnotations(keptAnnotations(o))
	u.SetManagedFields(keptManagers(o))
	return u
}

func keptAnnotations(o metav1.Object) map[string]string {
	kept := maps.Clone(o.GetAnnotations())
	maps.DeleteFunc(kept, func(key, _ string) bool {
		return key != annotationCluster && key != AnnotationUnreadable && !strings.HasPrefix(key, domain)
	})
	return kept
}

func keptManagers(o metav1.Object) (kept []metav1.ManagedFieldsEntry) {
	for _, by := range o.GetManagedFields() {
		if strings.HasPrefix(by.Manager, domain) {
			kept = append(kept, metav1.ManagedFieldsEntry{Manager: by.Manager})
		}
	}
	return kept
}

// bare returns what is held of a resource that no field manager of ours applies: all but its managed fields, which take
// more memory than all the rest of a small one. What is given does not change.
func bare(o metav1.Object) *unstructured.Unstructured {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	fields, found, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	if !found {
		return u
	}
	list, _ := fields.([]any)
	kept := []any{}
	for _, entry := range list {
		m, _ := entry.(map[string]any)
		if by, _ := m["manager"].(string); strings.HasPrefix(by, domain) {
			kept = append(kept, map[string]any{"manager": by})
		}
	}
	return withManagedFields(u, kept)
}

// byPages returns what lists metadata page by page, each with a bound of its own, and takes off what is not held: the
// pages of one list are in memory all at once.
func byPages(list cache.ListWithContextFunc) cache.ListWithContextFunc {
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		ListSizeIn(ctx).begin()
		page, err := list(ctx, o)
		if all, ok := page.(*metav1.PartialObjectMetadataList); ok && err == nil {
			for i := range all.Items {
				o := &all.Items[i]
				o.Annotations, o.ManagedFields = keptAnnotations(o), keptManagers(o)
			}
		}
		return page, err
	}
}
