package publishedresource

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// TestSharesExport shows that nothing is concluded from the default ProviderConfig of this provider about a
// PublishedResource that another provider serves, nor from the name of an APIExport, and what else tells.
func TestSharesExport(t *testing.T) {
	const url = "https://kcp/services/apiexport/2wcxa/shop"
	for name, tc := range map[string]struct {
		reason string
		labels labels.Set
		ref    string // the ProviderConfig it names, if it does
		status v1alpha1.PublishedResourceStatus
		want   bool
	}{
		"Ours": {
			reason: "One that is ours and names no ProviderConfig publishes as we do.", labels: labels.Set{"team": "a"},
			status: v1alpha1.PublishedResourceStatus{APIExport: "shop"}, want: true,
		},
		"NameAlone": {
			reason: "Another kcp may have an APIExport of the same name.", want: false,
			status: v1alpha1.PublishedResourceStatus{APIExport: "shop"},
		},
		"OtherName": {
			reason: "An APIExport of another name is another one.", want: false,
			status: v1alpha1.PublishedResourceStatus{APIExport: "market"},
		},
		"SameEndpoint": {
			reason: "One endpoint is of one APIExport.", want: true,
			status: v1alpha1.PublishedResourceStatus{APIExport: "shop", Endpoints: []v1alpha1.Endpoint{{URL: url}}},
		},
		"OtherEndpoint": {
			reason: "The endpoints of two APIExports differ.", want: false, ref: "other",
			status: v1alpha1.PublishedResourceStatus{
				APIExport: "shop", Endpoints: []v1alpha1.Endpoint{{URL: "https://kcp/services/apiexport/9zyxb/shop"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Selector: labels.SelectorFromSet(labels.Set{"team": "a"})}
			u := &publisher{
				selects: o.selects, connections: &connections{publisher: scope.PublishedResources(nil, "services")},
				memories: newMemories(),
			}
			p := &pass{workspace: &workspace{
				plan: plan{export: "shop"},
				connection: commonv1.Connection{Spec: &commonv1.ProviderConfigSpec{KCP: &commonv1.KCPConnection{
					APIExport: &commonv1.APIExport{Name: "shop"},
				}}},
			}}
			ours, other := &v1alpha1.PublishedResource{}, &v1alpha1.PublishedResource{Status: tc.status}
			ours.Status.Endpoints = []v1alpha1.Endpoint{{URL: url}}
			other.SetLabels(tc.labels)
			if tc.ref != "" {
				other.Spec.ProviderConfigReference = &v1alpha1.ConfigReference{Name: tc.ref}
			}
			p.resource = ours
			if got := u.shareExport(p, other); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
