package application

import (
	"context"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/subreconciler"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

const (
	// passTimeout bounds the steps of a pass. The first writes all resources.
	passTimeout = 2 * time.Minute
	// lag is how soon an application is looked at again if the cache lacks what was just written.
	lag = 250 * time.Millisecond
)

// A Reconciler keeps the resources of applications.
type Reconciler struct {
	targetresource.Base[*application]

	mu         sync.Mutex
	chosen     map[types.NamespacedName]workloadv1alpha1.ClusterReference // of those asked, or not in the cache yet
	considered map[types.NamespacedName][]informer.Owner                  // as whom those that wait are connected
}

// A pass is what one reconcile learns. Nothing outlives it.
type pass struct {
	app     *application
	before  *application // as the server last gave it
	held    map[string]*resource
	leaving []string // names of resources that are not wanted any more and not gone yet
	failed  failures // what cannot be rendered
	lagging bool     // the cache lacks what is there
	done    bool     // it is as good as gone
}

type step = subreconciler.Step[*pass]

// Reconcile reconciles one application.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return r.Begin(ctx, req.NamespacedName, r.forget, r.pass)
}

func (r *Reconciler) pass(ctx context.Context, app *application) (res reconcile.Result, rerr error) {
	p := &pass{app: app, before: app.DeepCopy(), failed: failures{}}
	defer func() { res, rerr = r.report(ctx, p, rerr) }()
	if meta.WasDeleted(app) {
		return reconcile.Result{}, r.run(ctx, p,
			step{Failed: reasonCannotCompare, Do: r.compare},
			step{Failed: reasonCannotDelete, Do: r.deleteResources},
			step{Failed: reasonCannotRelease, Do: r.release})
	}
	return reconcile.Result{}, r.run(ctx, p,
		step{Failed: reasonCannotSchedule, Do: r.schedule},
		step{Failed: reasonCannotCompare, Do: r.compare},
		step{Failed: reasonCannotClaim, Do: r.claim},
		step{Failed: reasonCannotPrune, Do: r.prune},
		step{Failed: reasonCannotRender, Do: r.renderResources})
}

// run takes the steps of a pass until one fails.
func (r *Reconciler) run(ctx context.Context, p *pass, do ...step) error {
	record := func(e event.Event) { r.Events.Event(p.before, e) }
	return subreconciler.Run(ctx, subreconciler.Options{Timeout: passTimeout, Record: record}, p, do...)
}

// forget ends all that an application has of clusters.
func (r *Reconciler) forget(n types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.chosen, n)
	r.consider(n, nil)
	r.Registry.Forget(r.Owner(n))
}

// claim adds the finalizer, and records the use of the ProviderConfig. An application that must not use it does not
// keep it from being deleted.
func (r *Reconciler) claim(ctx context.Context, p *pass) error {
	err := targetresource.Admit(ctx, r.Registry, r.Owner(client.ObjectKeyFromObject(p.app)),
		targetresource.ConfigOf(r.Kind, p.app))
	if err != nil {
		return err
	}
	if !meta.FinalizerExists(p.app, workloadv1alpha1.FinalizerApplication) {
		add := func(o client.Object) { meta.AddFinalizer(o, workloadv1alpha1.FinalizerApplication) }
		if err := managedadapter.PatchMetadata(ctx, r.Local, p.app, add); err != nil {
			return errors.Wrap(err, "cannot add finalizer")
		}
		p.before = p.app.DeepCopy()
	}
	return r.Kind.Track(ctx, p.app)
}

// compare finds the resources that the application controls, and those with the names of its templates, which may have
// another controller, or none.
func (r *Reconciler) compare(ctx context.Context, p *pass) error {
	list := &workloadv1alpha1.KubernetesApplicationResourceList{}
	err := r.Local.List(ctx, list, client.InNamespace(p.app.GetNamespace()),
		client.MatchingFields{indexOwner: string(p.app.GetUID())}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return errors.Wrap(err, "cannot list KubernetesApplicationResources")
	}
	p.held = map[string]*resource{}
	for i := range list.Items {
		p.held[list.Items[i].GetName()] = &list.Items[i]
	}
	for _, t := range p.app.Spec.ResourceTemplates {
		held, n := &resource{}, types.NamespacedName{Namespace: p.app.GetNamespace(), Name: t.Metadata.Name}
		err := r.Local.Get(ctx, n, held, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return errors.Wrapf(err, "cannot get KubernetesApplicationResource %q", n.Name)
		}
		if err == nil {
			p.held[n.Name] = held
		}
	}
	return nil
}

// report writes the status if it has changed, and says when to look again. Conflicts pass without a word: they mean
// that something was not seen yet.
func (r *Reconciler) report(ctx context.Context, p *pass, err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) || p.done {
		return reconcile.Result{}, err
	}
	describe(p, err)
	if serr := managedadapter.Save(ctx, r.Local, p.before, p.app); serr != nil {
		return reconcile.Result{}, serr
	}
	if submitted := workloadv1alpha1.StateSubmitted; p.app.Status.State == submitted &&
		p.before.Status.State != submitted {
		r.Events.Event(p.app, event.Normal(reasonSubmitted, "Submitted all resources to the cluster"))
	}
	soon := time.Duration(0)
	if p.lagging {
		soon = lag
	}
	return targetresource.Next(r.Poll, err, soon)
}

// Reasons of events.
const (
	reasonScheduled      event.Reason = "ScheduledApplication"
	reasonCannotSchedule event.Reason = "CannotScheduleApplication"
	reasonCreated        event.Reason = "CreatedResource"
	reasonUpdated        event.Reason = "UpdatedResource"
	reasonDeleted        event.Reason = "DeletedResource"
	reasonSubmitted      event.Reason = "SubmittedApplication"
	reasonCannotClaim    event.Reason = "CannotClaim"
	reasonCannotCompare  event.Reason = "CannotCompareResources"
	reasonCannotPrune    event.Reason = "CannotPruneResources"
	reasonCannotRender   event.Reason = "CannotRenderResources"
	reasonCannotDelete   event.Reason = "CannotDeleteResources"
	reasonCannotRelease  event.Reason = "CannotRelease"
)
