package informer

import (
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

// A fullError means that the streams of a Set hold as much as they may.
type fullError struct{}

// Error says so. It holds no number, as what there is room for changes with the owners, and conditions must not flap.
func (fullError) Error() string { return "server shows more resources than there is room for" }

// A quota is what one stream has of a budget. A nil one has no bound. Only the reflector of the stream may call its
// methods.
type quota struct {
	*budget

	sizes map[types.NamespacedName]int64
	sum   atomic.Int64 // of sizes
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
	if !q.take(more) {
		return false
	}
	q.sizes[n] = size
	q.sum.Add(more)
	return true
}

// remove counts a resource no more.
func (q *quota) remove(obj any) {
	n, _ := sizeOf(obj)
	q.take(-q.sizes[n])
	q.sum.Add(-q.sizes[n])
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
	if !q.hold(sum - q.sum.Load()) {
		return false
	}
	q.sizes = sizes
	q.sum.Store(sum)
	return true
}

// held returns how many bytes the stream holds. Any goroutine may call it.
func (q *quota) held() int64 {
	if q == nil {
		return 0
	}
	return q.sum.Load()
}

// release counts nothing any more.
func (q *quota) release() {
	if q == nil {
		return
	}
	q.take(-q.sum.Swap(0))
	q.sizes = map[types.NamespacedName]int64{}
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
