package managedadapter

import (
	"bytes"
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// staleMost is for how long a write counts more than a cache that does not show it. While 20,000 objects are created on
// two cores, the cache is half a minute late. After a restore of the control plane the cache may never show the write,
// and there may be no other object by which Changed sees the restore.
const staleMost = 2 * time.Minute

// errStale is the cause of the conflict if the cache is behind our last write.
var errStale = errors.New("the cache does not have the last write of the provider yet")

// A Client drops updates of a reconciled object that change nothing, and refuses to read it as it was before our last
// write. Other objects it reads and writes as ever.
type Client struct {
	client.Client

	written *sync.Map // our last write to each object that the cache has not seen yet: client.ObjectKey to write
}

// A write is known by the resource version it has made or, if it took the last finalizer off a deleted object, by what
// is gone with that. One that is awaited has the object reconciled again when the cache shows it.
type write struct {
	version string
	gone    types.UID
	at      time.Time
	awaited bool
}

// Get gets an object. The first in a Reconciliation is the reconciled one. If the cache is behind our last write to it,
// the error is a conflict.
func (c Client) Get(ctx context.Context, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	r := of(ctx)
	if _, ok := obj.(*corev1.Secret); ok && r.Publish != nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	if r.last != nil {
		return c.Client.Get(ctx, key, obj, o...)
	}
	c.await(key)
	err := c.Client.Get(ctx, key, obj, o...)
	if r.Gone = apierrors.IsNotFound(err); r.Gone {
		c.written.Delete(key)
	}
	if isUnreadable(err) {
		// Its other conditions are as unknown as all else, and go with that.
		return cmp.Or(Tell(ctx, c.Client, obj, xpv2.ReconcileError(err)), err)
	}
	if err != nil {
		return err
	}
	if r.Stale = c.isBehind(obj); r.Stale {
		return apierrors.NewConflict(schema.GroupResource{}, key.Name, errStale)
	}
	r.see(obj)
	return nil
}

// List lists what the cache holds, without copies: it must not be changed.
func (c Client) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	return c.Client.List(ctx, list, append(o, client.UnsafeDisableDeepCopy)...)
}

// isUnreadable reports whether only the metadata of an object could be read. Package informer makes such errors.
func isUnreadable(err error) bool {
	var e interface{ Unreadable() bool }
	return errors.As(err, &e) && e.Unreadable()
}

// Paused returns condition Synced of a paused object, with the message that crossplane-runtime leaves out.
func Paused() xpv2.Condition {
	return xpv2.ReconcilePaused().WithMessage(
		`not reconciled while annotation crossplane.io/paused is "true" or spec.managementPolicies is empty`)
}

// Tell sets a condition of an object, and writes its status.
func Tell(ctx context.Context, c client.Client, obj client.Object, is xpv2.Condition) error {
	before := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // It is a copy of one.
	if o, ok := obj.(resource.Conditioned); ok {
		o.SetConditions(is.WithObservedGeneration(obj.GetGeneration()))
	}
	return Save(ctx, c, before, obj)
}

// Create creates an object. A Secret is left to Publish, if the Reconciliation has such a function.
func (c Client) Create(ctx context.Context, obj client.Object, o ...client.CreateOption) error {
	if s, ok := obj.(*corev1.Secret); ok && of(ctx).Publish != nil {
		return of(ctx).Publish(ctx, s)
	}
	return c.Client.Create(ctx, obj, o...)
}

// Update writes an object, unless it is the reconciled one and its finalizers are as before. Beside those, reconcilers
// of crossplane-runtime update the annotations of a creation, and nothing else.
func (c Client) Update(ctx context.Context, obj client.Object, o ...client.UpdateOption) error {
	if r := of(ctx); r.isCurrent(obj) && slices.Equal(r.last.GetFinalizers(), obj.GetFinalizers()) {
		return nil
	}
	return c.note(ctx, obj, c.Client.Update(ctx, obj, o...))
}

// Patch patches an object.
func (c Client) Patch(ctx context.Context, obj client.Object, p client.Patch, o ...client.PatchOption) error {
	return c.note(ctx, obj, c.Client.Patch(ctx, obj, p, o...))
}

