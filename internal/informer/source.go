package informer

import (
	"context"
	"io"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

const (
	// listMost is how long a list may take, or a page of it: as long as API servers give it by default.
	listMost = time.Minute
	// overdue is how much later than it has been asked to a server may end a watch.
	overdue = 30 * time.Second
	// early is how much earlier it may, which a client measures differently.
	early = 2 * time.Second
	// askMost is how long a server may take to say that it has come to a resource version. One that has gone back says
	// for long that it will.
	askMost = 5 * time.Second
	// brief is how long a watch may last that is not resumed if it has brought nothing: what cuts idle connections does
	// it later.
	brief = 3 * time.Second
	// nobody is a name that no resource has, as it is not allowed: a list that selects it is empty.
	nobody = "-"
)

// errListAgain makes a reflector list instead of resuming a watch. Reflectors take io.EOF for the usual end of one.
var errListAgain = io.EOF

// A source stands between a reflector and its server. Lists are the newest state, and requests have deadlines. A watch
// is resumed if the server has ended it in time, or is the same and says that it has come as far: one that was away
// meanwhile may have been restored from a backup, and answers a watch from its future with silence.
type source struct {
	server cache.ListerWatcherWithContext
	page   int64       // how many resources a page of a list holds, zero for whole lists
	stop   func()      // stops the deadline of the watch before
	listed func()      // the list has come that the watch under way began with, if any
	late   atomic.Bool // the watch before had to be ended
	until  time.Time   // when the server was to end the watch before
	cut    bool        // it has ended that before, or has refused one since
	begun  atomic.Bool // a watch has begun, and not been ended by us
	from   string      // the resource version of the watch before
	at     time.Time   // when that has begun

	isSame func(_ context.Context, anew bool) bool // that of Options
	asked  bool                                    // for the list that comes next
}

func newSource(server cache.ListerWatcherWithContext, page int64) *source {
	return &source{server: server, page: page, stop: func() {}, listed: func() {}}
}

// plainLists keep a reflector from asking for lists as streams, which cost both sides twice the processor time. Those
// of a virtual workspace it would also gather by namespace and name, which repeat in its logical clusters.
type plainLists struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported says so.
func (plainLists) IsWatchListSemanticsUnSupported() bool { return true }

// list lists. What reflectors ask for, a list that is no older than what is held, does not exist if the server has gone
// back in its history, and a list of any age may lack what we have seen already.
func (s *source) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	s.stop()
	s.late.Store(false)
	s.listed, s.until, s.cut = func() {}, time.Time{}, false
	if o.Continue == "" {
		o.ResourceVersion, o.ResourceVersionMatch = "", ""
		s.beginList(ctx)
	}
	if s.page == 0 {
		o.Limit = 0
	}
	ctx, cancel := context.WithTimeout(ctx, listMost)
	defer cancel()
	return s.server.ListWithContext(ctx, o)
}

// beginList takes that a list is about to be asked for. Who answers is known before: a later server counts as another.
func (s *source) beginList(ctx context.Context) {
	ListSizeIn(ctx).begin()
	if s.isSame != nil && !s.asked {
		s.isSame(ctx, s.begun.Load())
	}
	s.asked = false
}

// watch begins or resumes a watch. One that begins with a list has listMost for that.
func (s *source) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	s.stop()
	s.cut = s.cut || time.Now().Before(s.until)
	stuck := o.ResourceVersion == s.from && time.Since(s.at) < brief // A server cannot convert what has changed, say.
	if s.late.Swap(false) || s.cut && o.SendInitialEvents == nil && (stuck || !s.canResume(ctx, o.ResourceVersion)) {
		return nil, errListAgain
	}
	from := o.ResourceVersion
	lasts := time.Duration(*o.TimeoutSeconds)*time.Second + overdue
	most := lasts
	if o.SendInitialEvents != nil {
		o.ResourceVersion = ""
		s.beginList(ctx)
		most = listMost
	}
	ctx, cancel := context.WithCancel(ctx)
	deadline := time.AfterFunc(most, func() { s.late.Store(true); cancel() })
	s.stop = func() { deadline.Stop(); cancel() }
	s.listed = func() { deadline.Reset(lasts) }
	w, err := s.server.WatchWithContext(ctx, o)
	if err == nil {
		s.begun.Store(true)
		s.from, s.at = from, time.Now()
	}
	s.until, s.cut = time.Now().Add(lasts-overdue-early), err != nil
	if utilnet.IsConnectionRefused(err) || apierrors.IsInternalError(err) {
		err = errListAgain // The reflector would resume.
	}
	return w, err
}

// canResume reports whether the server is the same, and says that it has come to a resource version. The answer is
// empty.
func (s *source) canResume(ctx context.Context, version string) bool {
	if s.asked = s.isSame != nil && !s.isSame(ctx, true); s.asked {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askMost)
	defer cancel()
	_, err := s.server.ListWithContext(ctx, metav1.ListOptions{
		ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, nobody).String(),
	})
	return err == nil
}

