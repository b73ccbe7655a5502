package target

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// ErrUnauthorized means that a target has not accepted the credentials of a ProviderConfig for 10 s.
var ErrUnauthorized = errors.New("target does not accept the credentials")

// A Health is what is known of the targets of a ProviderConfig.
type Health struct {
	// Err satisfies IsUnreachable or IsInvalidConnection, or is ErrUnauthorized. It is nil if nothing is known to be
	// wrong.
	Err error
	// Known reports whether each target in use has been asked, and at least one is in use. Without it a nil Err says
	// nothing.
	Known bool
	// Server is the URL of the target, empty while nothing is connected.
	Server string
	// Version is the version of Kubernetes that the target reported last, empty if it has not.
	Version string
}

// OnHealth has f called with the key of a ProviderConfig when what Health returns for it may have changed, and whether
// the cause is a good one. It is called for each owner, so it must not block, nor call Health.
func (r *Registry) OnHealth(f func(key string, well bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health = append(r.health, f)
}

// Health returns what is known of the targets of the ProviderConfig of a key. It may have several, as kcp names the
// addresses of virtual workspaces.
func (r *Registry) Health(key string) Health {
	r.mu.Lock()
	defer r.mu.Unlock()
	clusters, invalid := map[*Cluster]struct{}{}, error(nil)
	for o := range r.configs[key] {
		if c := r.uses[o].cluster; c != nil {
			clusters[c] = struct{}{}
		}
		invalid = firstError(invalid, r.uses[o].invalid)
	}
	h := Health{Known: len(clusters) > 0}
	for c := range clusters {
		s := c.breaker.look()
		h.Known = h.Known && s.state != stateConnecting
		h.Err = firstError(h.Err, c.health())
		if c.credentials.endpoint == "" { // Else it is an address that the target has named.
			h.Server, h.Version = c.address, s.version
		}
	}
	if !h.Known && h.Err == nil {
		h.Err = invalid // One owner without credentials, such as those of its namespace, does not speak for all.
	}
	return h
}

// firstError returns the error whose text comes first, so that of several the same is shown each time.
func firstError(a, b error) error {
	if a == nil || b != nil && strings.Compare(b.Error(), a.Error()) < 0 {
		return b
	}
	return a
}

// health returns why the cluster cannot be used, nil if nothing is known to be wrong.
func (c *Cluster) health() error {
	s := c.breaker.look()
	err := s.outage()
	if err == nil && c.tokens != nil {
		err = c.tokens.Failure()
	}
	if err == nil && s.isRefused() {
		err = ErrUnauthorized
	}
	return err
}

// tellHealth reports that the health of a cluster may have changed.
func (r *Registry) tellHealth(c *Cluster) {
	well := c.health() == nil
	r.mu.Lock()
	changed := map[string]struct{}{}
	for o := range c.users {
		changed[r.uses[o].config] = struct{}{}
	}
	r.mu.Unlock()
	for key := range changed {
		r.tellHealthOf(key, well)
	}
}

// tellHealthOf reports that the health of a ProviderConfig may have changed, and whether the cause is a good one. The
// key is empty if there is none.
func (r *Registry) tellHealthOf(key string, well bool) {
	if key == "" {
		return
	}
	r.mu.Lock()
	told := slices.Clone(r.health)
	r.mu.Unlock()
	for _, f := range told {
		f(key, well)
	}
}

// noteConfig reports that a ProviderConfig has a cluster from now on. The caller holds the lock.
func (r *Registry) noteConfig(key string, c *Cluster) {
	if _, known := c.configs[key]; known || key == "" {
		return
	}
	c.configs[key] = struct{}{}
	go r.tellHealthOf(key, c.health() == nil) // It locks the Registry, which is locked.
}

// setInvalid records why an owner has no connection, nil if it has one, and reports a change of that.
func (r *Registry) setInvalid(o informer.Owner, err error) {
	r.mu.Lock()
	u := r.uses[o]
	changed := (err == nil) != (u.invalid == nil) || err != nil && err.Error() != u.invalid.Error()
	if changed {
		u.invalid = err
		r.uses[o] = u
	}
	r.mu.Unlock()
	if changed {
		r.tellHealthOf(u.config, err == nil)
	}
}

// maxAddress is how many bytes of a URL are shown. A tenant may write a kubeconfig of 1 MiB.
const maxAddress = 1 << 10

// addressOf returns a URL without credentials, query and fragment. It is cut at 1 KiB.
func addressOf(u *url.URL) string {
	a := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	return strings.ToValidUTF8(a[:min(len(a), maxAddress)], "")
}

var readyConfigs = prometheus.NewDesc("provider_kcp_providerconfig_ready",
	"Whether the target of a ProviderConfig in use answers and accepts its credentials.",
	[]string{"kind", "namespace", "name"}, nil)

// Metrics returns a collector of the health of all ProviderConfigs in use. It computes the series on each scrape, so
// that none outlives its ProviderConfig.
func (r *Registry) Metrics() prometheus.Collector { return healthCollector{r} }

type healthCollector struct{ registry *Registry }

// Describe sends the description of the metric.
func (healthCollector) Describe(ch chan<- *prometheus.Desc) { ch <- readyConfigs }

// Collect sends a metric for each ProviderConfig in use whose health is known.
func (h healthCollector) Collect(ch chan<- prometheus.Metric) {
	h.registry.mu.Lock()
	used := slices.Collect(maps.Keys(h.registry.configs))
	h.registry.mu.Unlock()
	for _, key := range used {
		health, ready := h.registry.Health(key), 0.0
		switch {
		case health.Err == nil && !health.Known:
			continue
		case health.Err == nil:
			ready = 1
		}
		kind, place, _ := strings.Cut(key, "/")
		namespace, name, _ := strings.Cut(place, "/")
		ch <- prometheus.MustNewConstMetric(readyConfigs, prometheus.GaugeValue, ready, kind, namespace, name)
	}
}
