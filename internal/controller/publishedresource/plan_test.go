package publishedresource

import (
	stdcmp "cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
)

// TestPlanOf shows where an API is published, by what a spec and a ProviderConfig say.
func TestPlanOf(t *testing.T) {
	shared := &commonv1.KCPConnection{
		AgentName: "agent",
		APIExport: &commonv1.APIExport{
			Name: "shared", EndpointSlice: "slice", Create: new(true), ClaimVerbs: commonv1.ClaimVerbsNeeded,
		},
	}
	long := strings.Repeat("x", 54)
	for name, tc := range map[string]struct {
		reason string
		agent  string
		export *commonv1.APIExport
		config *commonv1.KCPConnection
		want   plan // with all verbs, if it does not say
		err    error
	}{
		"Nothing": {reason: "Without an APIExport there is nowhere to publish to.", err: errInvalidSpec},
		"OfTheProviderConfig": {
			reason: "What the spec leaves open the ProviderConfig says.",
			config: shared,
			want: plan{
				export: "shared", slice: "slice", agent: "agent", create: true, verbs: commonv1.ClaimVerbsNeeded,
			},
		},
		"Own": {
			reason: "Another APIExport does not have the endpoint slice of the ProviderConfig's, and what the spec says counts.",
			agent:  "own",
			export: &commonv1.APIExport{Name: "other", Create: new(false), ClaimVerbs: commonv1.ClaimVerbsAll},
			config: shared,
			want:   plan{export: "other", slice: "other", agent: "own"},
		},
		"SliceOnly": {
			reason: "An endpoint slice tells its APIExport, and names the agent.",
			export: &commonv1.APIExport{EndpointSlice: "east"},
			want:   plan{slice: "east", agent: "east-syncagent"},
		},
		"LongSlice": {
			reason: "An agent is the value of a label, also where a slice has more characters than such a value.",
			export: &commonv1.APIExport{Name: long},
			want: plan{
				export: long, slice: long, agent: long[:44] + "-" + gotemplate.SHA1(long)[:8] + "-syncagent",
			},
		},
		"Policy": {
			reason: "A policy for an APIExport that is made comes from either side.",
			export: &commonv1.APIExport{
				Name: "x", Create: new(true), MaximalPermissionPolicy: &commonv1.MaximalPermissionPolicy{},
			},
			want: plan{export: "x", slice: "x", agent: "x-syncagent", create: true, policy: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.verbs = stdcmp.Or(tc.want.verbs, commonv1.ClaimVerbsAll)
			got, err := planOf(&v1alpha1.PublishedResourceSpec{AgentName: tc.agent, APIExport: tc.export}, tc.config)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(plan{})); diff != "" || !errors.Is(err, tc.err) {
				t.Errorf("%s Want error %v, got %v; -want, +got:\n%s", tc.reason, tc.err, err, diff)
			}
		})
	}
}

