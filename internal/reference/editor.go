package reference

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// errContested means that the target accepts a change of a finalizer, and does not keep it.
var errContested = errors.New("others, such as a mutating webhook, undo changes of finalizers: stop them")

const (
	// editors is how many resources are changed at a time. The rest of the provider needs the control plane, too.
	editors = 16
	// editTimeout bounds the requests for the changes of one resource.
	editTimeout = 30 * time.Second
	// editAttempts is how often a change is tried at once while others change the same finalizers.
	editAttempts = 10
	// retryFirst and retryMost bound the time until the changes of a resource are tried again after a failure.
	retryFirst, retryMost = 50 * time.Millisecond, time.Minute
	// answerMost is how long a cache may lag behind the answer to a request. An answer is not believed for longer: the
	// control plane may have been restored.
	answerMost = 30 * time.Second
)

// An editor changes the finalizers of resources. Its queue holds the resources to change, so that each is changed by
// one request at a time, with all that is asked of it by then.
type editor struct {
	client func(schema.GroupVersionResource, string) dynamic.ResourceInterface
	wake   func(informer.Owner)
	queue  workqueue.TypedRateLimitingInterface[resource]
	// answers are the resources as the last request has left them, each a *metav1.ObjectMeta.
	answers *cache.Expiring

	mu   sync.Mutex
	jobs map[resource]*job
}

// A resource is one whose finalizers change, with any UID if that is empty.
type resource struct {
	schema.GroupVersionResource

	name types.NamespacedName
	uid  types.UID
}

// A change is what an owner wants of a resource: to put a finalizer on it, or to take it off.
type change struct {
	owner     informer.Owner
	finalizer string
	add       bool
}

// A job is what is asked of one resource.
type job struct {
	known   metav1.Object     // a state to begin with, nil for none
	changes map[string]change // by finalizer, each of which has one owner
	err     error             // how the last attempt has failed, nil before the first
}

func newEditor(client func(schema.GroupVersionResource, string) dynamic.ResourceInterface,
	wake func(informer.Owner),
) *editor {
	return &editor{
		client: client, wake: wake, answers: cache.NewExpiring(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[resource](retryFirst, retryMost)),
		jobs: map[resource]*job{},
	}
}

// run changes resources until a context ends.
func (e *editor) run(ctx context.Context) {
	var workers sync.WaitGroup
	for range editors {
		workers.Go(func() {
			for e.work(ctx) {
			}
		})
	}
	<-ctx.Done()
	e.queue.ShutDown()
	workers.Wait()
}

// set returns nil if a resource has the finalizer that a change adds, or has not the one that it removes. Otherwise the
// change is made in the background, until it succeeds or its owner asks for the opposite. The error then is a conflict,
// or how the last attempt has failed, and the owner is woken when that is not so any more. The resource is given as it
// is known, nil if it is not.
func (e *editor) set(at resource, c change, known metav1.Object) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.jobs[at]
	if j == nil {
		j = &job{changes: map[string]change{}}
	}
	asked, ok := j.changes[c.finalizer]
	if now := e.newest(at, known); !ok && now != nil && slices.Contains(now.GetFinalizers(), c.finalizer) == c.add {
		return nil
	}
	if asked != c {
		j.changes[c.finalizer] = c
		j.known, e.jobs[at] = known, j
		e.queue.Add(at)
	}
	if j.err != nil {
		return j.err
	}
	return apierrors.NewConflict(at.GroupResource(), at.name.Name, errors.New("its finalizers are about to be changed"))
}

// forget takes off again what an owner that is gone wants to put on resources, as it may be on them already: if the
// owner was deleted early, nothing else would.
func (e *editor) forget(o informer.Owner) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for at, j := range e.jobs {
		for finalizer, c := range j.changes {
			if c.owner == o && c.add {
				j.changes[finalizer] = change{owner: o, finalizer: finalizer}
				e.queue.Add(at)
			}
		}
	}
}

// newest returns the newer of a known state of a resource and of the last answer about it, nil if there is neither. One
// that is gone has no finalizers, and is being deleted.
func (e *editor) newest(at resource, known metav1.Object) metav1.Object {
	v, _ := e.answers.Get(at)
	answer, ok := v.(*metav1.ObjectMeta)
	switch {
	case known != nil && at.uid != "" && known.GetUID() != at.uid:
		return gone() // It is a namesake.
	case !ok:
		return known
	case known == nil || answer.ResourceVersion == "":
		return answer
	}
	order, err := resourceversion.CompareResourceVersion(answer.ResourceVersion, known.GetResourceVersion())
	if err != nil || order <= 0 {
		return known
	}
	return answer
}

