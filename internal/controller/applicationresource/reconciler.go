package applicationresource

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/subreconciler"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// passTimeout bounds the steps of a pass.
const passTimeout = time.Minute

// A Reconciler keeps resources on clusters.
type Reconciler struct {
	targetresource.Base[*resource]

	drift targetresource.Drift
}

type resource = workloadv1alpha1.KubernetesApplicationResource

// A pass is what one reconcile learns. Nothing outlives it.
type pass struct {
	resource *resource
	before   *resource // as the server last gave it
	owner    informer.Owner
	cluster  *clusters.Cluster
	remote   targetresource.Resource    // the resource of the template
	live     *unstructured.Unstructured // shared with the watch; nil if it does not exist
	looked   bool                       // live is known
	current  bool                       // the resource is as the template wants it
	missing  []string                   // names of Secrets that do not exist
	left     error                      // why what is on the cluster is left there
	retry    time.Duration              // when to look again, if earlier than the next poll
	done     bool                       // it is as good as gone

	unlabelled bool // the resource, or the copy of a Secret, does not keep our label
}

type step = subreconciler.Step[*pass]

// Reconcile reconciles one KubernetesApplicationResource.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return r.Begin(ctx, req.NamespacedName, r.forget, r.pass)
}

func (r *Reconciler) pass(ctx context.Context, o *resource) (res reconcile.Result, rerr error) {
	p := &pass{resource: o, before: o.DeepCopy(), owner: r.Owner(client.ObjectKeyFromObject(o))}
	defer func() { res, rerr = r.report(ctx, p, rerr) }()
	switch {
	case meta.WasDeleted(o):
		return reconcile.Result{}, r.run(ctx, p,
			step{Failed: reasonCannotDelete, Do: r.end},
			step{Failed: reasonCannotRelease, Do: r.release})
	case o.Spec.ClusterRef == nil:
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, r.run(ctx, p,
		step{Failed: reasonCannotConnect, Do: r.connect},
		step{Failed: reasonCannotClaim, Do: r.claim},
		step{Failed: reasonCannotPlace, Do: r.prepare},
		step{Failed: reasonCannotPropagate, Do: r.propagate},
		step{Failed: reasonCannotSubmit, Do: r.submit})
}

// run takes the steps of a pass until one fails.
func (r *Reconciler) run(ctx context.Context, p *pass, do ...step) error {
	record := func(e event.Event) { r.Events.Event(p.before, e) }
	for i, s := range do {
		do[i].Do = func(ctx context.Context, p *pass) error {
			return targetresource.SuppressBriefOutage(s.Do(ctx, p), p.before)
		}
	}
	return subreconciler.Run(ctx, subreconciler.Options{Timeout: passTimeout, Record: record}, p, do...)
}

// forget gives up all that is kept for a KubernetesApplicationResource.
func (r *Reconciler) forget(n types.NamespacedName) {
	r.Registry.Forget(r.Owner(n))
	r.drift.Forget(r.Owner(n))
}

// claim adds the finalizer and records the use of the ProviderConfig.
func (r *Reconciler) claim(ctx context.Context, p *pass) error {
	if !meta.FinalizerExists(p.resource, workloadv1alpha1.FinalizerResource) {
		err := managedadapter.PatchMetadata(ctx, r.Local, p.resource,
			func(o client.Object) { meta.AddFinalizer(o, workloadv1alpha1.FinalizerResource) })
		if err != nil {
			return targetresource.OfControlPlane(errors.Wrap(err, "cannot add finalizer"))
		}
		p.before = p.resource.DeepCopy()
	}
	if c := metav1.GetControllerOf(p.resource); c != nil &&
		c.Kind == workloadv1alpha1.ApplicationGroupVersionKind.Kind {
		return nil
	}
	if err := r.Kind.Track(ctx, p.resource); err != nil {
		return targetresource.OfControlPlane(err)
	}
	return nil
}

// connect finds the cluster.
func (r *Reconciler) connect(ctx context.Context, p *pass) (err error) {
	p.cluster, err = targetresource.Connect(ctx, r.Registry, p.owner, targetresource.ConfigOf(r.Kind, p.resource))
	return err
}

// report writes the status if it has changed, and says when to look again. Conflicts pass without a word: they mean
// that something was not seen yet.
func (r *Reconciler) report(ctx context.Context, p *pass, err error) (reconcile.Result, error) {
	if targetresource.IsSuppressed(err) {
		return reconcile.Result{RequeueAfter: r.Poll.Waiting()}, nil
	}
	if apierrors.IsConflict(err) || p.done {
		return reconcile.Result{}, err
	}
	describe(p, err)
	serr := managedadapter.Save(ctx, r.Local, p.before, p.resource)
	if managedadapter.IsTooLarge(serr) && omit(p.resource) {
		serr = managedadapter.Save(ctx, r.Local, p.before, p.resource)
	}
	if serr != nil {
		return reconcile.Result{}, serr
	}
	if err == nil && p.cluster != nil {
		p.cluster.Retries().Forget(p.owner)
	}
	if err != nil && p.cluster != nil && !targetresource.CauseOf(err).Woken {
		// The retry is put off if the cluster has failed too often lately.
		if delay := p.cluster.Retries().When(p.owner); delay > targetresource.RetryMax {
			return reconcile.Result{RequeueAfter: delay}, nil
		}
	}
	return targetresource.Next(r.Poll, err, p.retry)
}

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o targetresource.Options) error {
	base, b := targetresource.NewBase(mgr, o, scope.ApplicationResources(mgr.GetClient()), "workload")
	r := &Reconciler{Base: base}
	b = b.WatchesRawSource(handlers.Targets(o.Registry, r.Controller, 0))
	return errors.Wrapf(b.Complete(managedadapter.Reconciler(r)), "cannot set up controller %s", r.Controller)
}