// TestClaimsOf shows what is claimed of workspaces, each as the resource, its identity and the verbs.
func TestClaimsOf(t *testing.T) {
	secret := v1alpha1.RelatedResource{Identifier: "tls", Origin: v1alpha1.OriginService, Kind: "Secret"}
	settings := v1alpha1.RelatedResource{
		Identifier: "in", Origin: v1alpha1.OriginKCP, Version: "v1", Resource: "secrets",
	}
	thing := v1alpha1.RelatedResource{
		Identifier: "x", Origin: v1alpha1.OriginKCP, Group: "a.b", Version: "v1", Resource: "as", IdentityHash: "abc",
		Projection: &v1alpha1.RelatedResourceProjection{Group: "c.d", Resource: "cs"},
	}
	other := thing
	other.IdentityHash = "def"
	inNamespaces := func(filter string) *v1alpha1.ResourceFilter {
		return &v1alpha1.ResourceFilter{Namespace: &apiextensionsv1.JSON{Raw: []byte(filter)}}
	}
	for name, tc := range map[string]struct {
		reason string
		spec   v1alpha1.PublishedResourceSpec
		verbs  commonv1.ClaimVerbs
		want   []string
		fails  bool
	}{
		"ByName": {
			reason: "Consumers are told by events. A namespace that is selected by its name needs not be read.",
			spec:   v1alpha1.PublishedResourceSpec{Filter: inNamespaces(`"my-app"`)},
			want:   []string{"events [*]"},
		},
		"ByLabels": {
			reason: "The labels of namespaces must be read, and paths of workspaces.",
			spec: v1alpha1.PublishedResourceSpec{
				EnableWorkspacePaths: true, Filter: inNamespaces(`{"matchLabels":{"a":"b"}}`),
			},
			want: []string{"events [*]", "namespaces [*]", "logicalclusters.core.kcp.io [*]"},
		},
		"NoSelector": {
			reason: "A filter that is neither a name nor a selector needs nothing: Compile refuses it.",
			spec:   v1alpha1.PublishedResourceSpec{Filter: inNamespaces(`7`)},
			want:   []string{"events [*]"},
		},
		"Related": {
			reason: "Related resources are claimed as consumers see them, each once.",
			spec:   v1alpha1.PublishedResourceSpec{Related: []v1alpha1.RelatedResource{secret, settings, thing}},
			want:   []string{"events [*]", "namespaces [*]", "secrets [*]", "as.a.b abc[*]"},
		},
		"Needed": {
			reason: "Only what is done is asked for, over all uses.",
			verbs:  commonv1.ClaimVerbsNeeded,
			spec:   v1alpha1.PublishedResourceSpec{Related: []v1alpha1.RelatedResource{settings, secret}},
			want: []string{
				"events [create patch update]", "namespaces [get list watch create]",
				"secrets [get list watch patch update create delete]",
			},
		},
		"TwoIdentities": {
			reason: "An APIExport claims a resource with one identity.",
			spec:   v1alpha1.PublishedResourceSpec{Related: []v1alpha1.RelatedResource{thing, other}},
			want:   []string{"events [*]", "namespaces [*]", "as.a.b abc[*]"},
			fails:  true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := claimsOf(&tc.spec, tc.verbs)
			var got []string
			for _, c := range all {
				got = append(got, fmt.Sprint(c.GroupResource.String(), " ", c.IdentityHash, c.Verbs))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
				t.Errorf("%s Want error %t, got %v; -want, +got:\n%s", tc.reason, tc.fails, err, diff)
			}
		})
	}
}

// TestPairOf shows which versions an API has on both sides.
func TestPairOf(t *testing.T) {
	source := func() *apiextensionsv1.CustomResourceDefinition {
		d := build.Definition("example.com", "certs")
		stored := *d.Spec.Versions[0].DeepCopy()
		stored.Subresources = nil
		d.Spec.Versions[0].Name, d.Spec.Versions[0].Storage = "v1beta1", false
		d.Spec.Versions = append(d.Spec.Versions, stored)
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
		"NotServed": {
			reason: "A stored version that is not served cannot be asked for.",
			change: func(d *apiextensionsv1.CustomResourceDefinition, _ *v1alpha1.PublishedResourceSpec) {
				d.Spec.Versions[1].Served = false
			},
			want: objectsync.Pair{Workspace: is("v1beta1", true), Service: is("v1beta1", true)},
		},
		"Renamed": {
			reason: "Copies are of the version that is published, which may have another name in kcp.",
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

// TestSharesExport shows that nothing is concluded from the default ProviderConfig of this provider about a
// PublishedResource that another provider serves, nor from the name of an APIExport, and what else tells.
func TestSharesExport(t *testing.T) {
	const url = "https://kcp/services/apiexport/2wcxa/shop"
	at := func(url string) []v1alpha1.Endpoint { return []v1alpha1.Endpoint{{URL: url}} }
	for name, tc := range map[string]struct {
		reason    string
		team, ref string // its label, and the ProviderConfig that it names, if it does
		export    string
		endpoints []v1alpha1.Endpoint
		want      bool
	}{
		"Ours": {
			reason: "One that is ours and names no ProviderConfig publishes as we do.", team: "a", export: "shop", want: true,
		},
		"NameAlone": {reason: "Another kcp may have an APIExport of the same name.", export: "shop", want: false},
		"OtherName": {reason: "An APIExport of another name is another one.", export: "market", want: false},
		"SameEndpoint": {
			reason: "One endpoint is of one APIExport.", export: "shop", endpoints: at(url), want: true,
		},
		"OtherEndpoint": {
			reason: "The endpoints of two APIExports differ.", ref: "other", export: "shop",
			endpoints: at("https://kcp/services/apiexport/9zyxb/shop"), want: false,
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
			ours, other := &v1alpha1.PublishedResource{}, &v1alpha1.PublishedResource{}
			ours.Status.Endpoints = at(url)
			other.Status.APIExport, other.Status.Endpoints = tc.export, tc.endpoints
			other.SetLabels(labels.Set{"team": tc.team})
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
