// Package subreconciler runs the reconcilers that are not crossplane-runtime's: a pass is a row of steps, and the first
// that fails ends it. The report at their end has another deadline, so that a pass that ran out of time can say so.
package subreconciler

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ErrStop is what a step returns to end a pass that has not failed, because something is waited for.
var ErrStop = errors.New("the reconcile ends here")

// A Step is a part of a pass P, and the reason of the event if it fails.
type Step[P any] struct {
	Failed event.Reason
	Do     func(context.Context, P) error
}

// Options of a run.
type Options struct {
	// Timeout bounds all steps together.
	Timeout time.Duration
	// Record records an event about the object of the pass.
	Record func(event.Event)
}

// Run takes the steps of a pass until one fails, and records which. Conflicts are not recorded: they mean that
// something was not seen yet.
func Run[P any](ctx context.Context, o Options, p P, steps ...Step[P]) error {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	for _, s := range steps {
		err := s.Do(ctx, p)
		switch {
		case errors.Is(err, ErrStop):
			return nil
		case err == nil:
			continue
		case !apierrors.IsConflict(err):
			o.Record(event.Warning(s.Failed, err))
		}
		return err
	}
	return nil
}