// Status returns a writer of status that drops updates which change nothing.
func (c Client) Status() client.SubResourceWriter {
	return statusWriter{SubResourceWriter: c.Client.Status(), client: c}
}

// note remembers the answer to a write, if that has succeeded and is about the reconciled object.
func (c Client) note(ctx context.Context, obj client.Object, err error) error {
	if r := of(ctx); err == nil && r.last != nil && r.last.GetUID() == obj.GetUID() {
		r.see(obj)
		r.behind = func() bool { return c.trails(ctx, obj) }
		w := write{version: obj.GetResourceVersion(), at: time.Now()}
		if obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 {
			w.gone = obj.GetUID()
		}
		c.written.Store(client.ObjectKeyFromObject(obj), w)
	}
	return err
}

// await has Changed tell when the cache shows our last write to an object. What is read after it is told of, if it does
// not show that.
func (c Client) await(key client.ObjectKey) {
	if last, ok := c.written.Load(key); ok {
		awaited := last.(write) //nolint:forcetypeassert // There is nothing else.
		awaited.awaited = true
		c.written.CompareAndSwap(key, last, awaited)
	}
}

// trails reports whether the cache has yet to show our last write to an object, of which Changed tells then.
func (c Client) trails(ctx context.Context, obj client.Object) bool {
	key, seen := client.ObjectKeyFromObject(obj), obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // A copy.
	c.await(key)
	return c.Client.Get(ctx, key, seen, client.UnsafeDisableDeepCopy) == nil && c.isBehind(seen)
}

// shows reports whether an object is our last write to it, or newer, and awaited.
func (c Client) shows(obj client.Object) bool {
	known, _ := c.written.Load(client.ObjectKeyFromObject(obj))
	last, ok := known.(write)
	return ok && last.awaited && !last.isAfter(obj)
}

// isAfter reports whether an object is as it was before the write.
func (w write) isAfter(obj client.Object) bool {
	n, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), w.version)
	return err == nil && n < 0 || w.gone != "" && obj.GetUID() == w.gone
}

// isBehind reports whether an object that the cache has is older than our last write, and that still counts.
func (c Client) isBehind(obj client.Object) bool {
	key := client.ObjectKeyFromObject(obj)
	known, _ := c.written.Load(key)
	last, ok := known.(write)
	if !ok {
		return false
	}
	if last.isAfter(obj) && time.Since(last.at) < staleMost {
		return true
	}
	c.written.CompareAndDelete(key, last)
	return false
}

type statusWriter struct {
	client.SubResourceWriter

	client Client
}

// Update writes the status of the reconciled object, unless it is as before or may wait.
func (w statusWriter) Update(ctx context.Context, obj client.Object, o ...client.SubResourceUpdateOption) error {
	r := of(ctx)
	if r.Amend != nil {
		r.Amend(obj)
	}
	if o, ok := obj.(resource.Conditioned); ok && o.GetCondition(xpv2.TypeSynced).Reason == xpv2.ReasonReconcilePaused {
		o.SetConditions(Paused().WithObservedGeneration(obj.GetGeneration()))
	}
	keepSame(r.last, obj)
	if r.Suppressed || r.isCurrent(obj) && (SameStatus(r.last, obj) || r.Postpone != nil && r.Postpone(r.last, obj)) {
		return nil
	}
	err := w.SubResourceWriter.Update(ctx, obj, o...)
	if IsTooLarge(err) && r.Shrink != nil && r.Shrink(obj) {
		err = w.SubResourceWriter.Update(ctx, obj, o...)
	}
	r.Unsaved = err != nil
	return w.client.note(ctx, obj, err)
}

// Patch patches the status of an object.
func (w statusWriter) Patch(ctx context.Context, obj client.Object, p client.Patch,
	o ...client.SubResourcePatchOption,
) error {
	return w.client.note(ctx, obj, w.SubResourceWriter.Patch(ctx, obj, p, o...))
}

// A Manager is a manager whose client is a Client, for reconcilers that take their client from it.
type Manager struct {
	manager.Manager

	client Client
}

