package publication

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/fairqueue"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

const (
	// workers is how many objects of a publication are synced at a time, of one workspace at most 24.
	workers = 24 * fairqueue.Shares
	// passMax bounds one sync of one object: a little more than the 30 s that servers give a webhook at most.
	passMax = 35 * time.Second
)

// A Config is what is to be served.
type Config struct {
	Consumers

	// Revision differs whenever anything else does but the consumers.
	Revision string
	Sync     objectsync.Config
	Service  *target.Cluster
	// RemoveFinalizers has finalizers taken off the objects of consumers, and nothing synced.
	RemoveFinalizers bool

	shared *shared // by all publications of the service cluster
}

// A publication syncs the objects of one revision of one PublishedResource.
type publication struct {
	name    string
	changed func() // says that what the status tells has changed
	config  Config
	syncer  *objectsync.Syncer
	events  *eventRecorder
	cancel  context.CancelFunc
	ctx     context.Context //nolint:containedctx // Its own life, which its streams share.
	// working ends when nothing more is to be begun.
	working context.Context //nolint:containedctx // Likewise.
	quit    context.CancelFunc
	ended   chan struct{}

	queue          workqueue.TypedDelayingInterface[objectsync.Primary]
	copies, states *informer.Table
	needs          *index[need]
	rights         rate.Sometimes // when objects are tried again that lacked rights
	holders        *holders
	leftNamespaces workqueue.TypedRateLimitingInterface[string]
	looks          singleflight.Group // at bindings, by logical cluster or URL of the endpoint
	denied         atomic.Bool        // A stream was not well at the last look.

	mu         sync.Mutex
	consumers  Consumers
	endpoints  map[string]*endpoint           // by URL
	workspaces map[string]*workspace          // by logical cluster
	objects    map[objectsync.Primary]*object // those of which anything is there
	refused    map[objectsync.Primary]refuser // those that have been refused at their last try
	related    map[need]*informer.Table       // streams of related resources
	restored   bool                           // kcp was, while the publication ran
}

// newPublication compiles a spec. It needs a recorder of events. Nothing is known before open, and nothing is synced
// before run.
func newPublication(name string, c Config, changed func()) (*publication, error) {
	s, err := objectsync.New(c.Sync)
	if err != nil {
		return nil, err
	}
	p := &publication{
		name: name, config: c, syncer: s, changed: changed, ended: make(chan struct{}),
		queue: fairqueue.NewDelaying(fairqueue.Options[objectsync.Primary]{
			Workers: workers,
			Lane:    func(p objectsync.Primary) fairqueue.Lane { return fairqueue.Lane{Tenant: p.Cluster} },
		}),
		needs: newIndex[need](), rights: rate.Sometimes{Interval: rightsEvery},
		holders: c.shared.holdersOf(name), leftNamespaces: newLeftNamespaces(),
		endpoints: map[string]*endpoint{}, workspaces: map[string]*workspace{},
		objects: map[objectsync.Primary]*object{}, refused: map[objectsync.Primary]refuser{},
		related: map[need]*informer.Table{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.working, p.quit = context.WithCancel(p.ctx)
	return p, nil
}

// open opens the streams.
func (p *publication) open() {
	c := p.config
	p.copies = c.Service.Watches().Table(informer.Interest{
		Resource: c.Sync.Primary.Service.GroupVersionResource, Stream: informer.StreamBySelector,
		Selector: v1alpha1.LabelKeyAgentName + "=" + c.Sync.Agent,
	}, objectsync.KeyOf)
	p.states = c.Service.Watches().Table(informer.Interest{
		Resource: objectsync.Secrets, Stream: informer.StreamBySelector, Selector: objectsync.LabelState + "=true",
		NamespacedName: types.NamespacedName{Namespace: c.Sync.StateNamespace},
	}, objectsync.StateKeyOf)
	p.holders.follow(p.copies)
	p.copies.Listen(p.copyChanged)
	p.states.Listen(p.stateChanged)
	p.adapt(c.Consumers)
}

// stateChanged records what a state tells, and adds to the queue the objects that have read it. The object that has
// just written it is not one of them: its own write must not end its backoff.
func (p *publication) stateChanged(n types.NamespacedName) {
	p.config.shared.note(n, p.states.Get)
	u := p.states.Get(n)
	for _, item := range p.needs.of(lookAt(n, "", objectsync.Secrets)) {
		own := false
		p.update(item, func(o *object) { own = u != nil && o.stateVersion == u.GetResourceVersion() })
		if !own {
			p.queue.Add(item)
		}
	}
}

// copyChanged adds to the queue whose copy has changed.
func (p *publication) copyChanged(n types.NamespacedName) {
	p.wake(lookAt(n, "", p.config.Sync.Primary.Service.GroupVersionResource))
	if item, ok := sourceOf(p.copies.Get(n)); ok {
		p.add(item)
	}
}

// await waits until all streams are filled or refused, and reads from the states who holds which related objects. What
// has been left behind still holds its own.
func (p *publication) await() {
	_ = p.copies.Await(p.ctx) // Who looks at it is told of the error.
	_ = p.states.Await(p.ctx)
	for _, n := range p.states.Names() {
		p.config.shared.note(n, p.states.Get)
	}
	for _, e := range p.allEndpoints() {
		_ = e.objects.Await(p.ctx)
		for _, n := range e.objects.Names() {
			p.learn(primaryOf(n))
		}
	}
	for _, n := range p.copies.Names() {
		u := p.copies.Get(n)
		if item, ok := sourceOf(u); ok {
			p.noteOrphan(item, p.isOrphan(u))
			p.learn(item)
			p.add(item)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for cluster := range p.workspaces {
		p.forgetWorkspace(cluster) // It was inherited, and has nothing left.
	}
}

// run syncs objects until the publication is stopped.
func (p *publication) run() {
	defer close(p.ended)
	var busy sync.WaitGroup
	busy.Go(p.sweep)
	busy.Go(p.revisit)
	busy.Go(p.probe)
	defer busy.Wait()
	for {
		item, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		busy.Go(func() { p.process(item) }) // The queue bounds how many are under way.
	}
}

// stop ends the publication and waits for what is under way. It has to be running, or never to run.
func (p *publication) stop(running bool) {
	p.halt(running)
	p.closeStreams()
}

// halt ends all syncs and waits for what is under way.
func (p *publication) halt(running bool) {
	p.quit()
	p.queue.ShutDown()
	p.leftNamespaces.ShutDown()
	if running {
		<-p.ended
	}
}

// closeStreams closes all that a publication holds that has been stopped.
func (p *publication) closeStreams() {
	p.cancel()
	p.copies.Close()
	p.states.Close()
	p.adapt(Consumers{})
	p.closeRelated("")
	p.holders.close()
	forgetCounts(p.name)
}
