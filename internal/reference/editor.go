package reference

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/keymutex"
)

// errContested means that the target accepts a change of a finalizer, and does not keep it.
var errContested = errors.New("another client, such as a mutating webhook, reverts changes of finalizers: exclude " +
	"the provider from it")

const (
	// editAttempts is how often a change is tried at once while others write the resource.
	editAttempts = 10
	// editLocks is how many requests there can be at a time.
	editLocks = 64
)

// An editor changes the finalizers of resources, each by one request at a time, with all that is asked of it by then.
type editor struct {
	client func(schema.GroupVersionResource, string) dynamic.ResourceInterface
	locks  keymutex.KeyMutex

	mu   sync.Mutex
	open map[edited]*request // that are not under way yet
}

// A request makes changes of a resource. now and err are its answer.
type request struct {
	once    sync.Once
	changes []change
	now     metav1.Object
	err     error
}

// An edited resource is one whose finalizers change, with any UID if that is empty.
type edited struct {
	schema.GroupVersionResource

	name types.NamespacedName
	uid  types.UID
}

// A change puts a finalizer on a resource, or takes it off.
type change struct {
	finalizer string
	add       bool
}

func newEditor(client func(schema.GroupVersionResource, string) dynamic.ResourceInterface) *editor {
	return &editor{client: client, locks: keymutex.NewHashed(editLocks), open: map[edited]*request{}}
}

// set makes a change of a resource, and returns the resource as it is then. One that is being deleted takes no new
// finalizer. The resource is given as it is known, nil if it must be read: a cache may not yet show the finalizer that
// is taken off. While a request is under way, the changes of all who wait for it gather in the next one.
func (e *editor) set(ctx context.Context, at edited, c change, known metav1.Object) (metav1.Object, error) {
	if known != nil && slices.Equal(after(known, []change{c}), known.GetFinalizers()) {
		return known, nil
	}
	e.mu.Lock()
	r := e.open[at]
	if r == nil {
		r = &request{err: errors.New("the finalizers may not have been changed")} // If patch panics.
		e.open[at] = r
	}
	r.changes = append(r.changes, c)
	e.mu.Unlock()
	key := at.String() + at.name.String()
	e.locks.LockKey(key)
	defer func() { _ = e.locks.UnlockKey(key) }()
	r.once.Do(func() {
		e.mu.Lock()
		delete(e.open, at)
		e.mu.Unlock()
		// OnError itself returns no error if the last one is that of a context.
		_ = retry.OnError(wait.Backoff{Steps: editAttempts, Duration: time.Millisecond}, apierrors.IsConflict, func() error {
			r.now, r.err = e.patch(ctx, at, r.changes, known)
			known = nil
			return r.err
		})
	})
	return r.now, r.err
}

// gone returns a resource that does not exist: it has no finalizers, and takes none.
func gone() *metav1.ObjectMeta { return &metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}} }

// patch makes changes of a resource as it is known, or as the control plane has it. It returns the resource then.
func (e *editor) patch(ctx context.Context, at edited, changes []change,
	known metav1.Object,
) (metav1.Object, error) {
	client := e.client(at.GroupVersionResource, at.name.Namespace)
	if known == nil {
		u, err := client.Get(ctx, at.name.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && at.uid != "" && u.GetUID() != at.uid {
			return gone(), nil
		}
		if err != nil {
			return nil, err
		}
		known = u
	}
	next := after(known, changes)
	if slices.Equal(next, known.GetFinalizers()) {
		return known, nil
	}
	body, _ := json.Marshal(map[string]any{"metadata": map[string]any{ //nolint:errchkjson // Texts can be encoded.
		"resourceVersion": known.GetResourceVersion(), "finalizers": next,
	}})
	u, err := client.Patch(ctx, at.name.Name, types.MergePatchType, body, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return gone(), nil
	case err != nil:
		return nil, err
	case !slices.Equal(after(u, changes), u.GetFinalizers()):
		return nil, errContested
	}
	return u, nil
}

// after returns the finalizers of a resource after some changes. One that is being deleted takes no new finalizers.
func after(o metav1.Object, changes []change) []string {
	next := slices.Clone(o.GetFinalizers())
	for _, c := range changes {
		switch {
		case !c.add:
			next = slices.DeleteFunc(next, func(s string) bool { return s == c.finalizer })
		case o.GetDeletionTimestamp() == nil && !slices.Contains(next, c.finalizer):
			next = append(next, c.finalizer)
		}
	}
	return next
}
