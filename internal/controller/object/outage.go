package object

import (
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime"

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

// brief returns a briefError if an error is about a target that does not answer, and the error itself if not. Its
// message becomes that of condition Synced, to which crossplane-runtime would add what was tried.
func (r *reconciliation) brief(err error, deleted bool) error {
	r.message = target.UnreachableMessage(err)
	if r.message == "" {
		return err
	}
	before, _, waits := strings.Cut(err.Error(), messageWaiting)
	if waits {
		r.message = before + messageWaiting + ": " + r.message
	} else if deleted {
		r.message = messageWaiting + ": " + r.message
	}
	return briefError{error: err, message: r.message}
}

// isOutageEvent matches events about unreachable targets on Objects that have been synced before. The ProviderConfig
// has one event for all of them.
func isOutageEvent(obj runtime.Object, e event.Event) bool {
	o, ok := obj.(Object)
	return ok && e.Type == event.TypeWarning && targetresource.WasSynced(o) &&
		strings.Contains(e.Message, target.ErrUnreachable.Error())
}
