package informer

import (
	"context"
	"fmt"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An Owner is who is woken when a resource changes: one object of one controller.
type Owner struct {
	types.NamespacedName

	// Controller is the name of the controller that reconciles the object.
	Controller string
}

// A Stream is the kind of stream that carries a resource.
type Stream int

const (
	// StreamLabelled is the stream of a kind's labelled resources in all namespaces.
	StreamLabelled Stream = iota
	// StreamLabelledInNamespace is the stream of a kind's labelled resources in the resource's namespace.
	StreamLabelledInNamespace
	// StreamByName is the stream of the one resource, labelled or not.
	StreamByName
	// StreamBySelector is the stream of the resources in the namespace that the request's own selector selects,
	// labelled or not. An empty one selects all.
	StreamBySelector
	// StreamNames is the stream of the names of all resources that a selector selects. See Names.
	StreamNames
	// StreamMetadata is the stream of metadata of all resources in the namespace, without their kinds.
	StreamMetadata
	// StreamAllWorkspaces is the stream of all resources of a kind in all logical clusters that a virtual workspace of
	// kcp shows. They are told apart by their annotation kcp.io/cluster, as names repeat.
	StreamAllWorkspaces
	// StreamAllWorkspacesMetadata is the same of their metadata.
	StreamAllWorkspacesMetadata
)

// An WatchRequest names one resource of a cluster and the stream it is to be seen through; with StreamBySelector,
// StreamNames and those of all workspaces, which have no name, all resources of that stream.
type WatchRequest struct {
	types.NamespacedName // of a selection, only the namespace, or none for all namespaces

	Resource schema.GroupVersionResource
	Stream   Stream
	// Selector is the label selector of StreamBySelector and StreamNames.
	Selector string
}

// key returns what all watch requests in a stream have in common.
func (i WatchRequest) key() WatchRequest {
	switch i.Stream {
	case StreamLabelled:
		i.NamespacedName = types.NamespacedName{}
	case StreamLabelledInNamespace:
		i.Name = ""
	case StreamByName, StreamBySelector, StreamNames, StreamMetadata, StreamAllWorkspaces, StreamAllWorkspacesMetadata:
	}
	return i
}

// of returns what the owners of a resource of a stream are registered for: the resource itself, or all of the stream.
func (i WatchRequest) of(n types.NamespacedName) types.NamespacedName {
	if i.Stream <= StreamByName {
		return n
	}
	return types.NamespacedName{}
}

// Options of a Set.
type Options struct {
	// Selector is the label selector of the streams that carry more than one resource.
	Selector string
	// Metadata is the client of the streams that carry names or metadata only.
	Metadata metadata.Interface
	// Wake is called when a resource an owner is interested in has changed. It must not block.
	Wake func(Owner)
	// WentBack is called, if set, when the cluster has gone back in its history, as after a restore of its etcd: once
	// for all streams that notice it. It must not block.
	WentBack func()
	// IsSame reports whether the cluster is known to be the one that it was at first, and not another one behind the same
	// address. It asks at first, and whenever it is to ask anew. Nil if the cluster stays the same.
	IsSame func(_ context.Context, anew bool) bool
	// PageSize is how many resources a page of a list has. Zero asks for whole lists, which API servers keep at hand,
	// while most read pages from etcd. The requests for all pages of a list share its ListSize.
	PageSize int64
}

// A Purpose tells the watch requests of one owner apart, so that each can be replaced without the others.
type Purpose string

// notSyncedError is what Get returns until the first list has arrived.
type notSyncedError struct{ resource schema.GroupVersionResource }

// Error says which stream is waited for.
func (e notSyncedError) Error() string {
	return fmt.Sprintf("waiting for the first list of %s", e.resource.GroupResource())
}

// Status makes the error a conflict in the eyes of crossplane-runtime, which requeues conflicts without a condition or
// an event: that our copy is not there yet is nothing a user can act on.
func (e notSyncedError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonConflict, Message: e.Error()}
}

// IsNotSynced reports whether an error means that the first list has not arrived yet.
func IsNotSynced(err error) bool { return errors.As(err, &notSyncedError{}) }

// AnnotationUnreadable says why a resource cannot be read, on what is left of it. Package clusters sets it, and nobody
// else can: API servers refuse annotations of such names.
const AnnotationUnreadable = "unreadable!"

// unreadableError says that only the metadata of a resource are known.
type unreadableError struct{ kind, name, why string }

