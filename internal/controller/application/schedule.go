package application

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// clustersMost is how many clusters that do not answer a message names.
const clustersMost = 3

// errUnschedulable is the cause of errors about applications that no cluster fits.
var errUnschedulable = targetresource.Because(workloadv1alpha1.ReasonUnschedulable, "application waits for a cluster")

// schedule chooses a cluster for an application that has none, one application at a time but for the moments in which a
// cluster is asked.
func (r *Reconciler) schedule(ctx context.Context, p *pass) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := client.ObjectKeyFromObject(p.app)
	delete(r.chosen, key)
	if p.app.Spec.ClusterRef != nil {
		r.consider(key, nil)
		return nil
	}
	ref, err := r.choose(ctx, p.app)
	if err != nil {
		return err
	}
	there := at(p.app, *ref)
	if err := r.Kind.Track(ctx, there); err != nil {
		return err
	}
	patch := client.MergeFromWithOptions(p.app, client.MergeFromWithOptimisticLock{})
	if err := r.Local.Patch(ctx, there, patch, client.FieldOwner(workloadv1alpha1.FieldManagerScheduler)); err != nil {
		return errors.Wrap(err, "cannot write spec.clusterRef")
	}
	r.Events.Event(p.app, event.Normal(reasonScheduled, fmt.Sprintf("Scheduled to %s %s", ref.Kind, ref.Name)))
	p.app, p.before = there, there.DeepCopy()
	return nil
}

// choose returns the best cluster that answers. The cause of the error is errUnschedulable if there is none.
func (r *Reconciler) choose(ctx context.Context, app *application) (*workloadv1alpha1.ClusterReference, error) {
	found, err := r.candidates(ctx, app)
	if err != nil {
		return nil, err
	}
	var (
		key    = client.ObjectKeyFromObject(app)
		owners []informer.Owner
		causes []string
	)
	for _, p := range found {
		// See handlers.Targets.
		owner := r.Owner(types.NamespacedName{Namespace: key.Namespace, Name: key.Name + "/" + p.Kind + "/" + p.Name})
		owners = append(owners, owner)
		r.chosen[key] = p.ClusterReference
		there := at(app, p.ClusterReference)
		err := r.answers(ctx, owner, there)
		if err == nil {
			r.consider(key, owners)
			return &p.ClusterReference, nil
		}
		if clusters.IsNamespaceNotAllowed(err) || informer.IsNotSynced(err) {
			continue // Nothing is told of a cluster that is not known to be allowed.
		}
		causes = append(causes, fmt.Sprintf("%s %s: %s", p.Kind, p.Name, targetresource.Synced(there, err).Message))
	}
	delete(r.chosen, key)
	r.consider(key, owners)
	if len(causes) == 0 {
		return nil, errors.Wrap(errUnschedulable,
			"no ProviderConfig of the namespace and no ClusterProviderConfig that allows it matches spec.clusterSelector: "+
				"label one, or set spec.clusterRef")
	}
	slices.Sort(causes)
	return nil, errors.Wrapf(errUnschedulable, "none of %d clusters that match spec.clusterSelector responds: %s",
		len(causes), managedadapter.Some(causes, clustersMost, "; "))
}

// answers returns nil if the cluster of an application answers, to whom it knows. Meanwhile others are scheduled.
func (r *Reconciler) answers(ctx context.Context, o informer.Owner, there *application) error {
	r.mu.Unlock()
	defer r.mu.Lock()
	config := targetresource.ConfigOf(r.Kind, there)
	config.Visits = true
	c, err := targetresource.Connect(ctx, r.Registry, o, config)
	if err != nil {
		return err
	}
	return c.Authorized(ctx)
}

// at returns an application as if it was scheduled to a cluster.
func at(app *application, ref workloadv1alpha1.ClusterReference) *application {
	there := app.DeepCopy()
	there.Spec.ClusterRef = &ref
	return there
}

// consider keeps the connections of an application to the clusters it waits for, and ends the others.
func (r *Reconciler) consider(app types.NamespacedName, owners []informer.Owner) {
	for _, o := range r.considered[app] {
		if !slices.Contains(owners, o) {
			r.Registry.Forget(o)
		}
	}
	if r.considered[app] = owners; owners == nil {
		delete(r.considered, app)
	}
}

// A candidate is the ProviderConfig of a cluster, and how many applications are scheduled to it.
type candidate struct {
	workloadv1alpha1.ClusterReference

	load int
}

// candidates returns the clusters an application may be scheduled to, the best first.
func (r *Reconciler) candidates(ctx context.Context, app *application) ([]candidate, error) {
	selector, err := metav1.LabelSelectorAsSelector(app.Spec.ClusterSelector)
	if err != nil {
		return nil, errors.Wrapf(errUnschedulable, "cannot parse spec.clusterSelector: %v", err)
	}
	load, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	own, shared := &mpcv1alpha1.ProviderConfigList{}, &mpcv1alpha1.ClusterProviderConfigList{}
	if err := r.Local.List(ctx, own, client.InNamespace(app.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil, errors.Wrap(err, "cannot list ProviderConfigs")
	}
	if err := r.Local.List(ctx, shared, client.UnsafeDisableDeepCopy); err != nil {
		return nil, errors.Wrap(err, "cannot list ClusterProviderConfigs")
	}
	var found []candidate
	add := func(kind string, o client.Object) {
		if o.GetDeletionTimestamp() == nil && selector.Matches(labels.Set(o.GetLabels())) {
			ref := workloadv1alpha1.ClusterReference{Kind: kind, Name: o.GetName()}
			found = append(found, candidate{ClusterReference: ref, load: load[r.Kind.Key(at(app, ref))]})
		}
	}
	for i := range own.Items {
		add(mpcv1alpha1.ProviderConfigGroupVersionKind.Kind, &own.Items[i])
	}
	for i := range shared.Items {
		add(mpcv1alpha1.ClusterProviderConfigGroupVersionKind.Kind, &shared.Items[i])
	}
	rank(found)
	return found, nil
}

// rank sorts candidates by load. Of equals those of the namespace come first, and then the order is that of names.
func rank(found []candidate) {
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.load, b.load), -cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

// load counts the applications by the keys of their ProviderConfigs.
func (r *Reconciler) load(ctx context.Context) (map[string]int, error) {
	apps := &workloadv1alpha1.KubernetesApplicationList{}
	if err := r.Local.List(ctx, apps, client.UnsafeDisableDeepCopy); err != nil {
		return nil, errors.Wrap(err, "cannot list KubernetesApplications")
	}
	load := map[string]int{}
	for i := range apps.Items {
		app := &apps.Items[i]
		if chosen, ok := r.chosen[client.ObjectKeyFromObject(app)]; ok && app.Spec.ClusterRef == nil {
			app = at(app, chosen)
		}
		if app.Spec.ClusterRef != nil {
			load[r.Kind.Key(app)]++
		}
	}
	return load, nil
}

// waiting wakes all applications that wait for a cluster and may use a ProviderConfig.
func (r *Reconciler) waiting(ctx context.Context, pc client.Object) (found []reconcile.Request) {
	apps := &workloadv1alpha1.KubernetesApplicationList{}
	if err := r.Local.List(ctx, apps, client.InNamespace(pc.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil // The cache is not there yet, and will bring all applications.
	}
	for i := range apps.Items {
		if app := &apps.Items[i]; app.Spec.ClusterRef == nil {
			found = append(found, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(app)})
		}
	}
	return found
}
