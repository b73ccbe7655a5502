package managedadapter

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Reasons crossplane-runtime gives to events that report a state rather than a change.
const (
	reasonDeleted event.Reason = "DeletedExternalResource"
	reasonPaused  event.Reason = "ReconciliationPaused"
)

// MessageMissing is what crossplane-runtime's event says, at each pass, of a resource that is missing and that policies
// allow only to observe. A condition of that has to end with it, or the event would be recorded each time.
const MessageMissing = "external resource does not exist"

const (
	// normalRate is how many Normal events a limited Recorder records each second, and normalBurst how many at once.
	normalRate  = 5
	normalBurst = 50
)

// A Recorder drops events that say what the conditions of the object, as they were before this reconcile, say already.
// Warnings are not limited.
type Recorder struct {
	next    event.Recorder
	normals *rate.Limiter
	drop    func(runtime.Object, event.Event) bool
}

// NewRecorder returns a Recorder that hands on to another.
func NewRecorder(next event.Recorder) Recorder {
	return Recorder{
		next: next, normals: rate.NewLimiter(rate.Inf, 0), drop: func(runtime.Object, event.Event) bool { return false },
	}
}

// Limited returns a Recorder that drops Normal events beyond a rate, for kinds whose objects are made by thousands at a
// time, and events that a function asks it to drop.
func (r Recorder) Limited(drop func(runtime.Object, event.Event) bool) Recorder {
	return Recorder{next: r.next, normals: rate.NewLimiter(normalRate, normalBurst), drop: drop}
}

// Event records an event about something new.
func (r Recorder) Event(obj runtime.Object, e event.Event) {
	e.Message = clip(e.Message)
	if c, ok := obj.(resource.Conditioned); ok && known(c, e) {
		return
	}
	if r.drop(obj, e) || e.Type == event.TypeNormal && !r.normals.Allow() {
		return
	}
	r.next.Event(obj, e)
}

// WithAnnotations returns a Recorder that adds annotations to each event.
func (r Recorder) WithAnnotations(keysAndValues ...string) event.Recorder {
	r.next = r.next.WithAnnotations(keysAndValues...)
	return r
}

func known(c resource.Conditioned, e event.Event) bool {
	synced := c.GetCondition(xpv2.TypeSynced)
	if e.Type == event.TypeWarning {
		return synced.Status == corev1.ConditionFalse && says(synced.Message, e.Message)
	}
	switch e.Reason {
	case reasonDeleted:
		return c.GetCondition(xpv2.TypeReady).Reason == xpv2.ReasonDeleting && synced.Status == corev1.ConditionTrue
	case reasonPaused:
		return synced.Reason == xpv2.ReasonReconcilePaused
	}
	return false
}
