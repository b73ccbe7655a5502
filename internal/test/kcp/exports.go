package kcp

import (
	"fmt"
	"testing"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// Client returns a client without a cache. Its scheme has the built-in types, CustomResourceDefinitions, and kcp's
// types of exports and bindings, in each version.
func Client(tb testing.TB, cfg *rest.Config) client.Client {
	tb.Helper()
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, apisv1alpha1.AddToScheme, apisv1alpha2.AddToScheme,
	} {
		if err := add(known); err != nil {
			tb.Fatalf("cannot add to scheme: %v", err)
		}
	}
	c, err := client.New(cfg, client.Options{Scheme: known})
	if err != nil {
		tb.Fatalf("cannot make client: %v", err)
	}
	return c
}

// Schema returns a schema of a namespaced resource with free content and a status, of version v1.
func Schema(name, group, plural, kind string) *apisv1alpha1.APIResourceSchema {
	return &apisv1alpha1.APIResourceSchema{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: apisv1alpha1.APIResourceSchemaSpec{
			Group: group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: plural, Singular: plural[:len(plural)-1], Kind: kind, ListKind: kind + "List",
			},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apisv1alpha1.APIResourceVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: runtime.RawExtension{Raw: []byte(`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`)},
				Subresources: apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
				},
			}},
		},
	}
}

// Export returns an APIExport that offers nothing.
func Export(name string) *apisv1alpha2.APIExport {
	return &apisv1alpha2.APIExport{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// Offer returns how an APIExport offers a resource by a schema.
func Offer(group, plural, schema string) apisv1alpha2.ResourceSchema {
	return apisv1alpha2.ResourceSchema{
		Group: group, Name: plural, Schema: schema,
		Storage: apisv1alpha2.ResourceSchemaStorage{CRD: &apisv1alpha2.ResourceSchemaStorageCRD{}},
	}
}

// Claims returns permission claims to do all with resources of the core group.
func Claims(resources ...string) []apisv1alpha2.PermissionClaim {
	out := make([]apisv1alpha2.PermissionClaim, 0, len(resources))
	for _, r := range resources {
		out = append(out, apisv1alpha2.PermissionClaim{
			GroupResource: apisv1alpha2.GroupResource{Resource: r}, Verbs: []string{"*"},
		})
	}
	return out
}

// Bind creates an APIBinding to the APIExport of a workspace in another one, with claims accepted on all objects.
func Bind(tb testing.TB, in *rest.Config, path, export string,
	accept ...apisv1alpha2.PermissionClaim,
) *apisv1alpha2.APIBinding {
	tb.Helper()
	b := &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: export}}
	b.Spec.Reference.Export = &apisv1alpha2.ExportBindingReference{Path: path, Name: export}
	b.Spec.PermissionClaims = Accepted(accept...)
	if err := Client(tb, in).Create(tb.Context(), b); err != nil {
		tb.Fatalf("cannot create APIBinding: %v", err)
	}
	return b
}

// Accepted returns claims accepted on all objects.
func Accepted(claims ...apisv1alpha2.PermissionClaim) []apisv1alpha2.AcceptablePermissionClaim {
	var accepted []apisv1alpha2.AcceptablePermissionClaim
	for _, c := range claims {
		accepted = append(accepted, apisv1alpha2.AcceptablePermissionClaim{
			State: apisv1alpha2.ClaimAccepted,
			ScopedPermissionClaim: apisv1alpha2.ScopedPermissionClaim{
				PermissionClaim: c, Selector: apisv1alpha2.PermissionClaimSelector{MatchAll: true},
			},
		})
	}
	return accepted
}

// AwaitBound waits until a binding is bound, and reads it.
func AwaitBound(tb testing.TB, in *rest.Config, b *apisv1alpha2.APIBinding) {
	tb.Helper()
	c := Client(tb, in)
	kube.EventuallyBy(tb, workspaceTimeout, "APIBinding "+b.GetName()+" to be bound", func() (bool, string) {
		err := c.Get(tb.Context(), client.ObjectKeyFromObject(b), b)
		return err == nil && b.Status.Phase == apisv1alpha2.APIBindingPhaseBound, fmt.Sprintf("%v %+v", err, b.Status)
	})
}

// CreateServed creates an object in a workspace as soon as kcp serves its kind there, which is a moment after the
// binding.
func CreateServed(tb testing.TB, in *rest.Config, o client.Object) {
	tb.Helper()
	kube.Eventually(tb, "creation of "+o.GetName(), func() (bool, string) {
		err := Client(tb, in).Create(tb.Context(), o)
		return err == nil, fmt.Sprint(err)
	})
}
