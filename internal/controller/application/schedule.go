package application

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// causesMost is how many clusters that do not answer a message names.
const causesMost = 3

// errUnschedulable is the cause of errors about applications that no cluster fits.
var errUnschedulable = errors.New("application waits for a cluster")

// A clusterRef is the ProviderConfig of a cluster, seen from anywhere. Its namespace is empty for a
// ClusterProviderConfig.
type clusterRef struct {
	workloadv1alpha1.ClusterReference

	namespace string
}

// clusterRefOf returns where an application of a namespace is scheduled to.
func clusterRefOf(namespace string, ref workloadv1alpha1.ClusterReference) clusterRef {
	if ref.Kind == mpcv1alpha1.ClusterProviderConfigGroupVersionKind.Kind {
		namespace = ""
	}
	return clusterRef{ClusterReference: ref, namespace: namespace}
}

// schedule chooses a cluster for an application that has none, one application at a time but for the moments in which a
// cluster is asked.
func (r *Reconciler) schedule(ctx context.Context, p *pass) error {
	if p.app.Spec.ClusterRef != nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.chosen, client.ObjectKeyFromObject(p.app))
	ref, err := r.choose(ctx, p.app)
	if err != nil {
		return err
	}
	there := at(p.app, *ref)
	if err := r.kind.Track(ctx, there); err != nil {
		return err
	}
	patch := client.MergeFromWithOptions(p.app, client.MergeFromWithOptimisticLock{})
	if err := r.local.Patch(ctx, there, patch, client.FieldOwner(workloadv1alpha1.FieldManagerScheduler)); err != nil {
		return errors.Wrap(err, "cannot write spec.clusterRef")
	}
	p.app, p.before, p.tracked = there, there.DeepCopy(), true
	r.record.Event(p.app, event.Normal(reasonScheduled, fmt.Sprintf("Scheduled to %s %s", ref.Kind, ref.Name)))
	return nil
}

// settle ends what is kept of an application that does not wait for a cluster.
func (r *Reconciler) settle(app types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.chosen, app)
	r.consider(app, nil)
}

// choose returns the best cluster that answers. The cause of the error is errUnschedulable if there is none.
func (r *Reconciler) choose(ctx context.Context, app *application) (*workloadv1alpha1.ClusterReference, error) {
	load, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	places, err := r.candidates(ctx, app, load)
	if err != nil {
		return nil, err
	}
	var (
		key    = client.ObjectKeyFromObject(app)
		owners []informer.Owner
		causes []string
	)
	for _, p := range places {
		// No name of an application has a slash.
		owner := r.owner(types.NamespacedName{Namespace: key.Namespace, Name: key.Name + "/" + p.Kind + "/" + p.Name})
		owners = append(owners, owner)
		r.chosen[key] = p.ClusterReference
		err := r.answers(ctx, owner, at(app, p.ClusterReference))
		if err == nil {
			r.consider(key, owners)
			return &p.ClusterReference, nil
		}
		if clusters.IsNamespaceNotAllowed(err) || informer.IsNotSynced(err) {
			continue // Nothing is told of a cluster that is not known to be allowed.
		}
		causes = append(causes, fmt.Sprintf("%s %s: %v", p.Kind, p.Name, err))
	}
	delete(r.chosen, key)
	r.consider(key, owners)
	if len(causes) == 0 {
		return nil, errors.Wrap(errUnschedulable,
			"no ProviderConfig of the namespace and no ClusterProviderConfig that allows it matches spec.clusterSelector: "+
				"label one, or set spec.clusterRef")
	}
	slices.Sort(causes)
	return nil, errors.Wrapf(errUnschedulable, "none of %d clusters that match spec.clusterSelector answers: %s",
		len(causes), some(causes, causesMost, "; "))
}

// candidates returns the places an application may be scheduled to, the best first. load says how many applications are
// at a place.
func (r *Reconciler) candidates(ctx context.Context, app *application, load map[clusterRef]int) ([]clusterRef, error) {
	selector, err := metav1.LabelSelectorAsSelector(app.Spec.ClusterSelector)
	if err != nil {
		return nil, errors.Wrapf(errUnschedulable, "cannot parse spec.clusterSelector: %v", err)
	}
	own, shared := &mpcv1alpha1.ProviderConfigList{}, &mpcv1alpha1.ClusterProviderConfigList{}
	if err := r.local.List(ctx, own, client.InNamespace(app.GetNamespace())); err != nil {
		return nil, errors.Wrap(err, "cannot list ProviderConfigs")
	}
	if err := r.local.List(ctx, shared); err != nil {
		return nil, errors.Wrap(err, "cannot list ClusterProviderConfigs")
	}
	var found []clusterRef
	add := func(kind string, o client.Object) {
		if o.GetDeletionTimestamp() == nil && selector.Matches(labels.Set(o.GetLabels())) {
			found = append(found, clusterRefOf(app.GetNamespace(),
				workloadv1alpha1.ClusterReference{Kind: kind, Name: o.GetName()}))
		}
	}
	for i := range own.Items {
		add(mpcv1alpha1.ProviderConfigGroupVersionKind.Kind, &own.Items[i])
	}
	for i := range shared.Items {
		add(mpcv1alpha1.ClusterProviderConfigGroupVersionKind.Kind, &shared.Items[i])
	}
	rank(found, load)
	return found, nil
}

// rank sorts places by their load. Of equals those of the namespace come first, and then the order is that of names.
func rank(places []clusterRef, load map[clusterRef]int) {
	slices.SortFunc(places, func(a, b clusterRef) int {
		return cmp.Or(cmp.Compare(load[a], load[b]), -cmp.Compare(a.namespace, b.namespace),
			cmp.Compare(a.Name, b.Name))
	})
}

// load counts the applications at each place.
func (r *Reconciler) load(ctx context.Context) (map[clusterRef]int, error) {
	apps := &workloadv1alpha1.KubernetesApplicationList{}
	if err := r.local.List(ctx, apps); err != nil {
		return nil, errors.Wrap(err, "cannot list KubernetesApplications")
	}
	load := map[clusterRef]int{}
	for i := range apps.Items {
		app := &apps.Items[i]
		ref := app.Spec.ClusterRef
		if chosen, ok := r.chosen[client.ObjectKeyFromObject(app)]; ok && ref == nil {
			ref = &chosen
		}
		if ref != nil {
			load[clusterRefOf(app.GetNamespace(), *ref)]++
		}
	}
	return load, nil
}

// answers returns nil if the cluster answers that an application would be scheduled to, to whom it knows. Meanwhile
// others are scheduled.
func (r *Reconciler) answers(ctx context.Context, o informer.Owner, there *application) error {
	r.mu.Unlock()
	defer r.mu.Lock()
	c, err := targetresource.Connect(ctx, r.registry, o, targetresource.Config{
		Key: r.kind.Key(there), Visits: true,
		Read: func(ctx context.Context) (commonv1.Connection, error) { return r.kind.Config(ctx, there) },
	})
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
			r.registry.Forget(o)
		}
	}
	if r.considered[app] = owners; owners == nil {
		delete(r.considered, app)
	}
}

// applicationOf returns the application that is connected to a cluster as an owner.
func applicationOf(owner types.NamespacedName) types.NamespacedName {
	owner.Name, _, _ = strings.Cut(owner.Name, "/")
	return owner
}
