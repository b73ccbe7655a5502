package target

import (
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// outagePatience is how long a target may not answer until its patient users say so.
	outagePatience = 10 * time.Second
	// outageRate is how many patient users of targets that do not answer are woken in a second, of all targets
	// together: each of them writes to the control plane.
	outageRate = 50
)

// Patient has the owners of a controller woken late when their target does not answer: after 10 s, and only a few of
// all owners in a second. Owners of other controllers are woken at once.
func (r *Registry) Patient(controller string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.patient[controller] = struct{}{}
}

// usersOf returns the users of a cluster whose controllers are patient, or are not.
func (r *Registry) usersOf(c *Cluster, patient bool) []informer.Owner {
	r.mu.Lock()
	defer r.mu.Unlock()
	var users []informer.Owner
	for o := range c.users {
		if _, is := r.patient[o.Controller]; is == patient {
			users = append(users, o)
		}
	}
	return users
}

// reachable reports that a cluster answers, and wakes its users.
func (r *Registry) reachable(c *Cluster) {
	r.tellHealth(c)
	r.wakeUsers(c)
}

// unreachable reports that a cluster does not answer, and wakes its users: the patient ones only if that lasts.
func (r *Registry) unreachable(c *Cluster) {
	since := c.breaker.look().since
	r.tellHealth(c)
	r.wakeAll(r.usersOf(c, false))
	time.AfterFunc(time.Until(since.Add(outagePatience)), func() {
		for _, o := range r.usersOf(c, true) {
			if r.outages.Wait(c.breaker.ctx) != nil || !c.breaker.look().isDownSince(since) {
				return
			}
			r.wake(o)
		}
	})
}

// isDownSince reports whether the target has not answered since a time at which it was found not to.
func (s sight) isDownSince(since time.Time) bool { return s.state == stateDown && s.since.Equal(since) }
