package publishedresource

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// managedResources has the name and the meaning of api-syncagent's only metric, so that dashboards go on.
var managedResources = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "sync_agent_published_resource", Help: "PublishedResources that this provider reconciles.",
})

func init() { //nolint:gochecknoinits // So are metrics registered.
	metrics.Registry.MustRegister(managedResources)
}

// reconciledNames are the names of the PublishedResources that the controller reconciles.
type reconciledNames struct {
	mu    sync.Mutex
	names sets.Set[string]
}

func (r *reconciledNames) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.names.Has(name) {
		r.names.Insert(name)
		managedResources.Inc()
	}
}

func (r *reconciledNames) remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names.Has(name) {
		r.names.Delete(name)
		managedResources.Dec()
	}
}

// selects reports whether a PublishedResource is this provider's.
func (o Options) selects(obj client.Object) bool {
	return o.Selector == nil || o.Selector.Matches(labels.Set(obj.GetLabels()))
}

// selected reports whether a PublishedResource is to be reconciled here, and counts it. One that is not selected any
// more stays as it is, finalizers included: another provider takes it over. One that cannot be read is reconciled: the
// reconcile reports what is wrong, or finishes one that is gone.
func (c *connector) selected(ctx context.Context, n types.NamespacedName) bool {
	o := &v1alpha1.PublishedResource{}
	if err := c.local.Get(ctx, n, o); err != nil {
		return true
	}
	if !c.selects(o) {
		return false
	}
	c.reconciled.add(n.Name)
	return true
}
