package collection

import (
	"context"
	"sync"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// writers is how many members of one collection are written at a time.
const writers = 10

// applyMember applies a member and returns it as the control plane holds it then.
func (r *Reconciler[T]) applyMember(ctx context.Context, p *pass[T], a application) (member, error) {
	u, err := p.template.apply(a.name, a.uid, a.resource)
	if err != nil {
		return member{}, err
	}
	opts := []client.ApplyOption{client.FieldOwner(commonv1.FieldManagerCollection)}
	if a.uid != "" {
		opts = append(opts, client.ForceOwnership)
	}
	if err := r.local.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), opts...); err != nil {
		return member{}, controlPlaneError{errors.Wrapf(err, "cannot apply Object %q", a.name)}
	}
	return r.decode(p, u)
}

// decode returns what counts of a member that was read without its type.
func (r *Reconciler[T]) decode(p *pass[T], u *unstructured.Unstructured) (member, error) {
	typed := r.kind.NewMember()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed); err != nil {
		return member{}, errors.Wrapf(err, "cannot read Object %q", u.GetName())
	}
	o, ok := typed.(object)
	if !ok {
		return member{}, errors.Errorf("%T is not an Object", typed)
	}
	return memberOf(o, p.collection.GetUID(), r.kind.Ref), nil
}

// deleteMember deletes the very member there is, and no successor. That it is gone is no error.
func (r *Reconciler[T]) deleteMember(ctx context.Context, p *pass[T], m member) error {
	o := r.kind.NewMember()
	o.SetNamespace(p.collection.GetNamespace())
	o.SetName(m.name)
	err := r.local.Delete(ctx, o, client.Preconditions{UID: &m.uid})
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return controlPlaneError{errors.Wrapf(err, "cannot delete Object %q", m.name)}
}

// inTurn calls do for each number below count, some at a time, and begins no other once one has failed. It returns the
// error of the lowest number: while the same ones fail, it is always the same.
func inTurn(count int, do func(i int) error) error {
	var (
		mu     sync.Mutex
		next   int
		failed = count
		first  error
		group  sync.WaitGroup
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next <= count && first == nil
	}
	for range min(writers, count) {
		group.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				err := do(i)
				mu.Lock()
				if err != nil && i < failed {
					failed, first = i, err
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return first
}
