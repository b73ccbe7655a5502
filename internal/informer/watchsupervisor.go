package informer

import (
	"context"
	"sync"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

const (
	// listMost is how long a list that comes as a stream may take: as long as API servers give any other list by
	// default.
	listMost = time.Minute
	// bookmarkMost is how long a server that sends bookmarks may send nothing: API servers send them each minute.
	bookmarkMost = 150 * time.Second
	// overdue is how much later than it has been asked to a server may end a watch.
	overdue = 30 * time.Second
	// early is how much earlier it may, which a client measures differently.
	early = 2 * time.Second
	// nobody is a name that no resource has, as it is not allowed: a list that selects it is empty, whatever the server
	// holds.
	nobody = "-"
)

// A watchSupervisor stands between a reflector and its server. It ends watches that the server does not end in time,
// and keeps the reflector from resuming one where the server may not have what it has missed: it lists again then. It
// serves one reflector.
type watchSupervisor struct {
	cache.ListerWatcherWithContext

	single bool  // lists hold no more than one resource
	page   int64 // the size of a page, zero for whole lists

	mu      sync.Mutex
	size    *ListSize        // of the list under way, or of the last one
	current *supervisedWatch // the watch under way, nil without one
	cut     bool             // the last watch has not ended because its time was over
	away    bool             // the server could not be reached since
	stalled bool             // the last list has not come to its end
	flooded error            // why a stream was left that brought too much; nil after the rest for it
	pause   time.Duration
	rested  time.Time // when the last rest ended
}

// IsWatchListSemanticsUnSupported reports whether lists must not be asked for as streams.
func (g *watchSupervisor) IsWatchListSemanticsUnSupported() bool {
	l, ok := g.ListerWatcherWithContext.(interface{ IsWatchListSemanticsUnSupported() bool })
	return ok && l.IsWatchListSemanticsUnSupported()
}

// List is for those without a context.
func (g *watchSupervisor) List(o metav1.ListOptions) (runtime.Object, error) {
	return g.ListWithContext(context.Background(), o)
}

// Watch is for those without a context.
func (g *watchSupervisor) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return g.WatchWithContext(context.Background(), o)
}

// ListWithContext lists. A list that follows another is the newest the server has: one that is no older than what is
// held, as reflectors ask for, does not exist if the server has gone back in its history.
func (g *watchSupervisor) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if (o.ResourceVersion != "0" || g.page > 0) && o.Continue == "" {
		o.ResourceVersion, o.ResourceVersionMatch = "", ""
	}
	if g.page > 0 {
		o.Limit = g.page
	}
	list, err := g.listPage(ctx, o)
	if err == nil && ctx.Err() == nil {
		g.begin()
	}
	return list, err
}

// WatchWithContext begins or resumes a watch.
func (g *watchSupervisor) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	lists := o.SendInitialEvents != nil && *o.SendInitialEvents
	var err error
	if lists {
		o.ResourceVersion = ""
		err = g.mayStream()
	} else {
		err = g.mayResume(ctx, o.ResourceVersion)
	}
	if err != nil {
		return nil, err
	}
	begun, size := time.Now(), (*ListSize)(nil)
	if lists {
		ctx, size = g.newSize(ctx)
	}
	w, err := g.ListerWatcherWithContext.WatchWithContext(ctx, o)
	if err != nil {
		g.failed(err)
		return nil, err
	}
	s := &supervisedWatch{Interface: w, supervisor: g, begun: begun, lists: lists, size: size}
	if o.TimeoutSeconds != nil {
		s.lasts = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	g.supervise(s)
	return s, nil
}

// begin records that a list has begun the stream anew.
func (g *watchSupervisor) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut, g.away, g.stalled = false, false, false
}

// failed records that a watch could not begin.
func (g *watchSupervisor) failed(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !apierrors.IsTooManyRequests(err) {
		g.away = true
	}
}

// mayStream returns an error if the last list that came as a stream did not come to its end. The reflector makes do
// with an ordinary list.
func (g *watchSupervisor) mayStream() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.stalled {
		return nil
	}
	g.stalled = false
	return errStalled
}

// errStalled means that a list which came as a stream has not come to its end.
var errStalled = errors.New("the list that came as a stream has not come to its end")

