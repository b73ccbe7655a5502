package publishedresource

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
)

// TestPairOf shows which versions an API has on both sides.
func TestPairOf(t *testing.T) {
	status := &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
	version := func(name string) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true,
			Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"},
			},
		}
	}
	source := func() *apiextensionsv1.CustomResourceDefinition {
		d := &apiextensionsv1.CustomResourceDefinition{}
		d.Spec.Group, d.Spec.Scope = "example.com", apiextensionsv1.NamespaceScoped
		d.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{
			Plural: "certs", Singular: "cert", Kind: "Cert", ListKind: "CertList",
		}
		d.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{version("v1beta1"), version("v1")}
		d.Spec.Versions[0].Subresources = status
		d.Spec.Versions[1].Storage = true
		return d
	}
	is := func(version string, status bool) objectsync.Resource {
		return objectsync.Resource{
			GroupVersionResource: schema.GroupVersionResource{
				Group: "example.com", Version: version, Resource: "certs",
			},
			Kind: "Cert", Scope: v1alpha1.ScopeNamespaced, Status: status,
		}
	}
	cases := map[string]struct {
		reason string
		change func(*apiextensionsv1.CustomResourceDefinition, *v1alpha1.PublishedResourceSpec)
		want   objectsync.Pair
	}{
		"Stored": {
			reason: "Of all versions the stored one counts.",
			change: func(*apiextensionsv1.CustomResourceDefinition, *v1alpha1.PublishedResourceSpec) {},
			want:   objectsync.Pair{Workspace: is("v1", false), Service: is("v1", false)},
		},
		"Other": {
			reason: "Copies are of the version that is published.",
			change: func(_ *apiextensionsv1.CustomResourceDefinition, s *v1alpha1.PublishedResourceSpec) {
				s.Resource.Versions = []string{"v1beta1"}
			},
			want: objectsync.Pair{Workspace: is("v1beta1", true), Service: is("v1beta1", true)},
		},
		"NotServed": {
			reason: "A stored version that is not served cannot be asked for.",
			change: func(d *apiextensionsv1.CustomResourceDefinition, _ *v1alpha1.PublishedResourceSpec) {
				d.Spec.Versions[1].Served = false
			},
			want: objectsync.Pair{Workspace: is("v1beta1", true), Service: is("v1beta1", true)},
		},
		"Renamed": {
			reason: "A version may have another name in kcp.",
			change: func(_ *apiextensionsv1.CustomResourceDefinition, s *v1alpha1.PublishedResourceSpec) {
				s.Resource.Versions = []string{"v1beta1"}
				s.Projection = &v1alpha1.ResourceProjection{Version: "v7"}
			},
			want: objectsync.Pair{Workspace: is("v7", true), Service: is("v1beta1", true)},
		},
		"OfCrossplane": {
			reason: "What Crossplane keeps in a type that it has made belongs to the platform.",
			change: func(d *apiextensionsv1.CustomResourceDefinition, _ *v1alpha1.PublishedResourceSpec) {
				d.OwnerReferences = []metav1.OwnerReference{{
					APIVersion: "apiextensions.crossplane.io/v1", Kind: "CompositeResourceDefinition", Name: "xcerts.example.com",
					Controller: new(true),
				}}
				spec := apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"resourceRef": {Type: "object"}},
				}
				d.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{"spec": spec}
			},
			want: objectsync.Pair{
				Workspace: is("v1", false), Service: is("v1", false), PlatformFields: []string{"spec.resourceRef"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, spec := source(), &v1alpha1.PublishedResourceSpec{
				Resource: v1alpha1.SourceResource{APIGroup: "example.com", Kind: "Cert"},
			}
			tc.change(d, spec)
			p, err := projection.Project(d, spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, syncedAPI(d, p)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
