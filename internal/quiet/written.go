package quiet

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// lagInterval is the pause between looks at a cache that is behind our own write.
	lagInterval = 2 * time.Millisecond
	// lagPatience is how long a pass waits for the cache.
	lagPatience = 500 * time.Millisecond
)

// written remembers the resource version of our last write to each object of a kind, until the cache has seen it.
type written struct {
	mu       sync.Mutex
	versions map[types.NamespacedName]string
}

func newWritten() *written { return &written{versions: map[types.NamespacedName]string{}} }

// note remembers a write.
func (w *written) note(obj client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.versions[client.ObjectKeyFromObject(obj)] = obj.GetResourceVersion()
}

// await reads an object from the cache until it is no older than our last write to it. If the cache stays behind for long the error is
// a conflict, which crossplane-runtime requeues without a word.
func (w *written) await(ctx context.Context, key types.NamespacedName, read func(context.Context) (string, error)) error {
	err := wait.PollUntilContextTimeout(ctx, lagInterval, lagPatience, true, func(ctx context.Context) (bool, error) {
		rv, err := read(ctx)
		return err == nil && w.seen(key, rv), err
	})
	if wait.Interrupted(err) {
		return apierrors.NewConflict(schema.GroupResource{}, key.Name, err)
	}
	if err != nil {
		w.forget(key)
	}
	return err
}

// seen says whether a resource version is no older than our last write, which need not be remembered any more then.
func (w *written) seen(key types.NamespacedName, rv string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.versions[key]
	if !ok {
		return true
	}
	if c, err := resourceversion.CompareResourceVersion(rv, last); err == nil && c < 0 {
		return false
	}
	delete(w.versions, key)
	return true
}

func (w *written) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, key)
}
