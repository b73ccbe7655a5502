package target

import (
	"slices"
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

// Patient has the owners of a controller woken late when their target does not answer: after 10 s, and only a few of
// all owners in a second. Owners of other controllers are woken at once.
func (r *Registry) Patient(controller string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.patient[controller] = struct{}{}
}

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
