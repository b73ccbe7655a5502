package collection

import (
	"cmp"
	"context"

	"github.com/pkg/errors"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// writers is how many members of one collection are written at a time.
const writers = 10

// applyMember applies a member.
func (r *Reconciler[T]) applyMember(ctx context.Context, p *pass[T], a application) error {
	u, err := p.template.apply(a.name, a.uid, a.resource)
	if err != nil {
		return err
	}
	opts := []client.ApplyOption{client.FieldOwner(commonv1.FieldManagerCollection)}
	if a.uid != "" {
		opts = append(opts, client.ForceOwnership)
	}
	if err := r.local.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), opts...); err != nil {
		return controlPlaneError{errors.Wrapf(err, "cannot apply Object %q", a.name)}
	}
	r.written.note(p.owner.NamespacedName, a.name, write{uid: u.GetUID(), version: u.GetResourceVersion()})
	return nil
}

// deleteMember deletes the very member there is, and no successor. That it is gone is no error.
func (r *Reconciler[T]) deleteMember(ctx context.Context, p *pass[T], m member) error {
	o := r.kind.NewMember()
	o.SetNamespace(p.collection.GetNamespace())
	o.SetName(m.name)
	err := r.local.Delete(ctx, o, client.Preconditions{UID: &m.uid})
	if err != nil && !apierrors.IsNotFound(err) {
		return controlPlaneError{errors.Wrapf(err, "cannot delete Object %q", m.name)}
	}
	r.written.note(p.owner.NamespacedName, m.name, write{uid: m.uid})
	return nil
}

// inTurn calls do for each number below count, some at a time, and begins at most one other once one has failed. It
// returns the error of the lowest number: while the same ones fail, it is always the same.
func inTurn(count int, do func(i int) error) error {
	errs := make([]error, count)
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(writers)
	for i := 0; i < count && ctx.Err() == nil; i++ {
		group.Go(func() error {
			errs[i] = do(i)
			return errs[i]
		})
	}
	_ = group.Wait() // It returns the error that came first.
	return cmp.Or(errs...)
}
