package object

import (
	"context"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// messageWaiting is what a deleted Object says that has to finish with a resource which it cannot reach.
const messageWaiting = "waiting for the target to finish with the resource, " +
	"which spec.unreachableTarget: Orphan would leave as it is"

// releasesResource reports whether an Object is to do without a target that cannot be reached.
func releasesResource(o Object, err error) bool {
	return targetresource.MayOrphan(err) && o.Desired().UnreachableTarget == commonv1.UnreachableTargetOrphan
}

// waiting says, in the error of an Object that has to finish with a resource, how it could do without the target.
func waiting(err error) error {
	if !targetresource.IsCutOff(err) {
		return err
	}
	return errors.Wrap(err, messageWaiting)
}

// A briefError is an error about a target that does not answer, without what was tried: one retry comes further than
// another, and a condition that changes is a write.
type briefError struct {
	error

	message string
}

// Error says what the target does.
func (e briefError) Error() string { return e.message }

// Unwrap returns the whole error.
func (e briefError) Unwrap() error { return e.error }

// brief returns a briefError if an error is about a target that does not answer, and the error itself if not.
func brief(err error) error {
	message := target.UnreachableMessage(err)
	if message == "" {
		return err
	}
	if before, _, waits := strings.Cut(err.Error(), messageWaiting); waits {
		message = before + messageWaiting + ": " + message
	}
	return briefError{error: err, message: message}
}

// unreachableMessage returns what condition Synced of an Object says of an error if that is about a target that does
// not answer, and nothing otherwise. crossplane-runtime would add what was tried.
func unreachableMessage(o client.Object, err error) string {
	var b briefError
	if !errors.As(err, &b) {
		return ""
	}
	if meta.WasDeleted(o) && !strings.Contains(b.message, messageWaiting) {
		return messageWaiting + ": " + b.message
	}
	return b.message
}

// nowhere is the client of a deleted Object that does without its target: there is nothing left to delete.
func nowhere() managed.ExternalClient {
	return managed.ExternalClientFns{
		ObserveFn: func(context.Context, resource.Managed) (managed.ExternalObservation, error) {
			return managed.ExternalObservation{}, nil
		},
		DisconnectFn: func(context.Context) error { return nil },
	}
}

// suppressed returns the error of a pass, or a silent one if the target has been unreachable for less than 10 s.
func (p *pass) suppressed(err error) error {
	last, ok := p.quiet.Last().(Object)
	if !ok {
		return err
	}
	return targetresource.SuppressBriefOutage(err, last)
}

// keepConditions restores the conditions from before the pass. crossplane-runtime does not requeue every conflict
// silently.
func (p *pass) keepConditions(o Object) {
	last, ok := p.quiet.Last().(Object)
	if !ok {
		return
	}
	kept := []xpv2.ConditionType{xpv2.TypeSynced}
	if !meta.WasDeleted(o) {
		kept = append(kept, xpv2.TypeReady)
	}
	for _, t := range kept {
		was := last.GetCondition(t)
		if was.Reason == "" {
			o.RemoveCondition(t)
			continue
		}
		o.SetConditions(was)
	}
}

// An outageRecorder drops events about unreachable targets on Objects that have been synced before. The ProviderConfig
// has one event for all of them.
type outageRecorder struct{ next event.Recorder }

// Event records an event.
func (r outageRecorder) Event(obj runtime.Object, e event.Event) {
	o, ok := obj.(resource.Conditioned)
	if ok && e.Type == event.TypeWarning && targetresource.WasSynced(o) &&
		strings.Contains(e.Message, target.ErrUnreachable.Error()) {
		return
	}
	r.next.Event(obj, e)
}

// WithAnnotations returns a recorder that adds annotations to each event.
func (r outageRecorder) WithAnnotations(keysAndValues ...string) event.Recorder {
	return outageRecorder{next: r.next.WithAnnotations(keysAndValues...)}
}
