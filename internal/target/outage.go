package target

import (
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// outagePatience is how long a target may not answer until its patient users say so.
	outagePatience = 10 * time.Second
	// outageRate is how many patient users of targets that do not answer are woken in a second, of all targets
	// together: each of them writes to the control plane.
	outageRate = 50
)

// IsBrief reports whether an error means that the target does not answer, but has not done so for long: it may be back
// before anybody has to know. Patient owners are woken if it is not; see Registry.Patient.
func IsBrief(err error) bool {
	var u unreachableError
	return errors.As(err, &u) && !u.since.IsZero() && time.Since(u.since) < outagePatience
}

// A Health is what is known of the targets of a ProviderConfig.
type Health struct {
	// Err satisfies IsUnreachable. It is nil if no target is known not to answer.
	Err error
	// Known reports whether each target in use has been asked, and at least one is in use. Without it a nil Err says
	// nothing.
	Known bool
}

// Patient has the owners of a controller woken late when their target does not answer: after 10 s, and only a few of
// all owners in a second. Owners of other controllers are woken at once.
func (r *Registry) Patient(controller string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.patient[controller] = struct{}{}
}

// OnHealth has f called with the key of a ProviderConfig when what Health returns for it may have changed. It must not
// block.
func (r *Registry) OnHealth(f func(key string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health = append(r.health, f)
}

// Health returns what is known of the targets of the ProviderConfig of a key. It may have several, as kcp names the
// addresses of virtual workspaces.
func (r *Registry) Health(key string) Health {
	r.mu.Lock()
	defer r.mu.Unlock()
	clusters := map[*Cluster]struct{}{}
	for o := range r.configs[key] {
		if c := r.uses[o].cluster; c != nil {
			clusters[c] = struct{}{}
		}
	}
	h := Health{Known: len(clusters) > 0}
	for c := range clusters {
		h.Known = h.Known && c.breaker.isKnown()
		if err := c.breaker.answers(); IsUnreachable(err) && (h.Err == nil || isBefore(err, h.Err)) {
			h.Err = err
		}
	}
	return h
}

// isBefore gives errors an order, so that of several the same is shown each time.
func isBefore(a, b error) bool { return strings.Compare(a.Error(), b.Error()) < 0 }

// reachable reports that a cluster answers, and wakes its users.
func (r *Registry) reachable(c *Cluster) {
	r.tellHealth(c)
	r.wakeUsers(c)
}

// unreachable reports that a cluster does not answer, and wakes its users: the patient ones only if that lasts.
func (r *Registry) unreachable(c *Cluster) {
	r.tellHealth(c)
	r.wakeAll(slices.DeleteFunc(r.usersOf(c), r.isPatient))
	go r.tellOutage(c, c.breaker.downSince())
}

// tellOutage wakes the patient users of a cluster that does not answer since a time, as long as it does not.
func (r *Registry) tellOutage(c *Cluster, since time.Time) {
	lasts := time.NewTimer(time.Until(since.Add(outagePatience)))
	defer lasts.Stop()
	select {
	case <-c.breaker.ctx.Done():
		return
	case <-lasts.C:
	}
	for _, o := range r.usersOf(c) {
		if !r.isPatient(o) {
			continue
		}
		if r.outages.Wait(c.breaker.ctx) != nil || !c.breaker.isDownSince(since) {
			return
		}
		r.wake(o)
	}
}

func (r *Registry) isPatient(o informer.Owner) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.patient[o.Controller]
	return ok
}

func (r *Registry) usersOf(c *Cluster) []informer.Owner {
	r.mu.Lock()
	defer r.mu.Unlock()
	return keys(r.users[c])
}

// tellHealth tells that the health of a cluster has changed.
func (r *Registry) tellHealth(c *Cluster) {
	r.mu.Lock()
	told, changed := slices.Clone(r.health), map[string]struct{}{}
	for o := range r.users[c] {
		if key := r.uses[o].config; key != "" {
			changed[key] = struct{}{}
		}
	}
	r.mu.Unlock()
	for key := range changed {
		for _, f := range told {
			f(key)
		}
	}
}

// noteConfig tells that a ProviderConfig has a cluster from now on. The caller holds the lock.
func (r *Registry) noteConfig(key string, c *Cluster) {
	if _, known := c.configs[key]; known || key == "" {
		return
	}
	c.configs[key] = struct{}{}
	for _, f := range slices.Clone(r.health) {
		go f(key) // It may call the Registry, which is locked.
	}
}
