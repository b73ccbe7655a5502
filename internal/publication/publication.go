package publication

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

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

	holderIndex *holderIndex // of the service cluster
}

// A publication syncs the objects of one revision of one PublishedResource.
type publication struct {
	name   string
	config Config
	syncer *objectsync.Syncer
	events *eventRecorder
	report *report
	cancel context.CancelFunc
	ctx    context.Context //nolint:containedctx // Its own life, which its streams share.
	quits  chan struct{}   // closed when nothing more is to be begun
	ended  chan struct{}

	queue          queue
	copies, states *informer.Table
	related        *streams
	namespaces     *tenantNamespaces
	watched        *dependencyIndex[watchedObject]
	holders        *holders
	namespaceLocks *namespaceLocks
	cleanup        *namespaceCleanup
	copyNamespaces *copyNamespaces
	refusals       *refusalIndex
	ownStates      *ownStates
	vainPatches    *vainPatches
	bindings       *bindingLooks

	mu             sync.Mutex
	endpoints      map[string]*endpoint // by URL
	workspaceIndex workspaceIndex
	orphans        map[types.NamespacedName]string // the logical clusters of copies that have been left behind
	shrinking      bool                            // It is about to be looked which workspaces can be forgotten.
	// Logical clusters of objects that have come since that look began, nil without one.
	arrived  set[string]
	restored bool                    // kcp was, while the publication ran
	suspects set[objectsync.Primary] // objects with copies that were not seen since then
}

// newPublication compiles a spec. Nothing is known before open, and nothing is synced before run.
func newPublication(name string, c Config, changed func()) (*publication, error) {
	s, err := objectsync.New(c.Sync)
	if err != nil {
		return nil, err
	}
	p := &publication{
		name: name, config: c, syncer: s, queue: newQueue(), quits: make(chan struct{}), ended: make(chan struct{}),
		watched: newDependencyIndex[watchedObject](), holders: c.holderIndex.open(name),
		report:    newReport(name, changed),
		endpoints: map[string]*endpoint{}, workspaceIndex: newWorkspaceIndex(), bindings: newBindingLooks(),
		orphans: map[types.NamespacedName]string{}, cleanup: newNamespaceCleanup(), copyNamespaces: newCopyNamespaces(),
		refusals: newRefusalIndex(), ownStates: newOwnStates(), vainPatches: newVainPatches(),
		namespaces: newTenantNamespaces(),
	}
	p.report.left = p.countOrphans
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.events = newEventRecorder(name, p.eventsClient)
	p.related = newStreams(p.openRelated)
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
	p.copies.Listen(p.copyChanged)
	p.states.Listen(p.stateChanged)
	p.adapt(c.Consumers)
}

// stateChanged records what a state tells, and adds to the queue the objects that have read it. The object that has
// just written it is not one of them: its own write must not end its backoff.
func (p *publication) stateChanged(n types.NamespacedName) {
	p.config.holderIndex.note(n, p.states.Get)
	writer, own := p.ownStates.writerOf(n, p.states.Get(n))
	for _, item := range p.watched.of(watchedObject{n, "", objectsync.Secrets}) {
		if !own || item != writer {
			p.queue.Add(item)
		}
	}
}

// openRelated opens a stream of related resources, nil if its endpoint has gone.
func (p *publication) openRelated(k streamKey) *informer.Table {
	if k.endpoint == "" {
		t := p.config.Service.Watches().Table(
			informer.Interest{
				Resource: k.resource, NamespacedName: types.NamespacedName{Namespace: k.namespace},
				Stream: informer.StreamBySelector,
			}, nil)
		t.Listen(func(n types.NamespacedName) { p.wake(watchedObject{n, "", k.resource}) })
		return t
	}
	p.mu.Lock()
	e := p.endpoints[k.endpoint]
	p.mu.Unlock()
	if e == nil {
		return nil
	}
	t := e.cluster.Watches().Table(informer.Interest{Resource: k.resource, Stream: informer.StreamAllWorkspaces}, nil)
	t.Listen(func(n types.NamespacedName) {
		at := primaryOf(n)
		p.wake(watchedObject{at.NamespacedName, at.Cluster, k.resource})
	})
	return t
}

// wake adds to the queue who has looked at something, or at all of its namespace.
func (p *publication) wake(l watchedObject) {
	for _, item := range p.watched.of(l) {
		p.queue.Add(item)
	}
	l.Name = ""
	for _, item := range p.watched.of(l) {
		p.queue.Add(item)
	}
}

// copyChanged adds to the queue whose copy has changed.
func (p *publication) copyChanged(n types.NamespacedName) {
	p.wake(watchedObject{n, "", p.config.Sync.Primary.Service.GroupVersionResource})
	u := p.copies.Get(n)
	p.noteOrphan(n, u)
	if u == nil {
		return
	}
	if cluster, source, ok := objectsync.SourceOf(u); ok {
		p.queue.Add(objectsync.Primary{Cluster: cluster, NamespacedName: source})
	}
}

// await waits until all streams are filled or refused, and reads from the states who holds which related objects.
func (p *publication) await() {
	_ = p.copies.Await(p.ctx) // Who looks at it is told of the error.
	_ = p.states.Await(p.ctx)
	for _, n := range p.states.Names() {
		p.config.holderIndex.note(n, p.states.Get)
	}
	p.mu.Lock()
	all := make([]*endpoint, 0, len(p.endpoints))
	for _, e := range p.endpoints {
		all = append(all, e)
	}
	p.mu.Unlock()
	for _, e := range all {
		_ = e.objects.Await(p.ctx)
		for _, n := range e.objects.Names() {
			p.learn(primaryOf(n))
		}
	}
	p.survey()
}

// survey looks at the copies there are: what has been left behind still holds its related objects.
func (p *publication) survey() {
	for _, n := range p.copies.Names() {
		u := p.copies.Get(n)
		p.noteOrphan(n, u)
		if u == nil {
			continue
		}
		if cluster, source, ok := objectsync.SourceOf(u); ok {
			p.learn(objectsync.Primary{Cluster: cluster, NamespacedName: source})
		}
	}
}

// learn reads from its state which related objects an object holds.
func (p *publication) learn(item objectsync.Primary) {
	p.holders.add(item, p.syncer.Held(item, p.stateOf(item)))
}

// stateOf returns the state of an object, nil if there is none.
func (p *publication) stateOf(item objectsync.Primary) *unstructured.Unstructured {
	id := objectsync.Identity{NamespacedName: item.NamespacedName, Cluster: item.Cluster}
	return p.syncer.ChooseState(item, p.states.Get(p.syncer.StateOf(item)), p.states.Keyed(id.Key()))
}

// run syncs objects until the publication is stopped.
func (p *publication) run() {
	defer close(p.ended)
	var busy sync.WaitGroup
	busy.Go(p.sweep)
	busy.Go(p.revisit)
	busy.Go(p.probe)
	p.seekLost()
	defer busy.Wait()
	places := make(chan struct{}, workers)
	for {
		places <- struct{}{}
		item, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		busy.Go(func() {
			p.process(item)
			<-places
		})
	}
}

// stop ends the publication and waits for what is under way. It has to be running, or never to run.
func (p *publication) stop(running bool) {
	p.halt(running)
	p.closeStreams()
}

// halt ends all syncs and waits for what is under way.
func (p *publication) halt(running bool) {
	close(p.quits)
	p.queue.ShutDown()
	p.cleanup.ShutDown()
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
	p.related.closeNamespaces()
	p.config.holderIndex.close(p.holders)
	p.report.stop()
}
