package publishedresource

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
	"github.com/crossplane-contrib/provider-kcp/internal/subreconciler"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// A pass is what one reconcile finds out about a PublishedResource, phase by phase. Nothing outlives it. The conditions
// are functions of it.
type pass struct {
	memory *memory
	events event.Recorder

	resource  *v1alpha1.PublishedResource // nil before it is connected
	workspace *workspace                  // of the APIExport; nil before it is connected

	service     *clusters.Cluster // nil before it is connected
	sourceOwner informer.Owner    // as whom the PublishedResource uses it

	wanted  *desiredAPI   // what is to be published; nil if the source tells nothing
	refusal error         // why that cannot be published
	settled bool          // the workspace has all that is wanted
	seen    *consumerView // what the endpoints show; nil if nobody has looked

	exists, upToDate bool // what crossplane-runtime is told

	quiet  managedadapter.Reconciliation
	err    error           // why the pass failed
	synced *xpv2.Condition // what is reported of a pass that went well but not far enough
	again  time.Duration   // how soon to look again without a change, zero for no sooner than otherwise
}

// passTimeout bounds the phases of a pass.
const passTimeout = time.Minute

// A phase finds out or does a part of it.
type phase func(context.Context, *pass) error

// run takes the phases of a pass until one fails or ends it. crossplane-runtime records an error.
func (p *pass) run(ctx context.Context, phases ...phase) error {
	var steps []subreconciler.Step[*pass]
	for _, do := range phases {
		steps = append(steps, subreconciler.Step[*pass]{Do: do})
	}
	o := subreconciler.Options{Timeout: passTimeout, Record: func(event.Event) {}}
	return p.fail(subreconciler.Run(ctx, o, p, steps...))
}

type passKey struct{}

func withPass(ctx context.Context, p *pass) context.Context {
	p.quiet.Amend, p.quiet.Postpone = p.amend, p.postpone
	return managedadapter.With(context.WithValue(ctx, passKey{}, p), &p.quiet)
}

// passOf returns the pass of a reconcile.
func passOf(ctx context.Context) *pass {
	p, _ := ctx.Value(passKey{}).(*pass)
	return p
}

// fail remembers why the pass fails.
func (p *pass) fail(err error) error {
	p.err = err
	return err
}

// requeueAfter has the PublishedResource looked at again after some time at the latest. Zero asks for nothing.
func (p *pass) requeueAfter(after time.Duration) {
	if after > 0 {
		p.again = min(cmp.Or(p.again, after), after)
	}
}

// postpone reports whether a status is to be written later, and has the PublishedResource looked at again then.
func (p *pass) postpone(_, is client.Object) bool {
	if is.GetDeletionTimestamp() != nil {
		return false
	}
	wait := p.memory.wait(time.Now())
	p.requeueAfter(wait)
	return wait > 0
}

// record records an event of the PublishedResource.
func (p *pass) record(e event.Event) { p.events.Event(p.resource, e) }

// report makes condition Synced False although the pass goes well. What is reported first is the cause of the rest.
func (p *pass) report(r xpv2.ConditionReason, err error) {
	if p.synced == nil {
		c := xpv2.ReconcileError(err)
		c.Reason = r
		p.synced = &c
	}
}

// amend sets what crossplane-runtime cannot know: whether the API is ready, the reason of a failure, and that nothing
// is synced.
func (p *pass) amend(obj client.Object) {
	mg, ok := obj.(*v1alpha1.PublishedResource)
	if !ok {
		return
	}
	if !isToSync(mg) {
		mg.Status.Objects = nil // Whatever else could be found out.
	}
	if p.synced != nil && p.err == nil {
		p.set(mg, *p.synced)
	}
	synced := mg.GetCondition(xpv2.TypeSynced)
	if r := causeOf(p.err).Reason; r != "" && synced.Reason == xpv2.ReasonReconcileError {
		synced.Reason = r
		p.set(mg, synced)
	}
	if mg.GetDeletionTimestamp() != nil {
		return
	}
	switch {
	case p.seen != nil:
		p.set(mg, readyCondition(mg))
	case p.err != nil && mg.GetCondition(xpv2.TypeReady).Reason == xpv2.ReasonCreating:
		p.set(mg, xpv2.Unavailable())
	}
}