// NewManager returns a Manager for the reconciler of one kind.
func NewManager(m manager.Manager) Manager {
	return Manager{Manager: m, client: Client{Client: m.GetClient(), written: &sync.Map{}}}
}

// Changed lets pass what DesiredStateChanged does, and what a reconcile waits for: that the cache shows our last write.
func (m Manager) Changed() predicate.Predicate {
	return predicate.Or(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		if WentBack(e.ObjectOld, e.ObjectNew) {
			m.client.written.Clear() // What we have written since is undone.
		}
		return m.client.shows(e.ObjectNew)
	}}, DesiredStateChanged())
}

// GetClient returns the Client.
func (m Manager) GetClient() client.Client { return m.client }

// FitsMost is how many bytes of an object we know of may be, for it to be written. A control plane stores 1.5 MiB by
// default; the rest is for what it adds itself, such as the managers of the fields.
const FitsMost = 1280 << 10

// saveTimeout bounds the write of a status.
const saveTimeout = 30 * time.Second

// IsTooLarge reports whether an answer means that an object is too large for the control plane. API servers hand on
// what etcd and its clients say.
func IsTooLarge(err error) bool {
	return err != nil && (apierrors.IsRequestEntityTooLargeError(err) ||
		strings.Contains(err.Error(), "etcdserver: request is too large") ||
		strings.Contains(err.Error(), "trying to send message larger than max"))
}

// ErrFinalizerContested means that a server accepts a change of a finalizer, and does not keep it.
var ErrFinalizerContested = errors.New("another client, such as a mutating webhook, reverts changes of finalizers: " +
	"exclude the provider from it")

// PatchMetadata changes the metadata of an object by a patch, unless somebody has changed the object meanwhile. What
// the object has in memory beside finalizers and annotations stays as it is, the answer of the server notwithstanding.
// An update would also write what our types make of the spec. The error is ErrFinalizerContested if finalizers are not
// as they were to be.
func PatchMetadata(ctx context.Context, c client.Client, obj client.Object, change func(client.Object)) error {
	before := client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{})
	now := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // It is a copy of one.
	change(now)
	if err := c.Patch(ctx, now, before); err != nil {
		return errors.Wrapf(err, "cannot patch %q", obj.GetName())
	}
	obj.SetResourceVersion(now.GetResourceVersion())
	obj.SetFinalizers(now.GetFinalizers())
	obj.SetAnnotations(now.GetAnnotations())
	left := now.DeepCopyObject().(client.Object) //nolint:forcetypeassert // Likewise.
	if change(left); !slices.Equal(left.GetFinalizers(), now.GetFinalizers()) {
		return errors.Wrapf(ErrFinalizerContested, "cannot patch %q", obj.GetName())
	}
	return nil
}

// RemoveFinalizer removes a finalizer from an object. That the object is gone is no error.
func RemoveFinalizer(ctx context.Context, c client.Client, obj client.Object, finalizer string) error {
	err := PatchMetadata(ctx, c, obj, func(o client.Object) { meta.RemoveFinalizer(o, finalizer) })
	return errors.Wrap(resource.IgnoreNotFound(err), "cannot remove finalizer")
}

// Save patches the status of an object if it has changed since before. That the object is gone is no error.
func Save(ctx context.Context, c client.Client, before, now client.Object) error {
	keepSame(before, now)
	if SameStatus(before, now) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	err := client.IgnoreNotFound(c.Status().Patch(ctx, now, client.MergeFrom(before)))
	return errors.Wrapf(err, "cannot write the status of %q", now.GetName())
}

// same compares times as such, and what is raw at once: equality.Semantic compares that byte by byte.
var same = conversion.EqualitiesOrDie(bytes.Equal, func(a, b metav1.Time) bool { return a.Equal(&b) })

// SameStatus reports whether two objects of one kind have the same status.
func SameStatus(a, b client.Object) bool { return same.DeepEqual(status(a), status(b)) }

func status(obj client.Object) any {
	return reflect.ValueOf(obj).Elem().FieldByName("Status").Interface()
}