// listWatch returns what lists and watches the resources of a stream.
func listWatch[T runtime.Object](i WatchRequest, selector string,
	list func(context.Context, metav1.ListOptions) (T, error),
	begin func(context.Context, metav1.ListOptions) (watch.Interface, error),
) cache.ListerWatcherWithContext {
	narrow := func(o *metav1.ListOptions) { o.LabelSelector = selector }
	if i.Stream == StreamByName {
		narrow = func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, i.Name).String()
		}
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			narrow(&o)
			return list(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			narrow(&o)
			return begin(ctx, o)
		},
	}
}

// A ListSize is how many bytes of a list have been read, over all of its pages or, if it comes as a stream, all of its
// events: a bound of each alone would be none of their number.
type ListSize struct {
	bytes atomic.Int64
	ended atomic.Bool // The stream goes on with changes, which do not count.
	fail  func(error)
}

// begin counts a list from its beginning.
func (s *ListSize) begin() {
	if s != nil {
		s.ended.Store(false)
		s.bytes.Store(0)
	}
}

// Add adds bytes that were read, and returns the sum.
func (s *ListSize) Add(n int) int64 {
	if s.ended.Load() {
		return 0
	}
	return s.bytes.Add(int64(n))
}

// Fail leaves the list because it is too long. Its stream rests.
func (s *ListSize) Fail(err error) { s.fail(err) }

type listSizeKey struct{}

// ListSizeIn returns the size of the list that a request belongs to, nil if it belongs to none.
func ListSizeIn(ctx context.Context) *ListSize {
	s, _ := ctx.Value(listSizeKey{}).(*ListSize)
	return s
}

const (
	// namesPage is how many resources a page of a list has of which only the names are held, and metadataPage how many if
	// it is of metadata: whatever tenants write there, a page fits into memory.
	namesPage    = 500
	metadataPage = 50
	// domain begins the annotations, and the names of field managers, that tell what a resource is.
	domain = "syncagent.kcp.io/"
)

// nameOnly returns what a stream of names holds of a resource.
func nameOnly(o metav1.Object) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": o.GetNamespace(), "name": o.GetName()},
	}}
}

// metadataOf returns what a stream of metadata holds of a resource: its name, its labels, its version, and what tells
// what becomes of it and whose it is. It has no kind.
func metadataOf(o metav1.Object) *unstructured.Unstructured {
	u := nameOnly(o)
	u.SetUID(o.GetUID())
	u.SetResourceVersion(o.GetResourceVersion())
	u.SetLabels(o.GetLabels())
	u.SetFinalizers(o.GetFinalizers())
	u.SetOwnerReferences(o.GetOwnerReferences())
	u.SetDeletionTimestamp(o.GetDeletionTimestamp())
	u.SetAnnotations(keptAnnotations(o))
	u.SetManagedFields(keptManagers(o))
	return u
}

func keptAnnotations(o metav1.Object) map[string]string {
	kept := maps.Clone(o.GetAnnotations())
	maps.DeleteFunc(kept, func(key, _ string) bool {
		return key != annotationCluster && key != AnnotationUnreadable && !strings.HasPrefix(key, domain)
	})
	return kept
}

func keptManagers(o metav1.Object) (kept []metav1.ManagedFieldsEntry) {
	for _, by := range o.GetManagedFields() {
		if strings.HasPrefix(by.Manager, domain) {
			kept = append(kept, metav1.ManagedFieldsEntry{Manager: by.Manager})
		}
	}
	return kept
}

// bare returns what is held of a resource that no field manager of ours applies: all but its managed fields, which take
// more memory than all the rest of a small one. What is given does not change.
func bare(o metav1.Object) *unstructured.Unstructured {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	fields, found, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	if !found {
		return u
	}
	list, _ := fields.([]any)
	kept := []any{}
	for _, entry := range list {
		m, _ := entry.(map[string]any)
		if by, _ := m["manager"].(string); strings.HasPrefix(by, domain) {
			kept = append(kept, map[string]any{"manager": by})
		}
	}
	return withManagedFields(u, kept)
}

// byPages returns what lists metadata page by page, each with a bound of its own, and takes off what is not held: the
// pages of one list are in memory all at once.
func byPages(list cache.ListWithContextFunc) cache.ListWithContextFunc {
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		ListSizeIn(ctx).begin()
		page, err := list(ctx, o)
		if all, ok := page.(*metav1.PartialObjectMetadataList); ok && err == nil {
			for i := range all.Items {
				o := &all.Items[i]
				o.Annotations, o.ManagedFields = keptAnnotations(o), keptManagers(o)
			}
		}
		return page, err
	}
}
