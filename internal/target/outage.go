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

// wakeCutOff wakes the users of a cluster that does not answer: the patient ones only if that lasts.
func (r *Registry) wakeCutOff(c *Cluster) {
	since := c.breaker.look().since
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