// publishedAs returns by which schemas a resource has been published, as the APIExport and the status say.
func (p *pass) publishedAs(r schema.GroupResource) []string {
	names := []string{p.workspace.schemaOf(r)}
	if was, ok := kcp.ResourceOf(p.resource.Status.ResourceSchemaName); ok && was == r {
		names = append(names, p.resource.Status.ResourceSchemaName)
	}
	return names
}

// published returns the resource that consumers see, and whether the APIExport offers it.
func (p *pass) published() (schema.GroupResource, bool) {
	if p.wanted != nil {
		return p.wanted.resource, p.workspace.offers(p.wanted.resource)
	}
	r, ok := kcp.ResourceOf(p.resource.Status.ResourceSchemaName)
	return r, ok && p.workspace.offers(r)
}

// set sets a condition.
func (p *pass) set(mg *v1alpha1.PublishedResource, c xpv2.Condition) {
	mg.SetConditions(c.WithObservedGeneration(mg.GetGeneration()))
}

// isToSync reports whether a PublishedResource has objects of consumers synced: that is to write on both sides, which
// policies that only allow to look forbid, and nothing is done for one that is paused, be it by its policies or by its
// annotation.
func isToSync(o *v1alpha1.PublishedResource) bool {
	s := o.Spec.Synchronization
	return (s == nil || s.Enabled) && policy.Writes(o.GetManagementPolicies()) && !meta.IsPaused(o)
}

// isSyncStopped reports whether no objects of consumers are to be synced.
func isSyncStopped(o *v1alpha1.PublishedResource) bool {
	return !isToSync(o) || meta.WasDeleted(o) && o.GetDeletionPolicy() != xpv2.DeletionDelete
}

// errConsumersLeft is the cause of the error if an API cannot be withdrawn as consumers use it.
var errConsumersLeft = targetresource.Because(v1alpha1.ReasonConsumersLeft,
	"waiting for consumers to delete their objects")

// errSourceMissing is the cause of the error if a service cluster does not have an API.
var errSourceMissing = errors.New("service cluster does not have the API: install it, or correct spec.resource")

// errTaken is the cause of the error if another PublishedResource has the place of this one.
var errTaken = errors.New("set another name in spec.projection, or delete this PublishedResource")

// errRefusedSchema is the cause of the error if kcp refuses a schema, which only a change of the source or of the
// projection can cure.
var errRefusedSchema = targetresource.Because(xpv2.ConditionReason(projection.InvalidSchema), "kcp rejects the schema")

// errWorkspaceDeleted is the cause of the error if nothing is made again, as the workspace is being deleted.
var errWorkspaceDeleted = targetresource.Because(v1alpha1.ReasonWorkspaceDeleted,
	"the workspace of the APIExport is being deleted: name another workspace")

// causeOf returns what an error means to a PublishedResource.
func causeOf(err error) targetresource.Cause {
	r := xpv2.ConditionReason(projection.ReasonOf(err))
	switch {
	case r != "":
		return targetresource.Cause{Reason: r, Woken: true}
	case errors.Is(err, errTaken):
		return targetresource.Cause{Reason: v1alpha1.ReasonAlreadyPublished}
	case errors.Is(err, errSourceMissing):
		return targetresource.Cause{Reason: v1alpha1.ReasonSourceMissing}
	case errors.Is(err, kcp.ErrNoExport):
		return targetresource.Cause{Reason: v1alpha1.ReasonExportMissing, Woken: true}
	case kcp.LacksIdentity(err):
		return targetresource.Cause{Reason: v1alpha1.ReasonIdentityHashMissing}
	}
	c := targetresource.CauseOf(err)
	if c.Reason == commonv1.ReasonInvalidManifest {
		c.Reason = "" // There is none.
	}
	c.Woken = c.Woken || clusters.IsUnreachable(err)
	return c
}

