package scheduler

import (
	"cmp"
	"context"
	"slices"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
)

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

// candidates returns the places an application may be scheduled to, the best first. load says how many applications are
// at a place.
func (r *Reconciler) candidates(ctx context.Context, app *workloadv1alpha1.KubernetesApplication,
	load map[clusterRef]int,
) ([]clusterRef, error) {
	selector, err := metav1.LabelSelectorAsSelector(app.Spec.ClusterSelector)
	if err != nil {
		return nil, errors.Wrapf(errUnschedulable, "cannot parse spec.clusterSelector: %v", err)
	}
	own, shared := &mpcv1alpha1.ProviderConfigList{}, &mpcv1alpha1.ClusterProviderConfigList{}
	if err := r.local.List(ctx, own, client.InNamespace(app.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil, errors.Wrap(err, "cannot list ProviderConfigs")
	}
	if err := r.local.List(ctx, shared, client.UnsafeDisableDeepCopy); err != nil {
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
	if err := r.local.List(ctx, apps, client.UnsafeDisableDeepCopy); err != nil {
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
