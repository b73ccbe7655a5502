// Package apis registers every kind of the provider with a scheme.
package apis

import (
	"k8s.io/apimachinery/pkg/runtime"

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
	b := runtime.NewSchemeBuilder(
		collectionv1alpha1.AddToScheme,
		objectv1alpha1.AddToScheme,
		objectv1alpha2.AddToScheme,
		pcv1alpha1.AddToScheme,
		publishedv1alpha1.AddToScheme,
		mcollectionv1alpha1.AddToScheme,
		mobjectv1alpha1.AddToScheme,
		mpcv1alpha1.AddToScheme,
		workloadv1alpha1.AddToScheme,
	)
	return b.AddToScheme(s)
}