// Error names the resource.
func (e unreadableError) Error() string {
	return fmt.Sprintf("%s %q cannot be read: %s: make it smaller, or delete it", e.kind, e.name, e.why)
}

// Unreadable reports that whoever reads the resource finds nothing in it.
func (unreadableError) Unreadable() bool { return true }

// Unreadable returns an error whose method Unreadable says so if only the metadata of an object are known, else nil.
// What the object lacks is unknown then, and not absent.
func Unreadable(o metav1.Object) error {
	why, ok := o.GetAnnotations()[AnnotationUnreadable]
	if !ok {
		return nil
	}
	kind := "resource"
	if t, ok := o.(runtime.Object); ok && t.GetObjectKind().GroupVersionKind().Kind != "" {
		kind = t.GetObjectKind().GroupVersionKind().Kind
	}
	return unreadableError{kind: kind, name: cache.MetaObjectToName(o).String(), why: why}
}

// deniedError is what Get returns for a stream that the server refuses.
type deniedError struct{ cause error }

// Error says why the server refuses.
func (e deniedError) Error() string { return "cannot watch: " + e.cause.Error() }

// Unwrap returns the answer of the server.
func (e deniedError) Unwrap() error { return e.cause }

// IsDenied reports whether an error means that the server refuses to list or watch the resource, so that it can only be
// read live.
func IsDenied(err error) bool { return errors.As(err, &deniedError{}) }

// IsFailing reports whether an error means that the server does not answer a stream as it is to, without refusing it:
// what the stream has shown is what is known.
func IsFailing(err error) bool {
	d := deniedError{}
	return errors.As(err, &d) && !refused(d.cause)
}

// retryRefused is how long an informer waits after a refused connection.
const retryRefused = 750 * time.Millisecond

// NewInformer returns what makes the informers of a manager's cache, which list again after an outage, as the streams
// of a Set do. WentBack is called when the server has gone back in its history, once for all informers.
func NewInformer(
	wentBack func(),
) func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer {
	restored := &rate.Sometimes{Interval: restoreMost}
	return func(lw cache.ListerWatcher, o runtime.Object, resync time.Duration,
		indexers cache.Indexers,
	) cache.SharedIndexInformer {
		s := &informerSource{
			source: newSource(cache.ToListerWatcherWithContext(lw), 0), wentBack: func() { restored.Do(wentBack) },
		}
		return cache.NewSharedIndexInformer(plainLists{&cache.ListWatch{
			ListWithContextFunc: s.list, WatchFuncWithContext: s.watch,
		}}, o, resync, indexers)
	}
}

// NewClient returns the client of a manager. To get what cannot be read fails, as a reconciler would take it for empty.
func NewClient(cfg *rest.Config, o client.Options) (client.Client, error) {
	c, err := client.New(cfg, o)
	return readingClient{c}, errors.Wrap(err, "cannot create client")
}

type readingClient struct{ client.Client }

// Get gets an object. With an error of Unreadable its metadata are usable.
func (c readingClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := c.Client.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	return Unreadable(o)
}

// An informerSource is a source whose reflector tells by the version it asks for how far it has come.
type informerSource struct {
	*source

	wentBack func()
	lost     time.Time // when the server was away last. Only the reflector calls, one method at a time.
}

// list lists, and tells if the server has gone back in its history.
func (s *informerSource) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, err := untilServed(ctx, s, func() (runtime.Object, error) { return s.source.list(ctx, o) })
	if m, merr := meta.ListAccessor(list); err == nil && merr == nil && newer(o.ResourceVersion, m.GetResourceVersion()) {
		s.wentBack()
	}
	return list, err
}

// watch begins or resumes a watch.
func (s *informerSource) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return untilServed(ctx, s, func() (watch.Interface, error) { return s.source.watch(ctx, o) })
}

// untilServed makes a request. While the server is away, and as long after that as it may take to start, it goes on
// trying: reflectors of informers would try again up to a minute later each time.
func untilServed[T any](ctx context.Context, s *informerSource, request func() (T, error)) (answer T, err error) {
	_ = wait.PollUntilContextCancel(ctx, retryRefused, true, func(context.Context) (over bool, _ error) {
		answer, err = request()
		if utilnet.IsConnectionRefused(err) || errors.Is(err, errListAgain) {
			s.lost = time.Now()
		}
		return err == nil || errors.Is(err, errListAgain) || apierrors.IsResourceExpired(err) ||
			apierrors.IsGone(err) || time.Since(s.lost) > starting, nil
	})
	return answer, err // That of the last request, if the context has ended.
}
