package publication

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/fairqueue"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const (
	// workers is how many objects of a publication are synced at a time, of one workspace at most 24.
	workers = 24 * fairqueue.Shares
	// deniedEvery is how often it is looked whether all streams are well.
	deniedEvery = 30 * time.Second
	// renewAgain is how long kcp may take at most to use a schema for streams after it has told of it.
	renewAgain = 10 * time.Second
)

// A publication syncs the objects of one revision of one PublishedResource.
type publication struct {
	worker *syncWorker
	cancel context.CancelFunc
	ctx    context.Context //nolint:containedctx // Its own life, which its streams share.
	// working ends when nothing more is to be begun.
	working context.Context //nolint:containedctx // Likewise.
	quit    context.CancelFunc
	running sync.WaitGroup
	serves  atomic.Bool // It has taken over from the one before it.
	denied  atomic.Bool // A stream was not well at the last look.
}

// newPublication compiles a spec. What the one before it knows of workspaces and objects, nil for none, it knows, too.
// It reads nothing before open, and syncs nothing before run.
func newPublication(name string, c Config, last *publication, changed func()) (*publication, error) {
	s, err := objectsync.New(c.Sync)
	if err != nil {
		return nil, err
	}
	w := &syncWorker{name: name, config: c, syncer: s}
	var known *records
	if last != nil {
		w.workspaces, w.events, known = last.worker.workspaces, last.worker.events, last.worker.objects.records
	} else {
		w.workspaces = &workspaceIndex{known: map[string]*workspace{}}
		w.events = &eventRecorder{of: map[writer]record.EventBroadcaster{}}
		known = &records{known: map[objectsync.Primary]*object{}}
	}
	w.objects = &objectIndex{
		queue: fairqueue.NewDelaying(fairqueue.Options[objectsync.Primary]{
			Workers: workers,
			Flow: func(p objectsync.Primary) (fairqueue.Flow, bool) {
				return fairqueue.Flow{Tenant: p.Cluster}, true
			},
		}),
		early:      workqueue.NewTypedItemExponentialFailureRateLimiter[objectsync.Primary](earlyFirst, earlyMost),
		failures:   workqueue.NewTypedItemExponentialFailureRateLimiter[objectsync.Primary](retryFirst, retryMost),
		workspaces: w.workspaces, changed: changed, records: known,
	}
	w.streams = &streams{
		config: c, syncer: s, endpoints: map[string]*endpoint{}, related: map[need]*informer.Table{},
	}
	w.holders = &holders{shared: c.shared, name: name, streams: w.streams}
	w.needs = &dependencies{
		streams: w.streams, objects: w.objects, needs: map[objectsync.Primary]set[need]{},
		needed: map[need][]unique.Handle[objectsync.Primary]{}, namespaces: map[string]int{},
	}
	w.streams.changed = w.needs.wake
	w.namespaces = newNamespaceCleaner(c, w.streams)
	p := &publication{worker: w}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.working, p.quit = context.WithCancel(p.ctx)
	return p, nil
}

// start has the publication take over from the one before it, nil for none, as soon as its streams are filled.
func (p *publication) start(last *publication) {
	p.open()
	p.running.Go(func() {
		p.worker.await(p.working)
		if last != nil {
			last.stop()
		}
		p.worker.objects.resume()
		p.serves.Store(true)
		p.worker.objects.changed() // Without any object, too, the status says that there are none.
		p.run()
	})
}

// open opens the streams.
func (p *publication) open() {
	s := p.worker.streams
	s.open()
	p.worker.holders.open()
	s.copies.Listen(p.worker.copyChanged)
	s.states.Listen(p.worker.stateChanged)
	p.adapt(p.worker.config.Consumers)
}

// adapt follows consumers as they come and go. Objects of workspaces are tried again whose bindings are shown again, or
// allow something else.
func (p *publication) adapt(c Consumers) {
	w := p.worker
	was, changed, allowed := w.workspaces.follow(c)
	wanted := map[string]*clusters.Cluster{}
	for _, e := range c.Endpoints {
		wanted[e.URL] = e.Cluster
	}
	w.objects.add(w.streams.leave(wanted)...) // They are looked at once more.
	for url, cluster := range wanted {
		e := w.streams.join(url, cluster, w.sourceChanged)
		go func() {
			if e.objects.Await(p.ctx) == nil { // Else what comes later is told of.
				for _, n := range e.objects.Names() {
					w.sourceChanged(e, n)
				}
				w.seekLost()
			}
		}()
	}
	if len(allowed) > 0 {
		w.retryIn(allowed)
	}
	if changed {
		w.seekLost()
	}
	if len(was.Schemas) > 0 && len(c.Schemas) > 0 && !slices.Equal(was.Schemas, c.Schemas) {
		go p.renew()
	}
}

// retryIn has the objects of logical clusters tried again.
func (w *syncWorker) retryIn(these set[string]) {
	for _, e := range w.streams.allEndpoints() {
		for _, item := range e.primaries() {
			if _, is := these[item.Cluster]; is {
				w.objects.update(item, func(*object) {})
				w.objects.retry(item)
			}
		}
	}
}

