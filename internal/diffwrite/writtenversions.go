package diffwrite

import (
	"context"
	"math"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lagBackoff are the pauses between looks at a cache that is behind our own write. Most catch up within milliseconds.
// One that does not has fallen back as a whole: then each object that is reconciled waits for it.
var lagBackoff = wait.Backoff{Duration: 2 * time.Millisecond, Factor: 1.5, Steps: math.MaxInt32}

const (
	// lagPatience is how long a pass waits for the cache.
	lagPatience = 500 * time.Millisecond
	// lagMost is for how long a write counts more than a cache that does not show it. A cache that is later than that
	// may never show it: the control plane may have been restored from a backup that is older.
	lagMost = 10 * time.Second
)

// writtenVersions remembers our last write to each object of a kind, until the cache has seen it.
type writtenVersions struct {
	now func() time.Time

	mu     sync.Mutex
	writes map[types.NamespacedName]write
}

// A write is known by the resource version it has made.
type write struct {
	version string
	at      time.Time
}

func newWrittenVersions() *writtenVersions {
	return &writtenVersions{now: time.Now, writes: map[types.NamespacedName]write{}}
}

// note remembers a write.
func (w *writtenVersions) note(obj client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes[client.ObjectKeyFromObject(obj)] = write{version: obj.GetResourceVersion(), at: w.now()}
}

// await reads an object from the cache until it is no older than our last write to it. If the cache stays behind for
// long the error is a conflict, which crossplane-runtime requeues without a word.
func (w *writtenVersions) await(ctx context.Context, key types.NamespacedName,
	read func(context.Context) (string, error),
) error {
	ctx, cancel := context.WithTimeout(ctx, lagPatience)
	defer cancel()
	err := lagBackoff.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
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

// seen reports whether a resource version is no older than our last write, or that no longer counts. It need not be
// remembered any more then.
func (w *writtenVersions) seen(key types.NamespacedName, rv string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.writes[key]
	if !ok {
		return true
	}
	if c, err := resourceversion.CompareResourceVersion(rv, last.version); err == nil && c < 0 &&
		w.now().Sub(last.at) < lagMost {
		return false
	}
	delete(w.writes, key)
	return true
}

func (w *writtenVersions) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.writes, key)
}
