package informer

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

const (
	// unusedMost is about up to how many bytes of a logical cluster the content of all is held, so that nothing has to
	// be read for those who have little, and usedMost up to how many that of what has been in use is.
	unusedMost = 4 << 20
	usedMost   = 16 << 20
	// labelsMost is how large the labels are at most that are held of what is trimmed.
	labelsMost = 4 << 10
	// partPage is how many resources a page of a list has: not more than fit into memory, and are read in time, if each
	// is as large as can be.
	partPage = 10
)

// rooms count about how many bytes are held of each logical cluster. Nil has no bounds.
type rooms map[string]int64

// IsTrimmed reports whether all that is held of a resource is its name, its labels and how old it is: its content is to
// be read.
func IsTrimmed(u *unstructured.Unstructured) bool { return u != nil && u.Object["kind"] == nil }

func isWhole(u *unstructured.Unstructured) bool { return u != nil && !IsTrimmed(u) }

// fit counts a resource in place of what was held of it, and returns what is to be held: if there is no room for its
// content, it is trimmed. Nil is nothing.
func (r rooms) fit(n types.NamespacedName, was, is *unstructured.Unstructured, used bool) *unstructured.Unstructured {
	if r == nil {
		return is
	}
	cluster, _, _ := strings.Cut(n.Namespace, "/")
	left, most := r[cluster]-sizeOf(was), int64(unusedMost)
	if used {
		most = usedMost
	}
	if isWhole(is) && left+sizeOf(is) > most {
		is = trim(is)
	}
	if r[cluster] = left + sizeOf(is); r[cluster] <= 0 {
		delete(r, cluster)
	}
	return is
}

// trim returns what is held of a resource without its content.
func trim(u *unstructured.Unstructured) *unstructured.Unstructured {
	metadata := map[string]any{
		"name": u.GetName(), "namespace": u.GetNamespace(), "resourceVersion": u.GetResourceVersion(),
		"annotations": map[string]any{annotationCluster: u.GetAnnotations()[annotationCluster]},
	}
	l, _, _ := unstructured.NestedMap(u.Object, "metadata", "labels")
	if sizeOf(l) <= labelsMost {
		metadata["labels"] = l
	}
	return &unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}
}

// mayMatch reports whether a selector selects a resource or, of what is trimmed and has many labels, may do so.
func mayMatch(s labels.Selector, u *unstructured.Unstructured) bool {
	_, known, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "labels")
	return IsTrimmed(u) && !known || s.Matches(labels.Set(u.GetLabels()))
}

// inPart returns what lists, and trims each page, so that what is not held is never in memory all at once. Each page
// has a bound of its own.
func (s *store) inPart(list cache.ListWithContextFunc) cache.ListWithContextFunc {
	var next rooms
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		if ListSizeIn(ctx).begin(); o.Continue == "" {
			next = rooms{}
		}
		page, err := list(ctx, o)
		if all, ok := page.(*unstructured.UnstructuredList); ok && err == nil {
			for i := range all.Items {
				u := &all.Items[i]
				StripManagedFields(u)
				all.Items[i] = *next.fit(s.name(u), nil, u, isWhole(s.get(s.name(u))))
			}
		}
		return page, err
	}
}
