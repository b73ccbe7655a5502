package object

import (
	"context"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
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
