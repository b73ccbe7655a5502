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
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/resourceversion"
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
	// answerMost is how long a cache may lag behind the answer to a request. An answer is not believed for longer: the
	// control plane may have been restored.
	answerMost = 30 * time.Second
	// editLocks is how many requests there can be at a time.
	editLocks = 64
)

// An editor changes the finalizers of resources, each by one request at a time, with all that is asked of it by then.
type editor struct {
	client func(schema.GroupVersionResource, string) dynamic.ResourceInterface
	// answers are the resources as the last request has left them, each a *metav1.ObjectMeta.
	answers *cache.Expiring
	locks   keymutex.KeyMutex

	mu   sync.Mutex
	open map[edited][]change // for the next request
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
	return &editor{
		client: client, answers: cache.NewExpiring(), locks: keymutex.NewHashed(editLocks), open: map[edited][]change{},
	}
}

// set makes a change of a resource, and returns the resource as it is then. One that is being deleted takes no new
// finalizer. The resource is given as it is known, nil if it is not. While a request is under way, the changes of all
// who wait for it gather, and the first of them makes all.
func (e *editor) set(ctx context.Context, at edited, c change, known metav1.Object) (now metav1.Object, err error) {
	if is := e.newest(at, known); is != nil && slices.Equal(after(is, []change{c}), is.GetFinalizers()) {
		return is, nil
	}
	e.mu.Lock()
	e.open[at] = append(e.open[at], c)
	e.mu.Unlock()
	key := at.String() + at.name.String()
	e.locks.LockKey(key)
	defer func() { _ = e.locks.UnlockKey(key) }()
	e.mu.Lock()
	changes := slices.Concat(e.open[at], []change{c}) // The request before may have had it, and have failed.
	delete(e.open, at)
	e.mu.Unlock()
	known = e.newest(at, known)
	// OnError itself returns no error if the last one is that of a context.
	_ = retry.OnError(wait.Backoff{Steps: editAttempts, Duration: time.Millisecond}, apierrors.IsConflict, func() error {
		now, err = e.patch(ctx, at, changes, known)
		known = nil
		return err
	})
	if err != nil {
		e.answers.Delete(at)
		return nil, err
	}
	e.answers.Set(at, &metav1.ObjectMeta{
		UID: now.GetUID(), ResourceVersion: now.GetResourceVersion(), Finalizers: now.GetFinalizers(),
		DeletionTimestamp: now.GetDeletionTimestamp(),
	}, answerMost)
	return now, nil
}

// newest returns the newer of a known state of a resource and of the last answer about it, nil if there is neither. One
// that is gone has no finalizers, and is being deleted.
func (e *editor) newest(at edited, known metav1.Object) metav1.Object {
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
	case err == nil && !slices.Equal(after(u, changes), u.GetFinalizers()):
		return nil, errContested
	}
	return u, err
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