// renew has all endpoints shown by the schemas that the workspaces know by now.
func (p *publication) renew() {
	p.worker.streams.renew()
	select {
	case <-time.After(renewAgain):
		p.worker.streams.renew()
	case <-p.ctx.Done():
	}
}

// run syncs objects until the publication is stopped.
func (p *publication) run() {
	if n := p.worker.namespaces; n != nil {
		p.running.Go(func() { n.run(p.working) })
	}
	p.running.Go(p.watchStreams)
	queue := p.worker.objects.queue
	for {
		item, shutdown := queue.Get()
		if shutdown {
			return
		}
		p.running.Go(func() { // The queue bounds how many are under way.
			defer queue.Done(item)
			ctx, cancel := context.WithTimeout(p.ctx, passMax)
			defer cancel()
			if p.working.Err() == nil {
				p.worker.process(ctx, item)
			}
		})
	}
}

// watchStreams looks whether all streams are well, again and again, until nothing more is to be begun.
func (p *publication) watchStreams() {
	_ = wait.PollUntilContextCancel(p.working, deniedEvery, false, func(context.Context) (bool, error) {
		if is := p.denial() != nil; p.denied.Swap(is) != is {
			p.worker.objects.changed()
		}
		return false, nil
	})
}

// denial returns why objects, or namespaces that may be empty, are not seen as they are, nil if all are.
func (p *publication) denial() error {
	if err := p.worker.streams.denied(); err != nil {
		return err
	}
	return p.worker.namespaces.failure()
}

// status returns the counts of objects, and shows them as metrics.
func (p *publication) status() *v1alpha1.ObjectCounts {
	c := p.worker.objects.counts()
	for state, n := range map[string]int64{"synced": c.Synced, "failed": c.Failed, "orphaned": c.Orphaned} {
		objects.WithLabelValues(p.worker.name, state).Set(float64(n))
	}
	return c
}

// stop ends the publication, and waits for what is under way.
func (p *publication) stop() {
	p.quit()
	p.worker.objects.queue.ShutDown()
	if n := p.worker.namespaces; n != nil {
		n.queue.ShutDown()
	}
	p.running.Wait()
	p.cancel()
	p.worker.streams.close()
	p.worker.streams.leave(nil)
	p.worker.holders.close()
}

// A Supervisor runs the publications of PublishedResources. Its methods may be called concurrently.
type Supervisor struct {
	wake func(name string)

	mu     sync.Mutex
	of     map[string]*publication // by PublishedResources
	shared map[string]*shared      // by URL of the service cluster; they are few
	ended  bool
}

// NewSupervisor returns a Supervisor that runs nothing. Wake is called with the name of a PublishedResource whenever
// its Status changes. It must not block.
func NewSupervisor(wake func(name string)) *Supervisor {
	return &Supervisor{wake: wake, of: map[string]*publication{}, shared: map[string]*shared{}}
}

// Serve makes a Config the one that is served for a PublishedResource. It does nothing if that is served already:
// Follow tells of consumers. An error is one of objectsync.New: what was served before goes on then.
func (s *Supervisor) Serve(name string, c Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.of[name]
	if s.ended || last != nil && last.worker.config.Revision == c.Revision && last.worker.config.Service == c.Service {
		return nil
	}
	server := c.Service.Server()
	if s.shared[server] == nil {
		s.shared[server] = newShared()
	}
	c.shared = s.shared[server]
	next, err := newPublication(name, c, last, func() { s.wake(name) })
	if err != nil {
		return err
	}
	s.of[name] = next
	next.start(last)
	return nil
}

// Follow tells what is served for a PublishedResource who its consumers are by now, if anything is.
func (s *Supervisor) Follow(name string, c Consumers) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.of[name]; p != nil {
		p.adapt(c)
	}
}

// Stop ends what is served for a PublishedResource, and waits for what is under way.
func (s *Supervisor) Stop(name string) {
	s.mu.Lock()
	p := s.of[name]
	delete(s.of, name)
	s.mu.Unlock()
	if p != nil {
		p.stop()
		p.worker.events.close()
	}
	forgetMetrics(name)
}

// Status returns the counts of objects of a PublishedResource, nil if they are not known, as it is not served yet. The
// error says why a stream does not show its objects, once that has lasted: a server denies the stream, does not answer,
// or cuts it repeatedly.
func (s *Supervisor) Status(name string) (counts *v1alpha1.ObjectCounts, denied error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.of[name]; p != nil && p.serves.Load() {
		if counts = p.status(); p.denied.Load() {
			denied = p.denial()
		}
	}
	return counts, denied
}

// HoldsNone reports whether our finalizer is removed from all known objects of consumers. It is false for a
// PublishedResource that is not served to remove them.
func (s *Supervisor) HoldsNone(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of[name]
	return p != nil && p.serves.Load() && p.worker.config.RemoveFinalizers && p.worker.holdsNone()
}

// Start ends all publications when the context ends.
func (s *Supervisor) Start(ctx context.Context) error {
	<-ctx.Done()
	s.mu.Lock()
	s.ended = true
	names := slices.Collect(maps.Keys(s.of))
	s.mu.Unlock()
	var stops sync.WaitGroup
	for _, name := range names {
		stops.Go(func() { s.Stop(name) })
	}
	stops.Wait()
	return nil
}
