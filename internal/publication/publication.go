package publication

import (
	"context"
	"sync"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

const (
	// workers is how many objects of a publication are synced at a time.
	workers = 32
	// retryEarly is how soon an object is looked at again of which something is not known yet.
	retryEarly = 50 * time.Millisecond
)

// A Config is what is to be served.
type Config struct {
	// Revision differs whenever anything else does but the endpoints and workspaces.
	Revision string
	Sync     objectsync.Config
	Service  *target.Cluster
	// Endpoints are those of the APIExport.
	Endpoints []Endpoint
	// Workspaces holds the paths of the workspaces that have bound the API, by their logical clusters.
	Workspaces map[string]string
}

// A publication syncs the objects of one revision of one PublishedResource.
type publication struct {
	name   string
	config Config
	syncer *objectsync.Syncer
	tells  *tells
	report *report
	cancel context.CancelFunc
	ctx    context.Context //nolint:containedctx // Its own life, which its streams share.
	quits  chan struct{}   // closed when nothing more is to be begun
	ended  chan struct{}

	queue          queue
	copies, states *watch.Table
	related        *streams
	looks          *links[look]
	holders        *holders

	mu         sync.Mutex
	endpoints  map[string]*endpoint // by URL
	clusters   map[string]*endpoint // by logical cluster
	workspaces map[string]string
}

// newPublication compiles a spec and opens the streams. Nothing is synced before run.
func newPublication(name string, c Config, changed func()) (*publication, error) {
	s, err := objectsync.New(c.Sync)
	if err != nil {
		return nil, err
	}
	p := &publication{
		name: name, config: c, syncer: s, queue: newQueue(), quits: make(chan struct{}), ended: make(chan struct{}),
		looks: newLinks[look](), holders: newHolders(), report: newReport(name, changed),
		endpoints: map[string]*endpoint{}, clusters: map[string]*endpoint{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.tells = newTells(p.clientOf)
	p.related = newStreams(p.openRelated)
	p.copies = c.Service.Watches().Table(watch.Interest{
		Resource: c.Sync.Primary.Service.GroupVersionResource, Scope: watch.ScopeSelector,
		Selector: v1alpha1.LabelKeyAgentName + "=" + c.Sync.Agent,
	}, watch.TableOptions{Changed: p.copyChanged, Key: objectsync.KeyOf})
	p.states = c.Service.Watches().Table(watch.Interest{
		Resource: objectsync.Secrets, Scope: watch.ScopeSelector, Selector: objectsync.LabelState + "=true",
		NamespacedName: types.NamespacedName{Namespace: c.Sync.StateNamespace},
	}, watch.TableOptions{Changed: func(n types.NamespacedName) { p.wake(look{"", objectsync.Secrets, n}) }})
	p.adapt(c)
	return p, nil
}

// openRelated opens a stream of related resources.
func (p *publication) openRelated(k streamKey) *watch.Table {
	if k.endpoint == "" {
		return p.config.Service.Watches().Table(
			watch.Interest{Resource: k.resource, NamespacedName: types.NamespacedName{Namespace: k.namespace}, Scope: watch.ScopeAll},
			watch.TableOptions{Changed: func(n types.NamespacedName) { p.wake(look{"", k.resource, n}) }},
		)
	}
	p.mu.Lock()
	e := p.endpoints[k.endpoint]
	p.mu.Unlock()
	return e.cluster.Watches().Table(watch.Interest{Resource: k.resource, Scope: watch.ScopeWildcard}, watch.TableOptions{
		Changed: func(n types.NamespacedName) {
			at := primaryOf(n)
			p.wake(look{at.Cluster, k.resource, at.NamespacedName})
		},
	})
}

// adapt follows endpoints as they come and go, and workspaces.
func (p *publication) adapt(c Config) {
	wanted := map[string]*target.Cluster{}
	for _, e := range c.Endpoints {
		wanted[e.URL] = e.Cluster
	}
	p.mu.Lock()
	p.workspaces = c.Workspaces
	var gone []*endpoint
	for url, e := range p.endpoints {
		if wanted[url] == e.cluster {
			delete(wanted, url)
			continue
		}
		gone = append(gone, e)
		delete(p.endpoints, url)
	}
	p.mu.Unlock()
	for _, e := range gone {
		e.objects.Close()
		p.related.closeAll(e.url)
	}
	for url, cluster := range wanted {
		p.join(url, cluster)
	}
}

// join opens the streams of an endpoint.
func (p *publication) join(url string, cluster *target.Cluster) {
	e := &endpoint{url: url, cluster: cluster, clients: map[string]dynamic.Interface{}}
	e.objects = cluster.Watches().Table(
		watch.Interest{Resource: p.config.Sync.Primary.Workspace.GroupVersionResource, Scope: watch.ScopeWildcard},
		watch.TableOptions{Changed: func(n types.NamespacedName) { p.enqueue(e, n) }},
	)
	p.mu.Lock()
	p.endpoints[url] = e
	p.mu.Unlock()
	for _, pair := range p.config.Sync.Related {
		p.related.get(streamKey{endpoint: url, resource: pair.Workspace.GroupVersionResource})
	}
	go func() {
		if e.objects.Await(p.ctx) != nil {
			return // What comes later is told of.
		}
		for _, n := range e.objects.Names() {
			p.enqueue(e, n)
		}
	}()
}

// enqueue adds an object of an endpoint to the queue.
func (p *publication) enqueue(e *endpoint, n types.NamespacedName) {
	item := primaryOf(n)
	p.mu.Lock()
	p.clusters[item.Cluster] = e
	p.mu.Unlock()
	p.queue.Add(item)
}

// wake adds to the queue who has looked at something, or at all of its namespace.
func (p *publication) wake(l look) {
	for _, item := range p.looks.of(l) {
		p.queue.Add(item)
	}
	l.Name = ""
	for _, item := range p.looks.of(l) {
		p.queue.Add(item)
	}
}

// copyChanged adds to the queue whose copy has changed.
func (p *publication) copyChanged(n types.NamespacedName) {
	p.wake(look{"", p.config.Sync.Primary.Service.GroupVersionResource, n})
	u := p.copies.Get(n)
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
}

// learn reads from its state which related objects an object holds.
func (p *publication) learn(item objectsync.Primary) {
	state, err := objectsync.ReadState(p.states.Get(p.syncer.StateOf(item)))
	if err != nil {
		return // Sync tells.
	}
	var all []objectsync.Holding
	for _, r := range state.Records() {
		all = append(all, objectsync.Holding{Primary: item, Record: r})
	}
	p.holders.add(item, all)
}

// run syncs objects until the publication is stopped.
func (p *publication) run() {
	defer close(p.ended)
	var busy sync.WaitGroup
	defer busy.Wait()
	places := make(chan struct{}, workers)
	for {
		item, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		places <- struct{}{}
		busy.Go(func() {
			p.process(item)
			<-places
		})
	}
}

// stop ends the publication and waits for what is under way. It has to be running, or never to run.
func (p *publication) stop(running bool) {
	close(p.quits)
	p.queue.ShutDown()
	if running {
		<-p.ended
	}
	p.cancel()
	p.copies.Close()
	p.states.Close()
	p.adapt(Config{})
	p.related.closeNamespaces()
	p.tells.stop()
	p.report.stop()
}

func (p *publication) process(item objectsync.Primary) {
	defer p.queue.Done(item)
	select {
	case <-p.quits:
		return
	default:
	}
	begun := time.Now()
	err := p.sync(item)
	early := watch.IsNotSynced(err)
	switch {
	case err == nil:
		p.queue.Forget(item)
	case early:
		p.queue.AddAfter(item, retryEarly)
	default:
		p.queue.AddRateLimited(item)
	}
	if !early && !apierrors.IsConflict(err) && !errors.Is(err, objectsync.ErrEnding) {
		p.report.note(item, p.nameOf(item.Cluster), err, time.Since(begun))
	}
}

// nameOf returns the path of a workspace or, if it is not known, the name of its logical cluster.
func (p *publication) nameOf(cluster string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if path := p.workspaces[cluster]; path != "" {
		return path
	}
	return cluster
}

// whereIs returns the endpoint and path of a workspace, nil if no object of it has been seen.
func (p *publication) whereIs(cluster string) (e *endpoint, path string, bound bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	path, bound = p.workspaces[cluster]
	return p.clusters[cluster], path, bound
}

func (p *publication) clientOf(cluster string) (dynamic.Interface, error) {
	e, _, _ := p.whereIs(cluster)
	if e == nil {
		return nil, errors.Errorf("no endpoint shows logical cluster %q", cluster)
	}
	return e.client(cluster)
}

// errNoPath means that the path of a workspace is needed and not known yet.
var errNoPath = errors.New("the path of the workspace is not known yet")

// sync syncs one object.
func (p *publication) sync(item objectsync.Primary) error {
	e, path, bound := p.whereIs(item.Cluster)
	if e == nil {
		return nil
	}
	source := e.objects.Get(inCluster(item.Cluster, item.NamespacedName))
	if err := e.objects.Ready(); err != nil {
		return err
	}
	if source != nil && path == "" && p.config.Sync.Spec.EnableWorkspacePaths {
		return errNoPath
	}
	client, err := e.client(item.Cluster)
	if err != nil {
		return err
	}
	at := &pass{publication: p, looks: set[look]{}, streams: set[streamKey]{}}
	workspace := &side{pass: at, client: client, endpoint: e, cluster: item.Cluster}
	in := objectsync.Input{
		Workspace: objectsync.Workspace{Side: workspace.of(), Cluster: item.Cluster, Path: path},
		Service:   (&side{pass: at, client: p.config.Service.Dynamic()}).of(),
		Holders:   p.holders, Object: item.NamespacedName,
	}
	if source == nil {
		return p.lost(item, in, bound)
	}
	res, err := p.syncer.Sync(p.ctx, in)
	p.looks.set(item, at.looks)
	p.related.need(item, at.streams)
	p.holders.add(item, res.Related)
	if err == nil {
		p.holders.set(item, res.Related)
		p.learn(item) // What is not related any more may still have to go.
	}
	p.tells.tell(item, source, res.Events)
	return err
}

// lost gives up an object that is not there any more. A copy that is left of it is deleted, if the server confirms that the object is gone.
func (p *publication) lost(item objectsync.Primary, in objectsync.Input, bound bool) error {
	if bound && p.left(item) {
		_, err := in.Workspace.Writer.Live(p.ctx, p.syncer.RefOf(item))
		if !apierrors.IsNotFound(err) {
			return err // If it is there the stream will tell.
		}
		res, err := p.syncer.Release(p.ctx, in)
		if err != nil || res.Waiting != "" {
			return err
		}
	}
	p.looks.set(item, nil)
	p.related.need(item, nil)
	p.holders.set(item, nil)
	p.report.forget(item)
	p.tells.forget(item)
	return nil
}

// left says whether there is a copy or a state of an object.
func (p *publication) left(item objectsync.Primary) bool {
	if p.states.Get(p.syncer.StateOf(item)) != nil {
		return true
	}
	id := objectsync.Identity{NamespacedName: item.NamespacedName, Cluster: item.Cluster}
	for _, u := range p.copies.Keyed(id.Key()) {
		if isOf(u, p.config.Sync.Primary.Workspace) {
			return true
		}
	}
	return false
}

// isOf says whether a copy is of an object of a kind. One that does not tell its kind is not.
func isOf(u *unstructured.Unstructured, r objectsync.Resource) bool {
	return u.GetAnnotations()[objectsync.AnnotationKind] == r.GroupVersionResource.GroupVersion().WithKind(r.Kind).GroupKind().String()
}
