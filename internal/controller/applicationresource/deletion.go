package applicationresource

import (
	"context"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/subreconciler"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// deletePoll is how soon a resource that is on its way out is looked at again, if no watch tells of it earlier.
const deletePoll = 2 * time.Second

// end removes what there is on the cluster: first the resource, which may need its Secrets to the end, then these. If
// the cluster cannot be reached, spec.unreachableTarget says what becomes of it.
func (r *Reconciler) end(ctx context.Context, p *pass) error {
	if p.resource.Spec.ClusterRef == nil || !meta.FinalizerExists(p.resource, workloadv1alpha1.FinalizerResource) {
		return nil
	}
	gone, err := r.remove(ctx, p)
	switch {
	case targetresource.MayOrphan(err) && p.resource.Spec.UnreachableTarget == commonv1.UnreachableTargetOrphan:
		p.left = err
		return nil
	case targetresource.IsCutOff(err):
		return errors.Wrap(err, "waiting for the cluster to delete the resource; "+
			"to keep the resource there, set spec.unreachableTarget: Orphan")
	case err != nil:
		return err
	case !gone:
		p.retry = deletePoll
		return subreconciler.ErrStop
	}
	return nil
}

// remove deletes the resource and then the copies of Secrets, and reports whether all of it is gone.
func (r *Reconciler) remove(ctx context.Context, p *pass) (bool, error) {
	if err := r.connect(ctx, p); err != nil {
		return false, err
	}
	served, err := r.locate(ctx, p)
	if err != nil {
		return false, err
	}
	if served { // What the cluster does not serve is gone.
		if gone, err := r.withdraw(ctx, p, p.remote, reasonDeleted); err != nil || !gone {
			return false, err
		}
	}
	for _, n := range slices.Clone(p.resource.Status.Secrets) {
		if err := r.removeCopy(ctx, p, n); err != nil {
			return false, err
		}
	}
	return len(p.resource.Status.Secrets) == 0, nil
}

// locate finds out where the resource is, and reports whether the cluster serves its kind. It goes by what identifies
// the resource: deletion does not depend on a template that can be submitted.
func (r *Reconciler) locate(ctx context.Context, p *pass) (bool, error) {
	t := p.resource.Spec.Template
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": t.APIVersion, "kind": t.Kind}}
	u.SetNamespace(t.Metadata.Namespace)
	u.SetName(t.Metadata.Name)
	m, served, err := targetresource.Locate(ctx, p.cluster, u)
	p.remote = r.resourceAt(p, purposeTemplate, u, m)
	return served, err
}

// withdraw deletes a resource that we control. It reports whether the cluster has confirmed that the resource is gone.
func (r *Reconciler) withdraw(ctx context.Context, p *pass, res targetresource.Resource,
	told event.Reason,
) (bool, error) {
	live, err := res.Find(ctx, res.Labelled()...)
	if err != nil {
		return false, err
	}
	if live == nil {
		return true, nil
	}
	if !controls(p.resource, live) { // It was handed over: who has it takes over what it gives.
		_, err := res.Write(ctx, func() (*unstructured.Unstructured, error) {
			return res.Client(fieldManager(p.resource)).Leave(ctx, live)
		})
		return client.IgnoreNotFound(err) == nil, client.IgnoreNotFound(err)
	}
	if res.Purpose == purposeTemplate {
		p.live, p.looked = live, true
	}
	if live.GetDeletionTimestamp() != nil {
		return false, nil
	}
	gone, err := res.Delete(ctx, live, metav1.DeletePropagationBackground)
	if err == nil {
		r.Events.Event(p.resource, event.Normal(told, "Deleted "+name(live)+" from the cluster"))
	}
	return gone, err
}

// release removes the finalizer, and gives up all that is kept.
func (r *Reconciler) release(ctx context.Context, p *pass) error {
	if !meta.FinalizerExists(p.resource, workloadv1alpha1.FinalizerResource) {
		return nil
	}
	err := managedadapter.RemoveFinalizer(ctx, r.Local, p.resource, workloadv1alpha1.FinalizerResource)
	if err != nil {
		return targetresource.OfControlPlane(err)
	}
	r.forget(p.owner.NamespacedName)
	p.done = true
	if p.left != nil {
		r.Events.Event(p.before, event.Warning(reasonLeft, errors.Wrap(p.left, "the resource is kept on the target, so "+
			"delete it there if you do not need it")))
	}
	return nil
}
