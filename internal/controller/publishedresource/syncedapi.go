package publishedresource

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
)

// syncedAPI returns a published API on both sides: in the version that kcp stores, and in the version of the source
// that it is made of, which need not be the one that the service cluster stores or even serves.
func syncedAPI(source *apiextensionsv1.CustomResourceDefinition, p *projection.Projection) objectsync.Pair {
	i := slices.IndexFunc(p.Versions, func(v projection.Version) bool { return v.Storage })
	if i < 0 {
		return objectsync.Pair{}
	}
	return objectsync.Pair{
		Workspace: resourceOf(p.CRD, p.Versions[i].Name), Service: resourceOf(source, p.Versions[i].Source),
		PlatformFields: p.PlatformFields,
	}
}

// resourceOf returns a version of what a CustomResourceDefinition defines.
func resourceOf(d *apiextensionsv1.CustomResourceDefinition, version string) objectsync.Resource {
	v := projection.VersionOf(d, version)
	return objectsync.Resource{
		GroupVersionResource: schema.GroupVersionResource{
			Group: d.Spec.Group, Version: version, Resource: d.Spec.Names.Plural,
		},
		Kind:   d.Spec.Names.Kind,
		Scope:  v1alpha1.ResourceScope(d.Spec.Scope),
		Status: v != nil && v.Subresources != nil && v.Subresources.Status != nil,
	}
}
