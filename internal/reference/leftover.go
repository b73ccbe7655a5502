package reference

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// leftoverMost is how long a cache may lag behind the answer to a request. An answer is not believed for longer: the
// control plane may have been restored.
const leftoverMost = 30 * time.Second

// A leftover is a resource as the last request has left it.
type leftover struct {
	metav1.Object

	since time.Time
}

// leave records how a request has left a resource, nil if that is not known. The caller holds the lock.
func (e *editor) leave(at location, u *unstructured.Unstructured) {
	now := time.Now()
	if now.Sub(e.swept) > leftoverMost {
		e.swept = now
		maps.DeleteFunc(e.left, func(_ location, l leftover) bool { return now.Sub(l.since) > leftoverMost })
	}
	delete(e.left, at)
	if u == nil {
		return
	}
	e.left[at] = leftover{since: now, Object: &metav1.ObjectMeta{
		Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
		Finalizers: u.GetFinalizers(), DeletionTimestamp: u.GetDeletionTimestamp(),
	}}
}

// newest returns the newer of a resource as a cache holds it and as our last request has left it. A patch of what the
// cache does not show yet would not fit.
func (e *editor) newest(at location, cached metav1.Object) metav1.Object {
	e.mu.Lock()
	defer e.mu.Unlock()
	l, ok := e.left[at]
	if !ok {
		return cached
	}
	order, err := resourceversion.CompareResourceVersion(l.GetResourceVersion(), cached.GetResourceVersion())
	if err != nil || order <= 0 || l.GetUID() != cached.GetUID() || time.Since(l.since) > leftoverMost {
		delete(e.left, at)
		return cached
	}
	return l.Object
}