// managedResources has the name and the meaning of api-syncagent's only metric, so that dashboards go on.
var managedResources = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "sync_agent_published_resource", Help: "PublishedResources that this provider reconciles.",
})

func init() { //nolint:gochecknoinits // So are metrics registered.
	metrics.Registry.MustRegister(managedResources)
}

// A memory is what is known of one PublishedResource from one reconcile to the next. One reconcile runs at a time.
type memory struct {
	endpoints   []string    // URLs that it is connected to
	source      knownSource // of what it publishes
	projected   projected   // what its spec makes of its source: to project takes longer than all else
	projectedAs string      // the spec and the source that this is of
	compiled    string      // the spec that last compiled
	written     time.Time   // when its status was last written
	published   time.Time   // when the APIExport has last been written for it
	related     map[apiAt]objectsync.Resource
	relatedAs   int64     // the generation that these are of
	releasing   time.Time // since when finalizers are taken off, for one that goes without them

	holds exportedResource // what it publishes; guarded by the mutex of memories
}

// An apiAt is an API as a server, or as an APIResourceSchema, which never changes, has it.
type apiAt struct {
	schema.GroupVersionResource

	of string // URL or name
}

// remember returns what is known of an API, or asks. What has been found once is not asked for again before the spec of
// the PublishedResource is another.
func (m *memory) remember(at apiAt, ask func() (objectsync.Resource, error)) (objectsync.Resource, error) {
	found, ok := m.related[at]
	if ok {
		return found, nil
	}
	found, err := ask()
	if err == nil {
		m.related[at] = found
	}
	return found, err
}

const (
	// statusEvery is how often a status is written at most. Each write makes those who have read the PublishedResource
	// before, and update it, start anew.
	statusEvery = time.Second
	// publishedCalm is for how long no status is written after a publication, so that who has waited for that can
	// update the PublishedResource.
	publishedCalm = 2 * time.Second
)

// wait returns how long a status that differs from the last one is not to be written. Zero counts as written.
func (m *memory) wait(now time.Time) time.Duration {
	left := max(m.published.Add(publishedCalm).Sub(now), m.written.Add(statusEvery).Sub(now), 0)
	if left == 0 {
		m.written = now
	}
	return left
}

// An exportedResource is one resource of one APIExport.
type exportedResource struct {
	server, export string
	resource       schema.GroupResource
}

// Memories are those of all PublishedResources that are reconciled here, by name. Only one PublishedResource may
// publish a resource in an APIExport: the first one has it until it goes or moves.
type memories struct {
	mu sync.Mutex
	of map[string]*memory
}

func newMemories() *memories { return &memories{of: map[string]*memory{}} }

// get returns the memory of a PublishedResource, an empty one for a new one.
func (m *memories) get(name string) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of[name] == nil {
		m.of[name] = &memory{related: map[apiAt]objectsync.Resource{}}
		managedResources.Inc()
	}
	return m.of[name]
}

// forget forgets a PublishedResource, and returns the URLs of the endpoints that it was connected to.
func (m *memories) forget(name string) (endpoints []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if was, ok := m.of[name]; ok {
		endpoints = was.endpoints
		delete(m.of, name)
		managedResources.Dec()
	}
	return endpoints
}

// claim gives an exported resource to a PublishedResource, which loses the one it had, unless another one has it, and
// returns who has it.
func (m *memories) claim(r exportedResource, name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for other, its := range m.of {
		if other != name && its.holds == r {
			return other
		}
	}
	m.of[name].holds = r
	return name
}
