package informer

import (
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// bytesPerEntry is about how many bytes a value of an object takes beside its text, and a resource beside its
	// content.
	bytesPerEntry = 32
	// bytesPerName is about how many bytes a resource takes of which only the name is kept.
	bytesPerName = 256
)

// A budget bounds how many bytes all streams of a Set hold together.
type budget struct {
	max  int64
	used atomic.Int64
}

// newBudget returns a budget, nil for no bound if max is zero.
func newBudget(most int64) *budget {
	if most == 0 {
		return nil
	}
	return &budget{max: most}
}

// A fullError means that the streams of a Set hold as much as they may.
type fullError struct{ max int64 }

// Error names the bound.
func (e fullError) Error() string {
	return fmt.Sprintf("server shows resources of more than %d MiB", e.max>>20)
}

// A quota is what one stream has of a budget. A nil one has no bound. Only the reflector of the stream may call its
// methods.
type quota struct {
	*budget

	sizes map[types.NamespacedName]int64
	sum   int64
}

func (b *budget) newQuota() *quota {
	if b == nil {
		return nil
	}
	return &quota{budget: b, sizes: map[types.NamespacedName]int64{}}
}

// add counts a resource that the stream delivers, in place of what it delivered of it before. It reports whether there
// is room for it.
func (q *quota) add(obj any) bool {
	n, size := sizeOf(obj)
	more := size - q.sizes[n]
	if q.used.Add(more) > q.max && more > 0 {
		q.used.Add(-more)
		return false
	}
	q.sizes[n] = size
	q.sum += more
	return true
}

// remove counts a resource no more.
func (q *quota) remove(obj any) {
	n, _ := sizeOf(obj)
	q.used.Add(-q.sizes[n])
	q.sum -= q.sizes[n]
	delete(q.sizes, n)
}

// replace counts a list in place of all that the stream delivered before. It reports whether there is room for it; if
// not, nothing changes.
func (q *quota) replace(list []any) bool {
	sizes, sum := make(map[types.NamespacedName]int64, len(list)), int64(0)
	for _, obj := range list {
		n, size := sizeOf(obj)
		sizes[n] = size
		sum += size
	}
	more := sum - q.sum
	if q.used.Add(more) > q.max && more > 0 {
		q.used.Add(-more)
		return false
	}
	q.sizes, q.sum = sizes, sum
	return true
}

// release counts nothing any more.
func (q *quota) release() {
	if q == nil {
		return
	}
	q.used.Add(-q.sum)
	q.sizes, q.sum = map[types.NamespacedName]int64{}, 0
}

// sizeOf returns the name of a resource, and about how many bytes it takes.
func sizeOf(obj any) (types.NamespacedName, int64) {
	o, err := meta.Accessor(obj)
	if err != nil {
		return types.NamespacedName{}, 0 // No store takes it.
	}
	n := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
	switch x := obj.(type) {
	case *unstructured.Unstructured:
		return n, bytesPerEntry + sizeOfValue(x.Object)
	case *metav1.PartialObjectMetadata:
		return n, bytesPerName
	}
	return n, 0
}

func sizeOfValue(v any) int64 {
	size := int64(bytesPerEntry)
	switch x := v.(type) {
	case string:
		size += int64(len(x))
	case map[string]any:
		for key, value := range x {
			size += int64(len(key)) + bytesPerEntry + sizeOfValue(value)
		}
	case []any:
		for _, value := range x {
			size += sizeOfValue(value)
		}
	}
	return size
}
