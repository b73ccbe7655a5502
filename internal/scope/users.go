package scope

import (
	"slices"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// Refs returns the keys of the ProviderConfigs of this kind that a resource refers to: the one in its spec, and the one
// through which it was last seen.
func (c Config) Refs(mg client.Object) []client.ObjectKey {
	var refs []xpv2.ProviderConfigReference
	switch u := mg.(type) {
	case interface {
		GetProviderConfigReference() *xpv2.ProviderConfigReference
	}:
		if r := u.GetProviderConfigReference(); r != nil {
			refs = append(refs, *r)
		}
	case interface{ GetProviderConfigReference() *xpv2.Reference }:
		if r := u.GetProviderConfigReference(); r != nil {
			refs = append(refs, xpv2.ProviderConfigReference{Kind: c.Kinds.Config.Kind, Name: r.Name})
		}
	}
	if o, ok := mg.(interface {
		Observed() *commonv1.ObjectObservation
	}); ok && o.Observed().ProviderConfigReference != nil {
		refs = append(refs, *o.Observed().ProviderConfigReference)
	}
	var found []client.ObjectKey
	for _, r := range refs {
		key := client.ObjectKey{Name: r.Name}
		if c.Namespaced {
			key.Namespace = mg.GetNamespace()
		}
		if r.Kind == c.Kinds.Config.Kind && !slices.Contains(found, key) {
			found = append(found, key)
		}
	}
	return found
}