func gone() *metav1.ObjectMeta { return &metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}} }

// work makes the changes of the next resource, and reports whether there may be more.
func (e *editor) work(ctx context.Context) bool {
	at, done := e.queue.Get()
	if done {
		return false
	}
	defer e.queue.Done(at)
	batch, known := e.batch(at)
	if len(batch) == 0 {
		e.queue.Forget(at)
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, editTimeout)
	defer cancel()
	var now metav1.Object
	var err error
	// OnError itself returns no error if the last one is that of a context.
	_ = retry.OnError(wait.Backoff{Steps: editAttempts, Duration: time.Millisecond}, isStale, func() error {
		now, err = e.patch(ctx, at, batch, known)
		known = nil
		return err
	})
	e.finish(at, batch, now, err)
	return true
}

// batch returns what is asked of a resource, and the resource as it is known.
func (e *editor) batch(at resource) ([]change, metav1.Object) {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.jobs[at]
	if j == nil {
		return nil, nil
	}
	return slices.Collect(maps.Values(j.changes)), e.newest(at, j.known)
}

// finish records how an attempt at some changes has ended, and wakes their owners unless they know.
func (e *editor) finish(at resource, batch []change, now metav1.Object, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.jobs[at]
	known := err != nil && j.err != nil
	j.known, j.err = nil, err
	if err == nil {
		e.queue.Forget(at)
		e.answers.Set(at, &metav1.ObjectMeta{
			UID: now.GetUID(), ResourceVersion: now.GetResourceVersion(), Finalizers: now.GetFinalizers(),
			DeletionTimestamp: now.GetDeletionTimestamp(),
		}, answerMost)
		maps.DeleteFunc(j.changes, func(_ string, c change) bool { return slices.Contains(batch, c) })
		if len(j.changes) == 0 {
			delete(e.jobs, at)
		}
	} else {
		e.queue.AddRateLimited(at)
		e.answers.Delete(at)
	}
	for _, c := range batch {
		if !known {
			e.wake(c.owner)
		}
	}
}

// isStale reports whether a patch may have failed because the resource is not as it was known.
func isStale(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsConflict(err) }

// patch makes changes of a resource as it is known, or as the control plane has it. It returns the resource then.
func (e *editor) patch(ctx context.Context, at resource, batch []change,
	known metav1.Object,
) (metav1.Object, error) {
	client := e.client(at.GroupVersionResource, at.name.Namespace)
	var next []string
	if known != nil {
		next = after(known, batch)
	}
	if known == nil || slices.Equal(next, known.GetFinalizers()) {
		u, err := client.Get(ctx, at.name.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && at.uid != "" && u.GetUID() != at.uid {
			return gone(), nil
		}
		if err != nil {
			return nil, err
		}
		if next = after(u, batch); slices.Equal(next, u.GetFinalizers()) {
			return u, nil
		}
		known = u
	}
	u, err := client.Patch(ctx, at.name.Name, types.JSONPatchType, patchOf(known, next), metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return gone(), nil
	case err == nil && !slices.Equal(after(u, batch), u.GetFinalizers()):
		return nil, errContested
	}
	return u, err
}

// after returns the finalizers of a resource after some changes. One that is being deleted takes no new finalizers.
func after(o metav1.Object, batch []change) []string {
	next := slices.Clone(o.GetFinalizers())
	for _, c := range batch {
		switch {
		case !c.add:
			next = slices.DeleteFunc(next, func(s string) bool { return s == c.finalizer })
		case o.GetDeletionTimestamp() == nil && !slices.Contains(next, c.finalizer):
			next = append(next, c.finalizer)
		}
	}
	return next
}

// patchOf returns a JSON patch of finalizers that only fits a resource with the UID and the finalizers that are known
// of it. Whatever else changes meanwhile is in nobody's way.
func patchOf(known metav1.Object, finalizers []string) []byte {
	const path = "/metadata/finalizers"
	var had any // null also fits if there is no such field
	if len(known.GetFinalizers()) > 0 {
		had = known.GetFinalizers()
	}
	b, _ := json.Marshal([]map[string]any{ //nolint:errchkjson // Texts can be encoded.
		{"op": "test", "path": "/metadata/uid", "value": known.GetUID()},
		{"op": "test", "path": path, "value": had},
		{"op": "add", "path": path, "value": finalizers},
	})
	return b
}
