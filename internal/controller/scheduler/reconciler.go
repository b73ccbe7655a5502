package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// Reasons of events.
const (
	reasonScheduled      event.Reason = "ScheduledApplication"
	reasonCannotSchedule event.Reason = "CannotScheduleApplication"
)

// namedMost is how many clusters that do not answer a message names.
const namedMost = 3

// errUnschedulable is the cause of errors about applications that no cluster fits.
var errUnschedulable = errors.New("application waits for a cluster")

// A Reconciler schedules applications, one at a time but for the moments in which a cluster is asked.
type Reconciler struct {
	kind       scope.Kind[*workloadv1alpha1.KubernetesApplication]
	controller string
	registry   *clusters.Registry
	local      client.Client
	record     event.Recorder
	poll       managedadapter.Poll

	mu         sync.Mutex
	chosen     map[types.NamespacedName]workloadv1alpha1.ClusterReference // those asked, or not in the cache yet
	considered map[types.NamespacedName][]informer.Owner                  // as whom those that wait are connected
}

// Reconcile schedules one application, unless it is scheduled.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.chosen, req.NamespacedName)
	app := &workloadv1alpha1.KubernetesApplication{}
	err := r.local.Get(ctx, req.NamespacedName, app)
	if apierrors.IsNotFound(err) ||
		err == nil && (meta.WasDeleted(app) || app.Spec.ClusterRef != nil || !handlers.Owns(r.registry, app)) {
		r.consider(req.NamespacedName, nil)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, errors.Wrapf(err, "cannot get KubernetesApplication %q", req.Name)
	}
	if meta.IsPaused(app) {
		return reconcile.Result{}, nil
	}
	ref, err := r.choose(ctx, app)
	if err == nil {
		err = r.assign(ctx, app, *ref)
	}
	if !errors.Is(err, errUnschedulable) {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.poll.Waiting()}, r.pend(ctx, app, err)
}

// choose returns the best cluster that answers. The cause of the error is errUnschedulable if there is none.
func (r *Reconciler) choose(ctx context.Context,
	app *workloadv1alpha1.KubernetesApplication,
) (*workloadv1alpha1.ClusterReference, error) {
	load, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	places, err := r.candidates(ctx, app, load)
	if err != nil {
		return nil, err
	}
	var (
		owners []informer.Owner
		causes []string
	)
	for _, p := range places {
		owner := r.owner(app, p)
		owners = append(owners, owner)
		r.chosen[client.ObjectKeyFromObject(app)] = p.ClusterReference
		err := r.answers(ctx, owner, app, p)
		if err == nil {
			r.consider(client.ObjectKeyFromObject(app), owners)
			return &p.ClusterReference, nil
		}
		if clusters.IsNamespaceNotAllowed(err) || informer.IsNotSynced(err) {
			continue // Nothing is told of a cluster that is not known to be allowed.
		}
		causes = append(causes, fmt.Sprintf("%s %s: %v", p.Kind, p.Name, err))
	}
	delete(r.chosen, client.ObjectKeyFromObject(app))
	r.consider(client.ObjectKeyFromObject(app), owners)
	if len(causes) == 0 {
		return nil, errors.Wrap(errUnschedulable,
			"no ProviderConfig of the namespace and no ClusterProviderConfig that allows it matches spec.clusterSelector: "+
				"label one, or set spec.clusterRef")
	}
	slices.Sort(causes)
	return nil, errors.Wrapf(errUnschedulable, "none of %d clusters that match spec.clusterSelector answers: %s",
		len(causes), managedadapter.Some(causes, namedMost, "; "))
}

// owner returns as whom an application is connected to a cluster that it may be scheduled to. No name of an application
// has a slash.
func (r *Reconciler) owner(app *workloadv1alpha1.KubernetesApplication, p clusterRef) informer.Owner {
	return informer.Owner{Controller: r.controller, NamespacedName: types.NamespacedName{
		Namespace: app.GetNamespace(), Name: app.GetName() + "/" + p.Kind + "/" + p.Name,
	}}
}

// answers returns nil if a cluster answers, to whom it knows. Meanwhile others are scheduled.
func (r *Reconciler) answers(ctx context.Context, o informer.Owner, app *workloadv1alpha1.KubernetesApplication,
	p clusterRef,
) error {
	r.mu.Unlock()
	defer r.mu.Lock()
	config := targetresource.ConfigOf(r.kind, at(app, p.ClusterReference))
	config.Visits = true
	c, err := targetresource.Connect(ctx, r.registry, o, config)
	if err != nil {
		return err
	}
	return c.Authorized(ctx, o)
}

// at returns an application as if it was scheduled to a cluster.
func at(app *workloadv1alpha1.KubernetesApplication,
	ref workloadv1alpha1.ClusterReference,
) *workloadv1alpha1.KubernetesApplication {
	there := app.DeepCopy()
	there.Spec.ClusterRef = &ref
	return there
}

// consider keeps the connections of an application to the clusters it waits for, and ends the others.
func (r *Reconciler) consider(app types.NamespacedName, owners []informer.Owner) {
	for _, o := range r.considered[app] {
		if !slices.Contains(owners, o) {
			r.registry.Forget(o)
		}
	}
	if r.considered[app] = owners; owners == nil {
		delete(r.considered, app)
	}
}

// assign schedules an application to a cluster.
func (r *Reconciler) assign(ctx context.Context, app *workloadv1alpha1.KubernetesApplication,
	ref workloadv1alpha1.ClusterReference,
) error {
	there := at(app, ref)
	if err := r.kind.Track(ctx, there); err != nil {
		return err
	}
	patch := client.MergeFromWithOptions(app, client.MergeFromWithOptimisticLock{})
	if err := r.local.Patch(ctx, there, patch, client.FieldOwner(workloadv1alpha1.FieldManagerScheduler)); err != nil {
		return errors.Wrap(err, "cannot write spec.clusterRef")
	}
	r.record.Event(app, event.Normal(reasonScheduled, fmt.Sprintf("Scheduled to %s %s", ref.Kind, ref.Name)))
	return nil
}

// pend says in the status of an application why it is not scheduled.
func (r *Reconciler) pend(ctx context.Context, app *workloadv1alpha1.KubernetesApplication, cause error) error {
	before := app.DeepCopy()
	r.record.Event(before, event.Warning(reasonCannotSchedule, cause))
	app.Status.State = workloadv1alpha1.StatePending
	app.Status.DesiredResources = int64(len(app.Spec.ResourceTemplates))
	app.Status.ObservedGeneration = app.GetGeneration()
	synced := xpv2.ReconcileError(cause)
	synced.Reason = workloadv1alpha1.ReasonUnschedulable
	app.SetConditions(synced.WithObservedGeneration(app.GetGeneration()),
		xpv2.Unavailable().WithMessage("The application is not scheduled to a cluster").
			WithObservedGeneration(app.GetGeneration()))
	return managedadapter.Save(ctx, r.local, before, app)
}
