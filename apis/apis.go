// Package apis registers every kind of the provider with a scheme.
package apis

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	collectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/collection/v1alpha1"
	objectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha1"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	mcollectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/collection/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
)

// AddToScheme registers every kind of the provider.
func AddToScheme(s *runtime.Scheme) error {
	add := func(gv schema.GroupVersion, kinds ...runtime.Object) {
		s.AddKnownTypes(gv, kinds...)
		metav1.AddToGroupVersion(s, gv)
	}
	add(collectionv1alpha1.GroupVersion, &collectionv1alpha1.ObservedObjectCollection{},
		&collectionv1alpha1.ObservedObjectCollectionList{})
	add(objectv1alpha1.GroupVersion, &objectv1alpha1.Object{}, &objectv1alpha1.ObjectList{})
	add(objectv1alpha2.GroupVersion, &objectv1alpha2.Object{}, &objectv1alpha2.ObjectList{})
	add(pcv1alpha1.GroupVersion, &pcv1alpha1.ProviderConfig{}, &pcv1alpha1.ProviderConfigList{},
		&pcv1alpha1.ProviderConfigUsage{}, &pcv1alpha1.ProviderConfigUsageList{})
	add(publishedv1alpha1.GroupVersion, &publishedv1alpha1.PublishedResource{},
		&publishedv1alpha1.PublishedResourceList{})
	add(mcollectionv1alpha1.GroupVersion, &mcollectionv1alpha1.ObservedObjectCollection{},
		&mcollectionv1alpha1.ObservedObjectCollectionList{})
	add(mobjectv1alpha1.GroupVersion, &mobjectv1alpha1.Object{}, &mobjectv1alpha1.ObjectList{})
	add(mpcv1alpha1.GroupVersion, &mpcv1alpha1.ProviderConfig{}, &mpcv1alpha1.ProviderConfigList{},
		&mpcv1alpha1.ClusterProviderConfig{}, &mpcv1alpha1.ClusterProviderConfigList{},
		&mpcv1alpha1.ProviderConfigUsage{}, &mpcv1alpha1.ProviderConfigUsageList{})
	add(workloadv1alpha1.GroupVersion, &workloadv1alpha1.KubernetesApplication{},
		&workloadv1alpha1.KubernetesApplicationList{}, &workloadv1alpha1.KubernetesApplicationResource{},
		&workloadv1alpha1.KubernetesApplicationResourceList{})
	return nil
}