// mayResume returns an error that makes the reflector list again if what a watch has missed may not be had by resuming
// it. A server that was away may have been restored. One that has only cut the watch is asked whether it has come as
// far in its history as the watch; a list of one resource costs no more than that.
func (g *watchSupervisor) mayResume(ctx context.Context, version string) error {
	g.mu.Lock()
	cut, away := g.cut, g.away
	g.mu.Unlock()
	switch {
	case !cut && !away:
		return nil
	case !away && !g.single:
		if err := g.ask(ctx, version); err == nil {
			return nil
		}
	}
	return apierrors.NewResourceExpired(
		"the watch was interrupted, and the server may have gone back in its history meanwhile")
}

// ask returns an error unless the server has come to a resource version. The answer is empty.
func (g *watchSupervisor) ask(ctx context.Context, version string) error {
	ctx, cancel := context.WithTimeout(ctx, listMost)
	defer cancel()
	_, err := g.ListerWatcherWithContext.ListWithContext(ctx, metav1.ListOptions{
		ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, nobody).String(),
	})
	return err
}

// A supervisedWatch is ended if the server does not end it in time, or goes silent.
type supervisedWatch struct {
	watch.Interface

	supervisor *watchSupervisor
	begun      time.Time
	lasts      time.Duration // as the server was asked
	deadline   *time.Timer
	lists      bool      // it is a list that has not come to its end
	size       *ListSize // of the list that it begins with, nil for none
}

// left returns how long the watch may go on.
func (s *supervisedWatch) left() time.Duration { return max(s.lasts+overdue-time.Since(s.begun), 0) }

// supervise makes a watch the one that is under way.
func (g *watchSupervisor) supervise(s *supervisedWatch) {
	most := s.left()
	if s.lists {
		most = listMost
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s.deadline = time.AfterFunc(most, s.Interface.Stop)
	g.current = s
}

// Stop ends the watch, and records how it has ended.
func (s *supervisedWatch) Stop() {
	s.Interface.Stop()
	s.deadline.Stop()
	g := s.supervisor
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.current != s {
		return // It is told twice.
	}
	g.current = nil
	if s.lists && s.size.failure() != nil {
		g.flooded = s.size.failure()
	}
	lasted := time.Since(s.begun)
	g.cut = lasted < s.lasts-early || lasted >= s.lasts+overdue
	g.stalled = s.lists
}

// listed records that the list has come to its end with which the watch under way began, if that did.
func (g *watchSupervisor) listed() {
	g.begin()
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.current; s != nil && s.lists {
		s.lists = false
		s.size.end()
		s.deadline.Reset(s.left())
	}
}

// bookmarked records that the watch under way has had a bookmark. From then on the server sends one each minute.
func (g *watchSupervisor) bookmarked() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.current; s != nil {
		s.deadline.Reset(min(s.left(), bookmarkMost))
	}
}

// A bookmarkStore is a store that is told of bookmarks.
type bookmarkStore interface {
	cache.ReflectorStore
	cache.ReflectorBookmarkStore
}

// A supervisedStore tells a watchSupervisor what its stream delivers, and takes no more than it has room for.
type supervisedStore struct {
	bookmarkStore

	supervisor *watchSupervisor
	quota      *quota    // nil for no bound
	interner   *Interner // nil to share nothing
}

// Add takes a resource that the stream delivers.
func (s supervisedStore) Add(obj any) error { return s.Update(obj) }

// Update takes a resource that the stream delivers. If there is no room for it all are listed again, which shows
// whether there are so many.
func (s supervisedStore) Update(obj any) error {
	if s.quota != nil && !s.quota.add(obj) {
		s.supervisor.flood(fullError{max: s.quota.max})
		return nil
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		obj = s.interner.intern(u)
	}
	return s.bookmarkStore.Update(obj)
}

// Delete takes that a resource is gone.
func (s supervisedStore) Delete(obj any) error {
	if s.quota != nil {
		s.quota.remove(obj)
	}
	return s.bookmarkStore.Delete(obj)
}

// Replace takes over a list. It fails if there is no room for it.
func (s supervisedStore) Replace(list []any, version string) error {
	s.supervisor.listed()
	if s.quota != nil && !s.quota.replace(list) {
		err := fullError{max: s.quota.max}
		s.supervisor.flood(err)
		return err
	}
	s.supervisor.fit()
	s.interner.internAll(list)
	return s.bookmarkStore.Replace(list, version)
}

// Bookmark records how far the stream has come.
func (s supervisedStore) Bookmark(version string) error {
	s.supervisor.bookmarked()
	return s.bookmarkStore.Bookmark(version)
}
