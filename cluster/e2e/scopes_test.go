package e2e_test

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
)

// shared is the namespaced scope with a ProviderConfig for all namespaces.
func shared() build.Scope {
	s := build.Namespaced()
	object := s.Object
	s.Name = "ClusterProviderConfig"
	s.Object = func(namespace, name, config string, m build.Manifest) build.Object {
		o := object(namespace, name, config, m).(*mobjectv1alpha1.Object)
		o.Spec.ProviderConfigReference = &xpv2.ProviderConfigReference{
			Kind: mpcv1alpha1.ClusterProviderConfigGroupVersionKind.Kind, Name: config,
		}
		return o
	}
	s.Config = func(_, name string, spec commonv1.ProviderConfigSpec) client.Object {
		return build.ClusterConfig(name, spec)
	}
	return s
}
