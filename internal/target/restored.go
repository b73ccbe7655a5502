package target

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// What restores are counted by.
const (
	restoredTarget       = "target"
	restoredControlPlane = "control-plane"
)

var restores = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "provider_kcp_restored_servers_total",
	Help: "How often a server was found to have gone back in its history, as after a restore of its etcd, " +
		"by what the server is.",
}, []string{"server"})

func init() { //nolint:gochecknoinits // So are metrics registered.
	metrics.Registry.MustRegister(restores)
	for _, what := range []string{restoredTarget, restoredControlPlane} {
		restores.WithLabelValues(what) // Zero is there to be seen.
	}
}

// A Restored is a cluster that has gone back in its history, as after a restore of its etcd from a backup.
type Restored struct {
	// Server is the URL of the cluster.
	Server string
	// Configs are the keys of the ProviderConfigs through which it is used.
	Configs []string
	// Owners are those who use it through a ProviderConfig.
	Owners []informer.Owner
}

// CountRestoredControlPlane counts that caches of the control plane have noticed a restore. The connections of a
// Registry count themselves.
func CountRestoredControlPlane() { restores.WithLabelValues(restoredControlPlane).Inc() }

// OnRestored has f called when a cluster other than the control plane is found to have been restored. It must
// not block.
func (r *Registry) OnRestored(f func(Restored)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.restored = append(r.restored, f)
}

// tellRestored passes on that a cluster has gone back in its history. Of the control plane its informers tell.
func (r *Registry) tellRestored(c *Cluster) {
	if c == r.local {
		return
	}
	restores.WithLabelValues(restoredTarget).Inc()
	is := Restored{Server: c.server}
	r.mu.Lock()
	tell := slices.Clone(r.restored)
	for o := range c.users {
		is.Owners = append(is.Owners, o)
		if key := r.uses[o].config; key != "" && !slices.Contains(is.Configs, key) {
			is.Configs = append(is.Configs, key)
		}
	}
	r.mu.Unlock()
	slices.Sort(is.Configs)
	for _, f := range tell {
		f(is)
	}
}
