package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// refusedError is the answer of a target that does not accept the credentials.
type refusedError struct{ error }

// Unwrap returns the answer.
func (e refusedError) Unwrap() error { return e.error }

// asked marks an answer of the target. The control plane may answer likewise, which tells nothing about the target.
func asked(err error) error {
	if apierrors.IsUnauthorized(err) {
		return refusedError{err}
	}
	return err
}

// cutOff says whether an error means that a target cannot be reached: its connection cannot be made, it does not answer, or it does
// not accept the credentials.
func cutOff(err error) bool {
	var refused refusedError
	return target.IsUnreachable(err) || target.IsInvalidConnection(err) || errors.Is(err, scope.ErrNoConfig) || errors.As(err, &refused)
}

// letsGo says whether an Object is to do without a target that cannot be reached.
func letsGo(o Object, err error) bool {
	return cutOff(err) && o.Desired().UnreachableTarget == commonv1.UnreachableTargetOrphan
}

// waiting says, in the error of an Object that has to finish with a resource, how it could do without the target.
func waiting(err error) error {
	if !cutOff(err) {
		return err
	}
	return errors.Wrap(err, "waiting for the target to finish with the resource, which spec.unreachableTarget: Orphan would leave as it is")
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
