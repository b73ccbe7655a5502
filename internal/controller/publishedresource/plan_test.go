package publishedresource

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
)

func TestPlanOf(t *testing.T) {
	type args struct {
		spec   v1alpha1.PublishedResourceSpec
		config *commonv1.KCPConnection
	}
	type want struct {
		plan plan
		err  error
	}
	shared := &commonv1.KCPConnection{
		AgentName: "agent",
		APIExport: &commonv1.APIExport{
			Name: "shared", EndpointSlice: "slice", Create: new(true), ClaimVerbs: commonv1.ClaimVerbsNeeded,
		},
	}
	cases := map[string]struct {
		reason string
		args   args
		want   want
	}{
		"Nothing": {
			reason: "Without an APIExport there is nowhere to publish to.",
			want:   want{err: errInvalidSpec, plan: plan{verbs: commonv1.ClaimVerbsAll}},
		},
		"OfTheProviderConfig": {
			reason: "What the spec leaves open the ProviderConfig says.",
			args:   args{config: shared},
			want: want{plan: plan{
				export: "shared", slice: "slice", agent: "agent", create: true, verbs: commonv1.ClaimVerbsNeeded,
			}},
		},
		"Own": {
			reason: "Another APIExport does not have the endpoint slice of the ProviderConfig's, and what the spec says counts.",
			args: args{config: shared, spec: v1alpha1.PublishedResourceSpec{
				AgentName: "own", APIExport: &commonv1.APIExport{
					Name: "other", Create: new(false), ClaimVerbs: commonv1.ClaimVerbsAll,
				},
			}},
			want: want{plan: plan{export: "other", slice: "other", agent: "own", verbs: commonv1.ClaimVerbsAll}},
		},
		"SliceOnly": {
			reason: "An endpoint slice tells its APIExport, and names the agent.",
			args:   args{spec: v1alpha1.PublishedResourceSpec{APIExport: &commonv1.APIExport{EndpointSlice: "east"}}},
			want:   want{plan: plan{slice: "east", agent: "east-syncagent", verbs: commonv1.ClaimVerbsAll}},
		},
		"Policy": {
			reason: "A policy for an APIExport that is made comes from either side.",
			args: args{spec: v1alpha1.PublishedResourceSpec{APIExport: &commonv1.APIExport{
				Name: "x", Create: new(true), MaximalPermissionPolicy: &commonv1.MaximalPermissionPolicy{},
			}}},
			want: want{plan: plan{
				export: "x", slice: "x", agent: "x-syncagent", create: true, policy: true,
				verbs: commonv1.ClaimVerbsAll,
			}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := planOf(&tc.args.spec, tc.args.config)
			if diff := cmp.Diff(tc.want.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nplanOf: -want error, +got error:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want.plan, got, cmp.AllowUnexported(plan{})); diff != "" {
				t.Errorf("%s\nplanOf: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRelatedAt shows that a related resource says what it is at its origin, and its projection what it becomes on the
// other side.
func TestRelatedAt(t *testing.T) {
	plain := v1alpha1.RelatedResource{Group: "a.b", Version: "v1", Resource: "as"}
	projected := plain
	projected.Projection = &v1alpha1.RelatedResourceProjection{Group: "c.d", Version: "v2", Resource: "cs"}
	partly := plain
	partly.Projection = &v1alpha1.RelatedResourceProjection{Resource: "cs"}
	as := schema.GroupVersionResource{Group: "a.b", Version: "v1", Resource: "as"}
	cs := schema.GroupVersionResource{Group: "c.d", Version: "v2", Resource: "cs"}
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	type want struct {
		atOrigin, elsewhere schema.GroupVersionResource
	}
	cases := map[string]struct {
		reason  string
		related v1alpha1.RelatedResource
		want    want
	}{
		"NoProjection": {
			reason:  "Without a projection both sides are the same.",
			related: plain,
			want:    want{atOrigin: as, elsewhere: as},
		},
		"Projection": {
			reason:  "A projection is what the resource is away from its origin.",
			related: projected,
			want:    want{atOrigin: as, elsewhere: cs},
		},
		"Partly": {
			reason:  "What a projection leaves out stays as it is.",
			related: partly,
			want: want{atOrigin: as, elsewhere: schema.GroupVersionResource{
				Group: "a.b", Version: "v1", Resource: "cs",
			}},
		},
		"Kind": {
			reason:  "The deprecated kind means a resource of the core group.",
			related: v1alpha1.RelatedResource{Kind: "Secret"},
			want:    want{atOrigin: secrets, elsewhere: secrets},
		},
	}
	for name, tc := range cases {
		for origin, other := range map[v1alpha1.Origin]v1alpha1.Origin{
			v1alpha1.OriginKCP: v1alpha1.OriginService, v1alpha1.OriginService: v1alpha1.OriginKCP,
		} {
			t.Run(name+"/"+string(origin), func(t *testing.T) {
				r := tc.related
				r.Origin = origin
				if diff := cmp.Diff(tc.want.atOrigin, relatedAt(origin, &r)); diff != "" {
					t.Errorf("%s\nrelatedAt the origin: -want, +got:\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff(tc.want.elsewhere, relatedAt(other, &r)); diff != "" {
					t.Errorf("%s\nrelatedAt the other side: -want, +got:\n%s", tc.reason, diff)
				}
			})
		}
	}
}

func TestClaimsOf(t *testing.T) {
	claim := func(group, resource string, verbs ...string) kcp.Claim {
		return kcp.Claim{GroupResource: schema.GroupResource{Group: group, Resource: resource}, Verbs: verbs}
	}
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
	type want struct {
		claims []kcp.Claim
		err    error
	}
	cases := map[string]struct {
		reason string
		spec   v1alpha1.PublishedResourceSpec
		verbs  commonv1.ClaimVerbs
		want   want
	}{
		"Least": {
			reason: "Consumers are told by events.",
			want:   want{claims: []kcp.Claim{claim("", "events", "*")}},
		},
		"ByName": {
			reason: "A namespace that is selected by its name needs not be read.",
			spec: v1alpha1.PublishedResourceSpec{Filter: &v1alpha1.ResourceFilter{
				Namespace: &v1alpha1.NamespaceFilter{Raw: []byte(`"my-app"`)},
			}},
			want: want{claims: []kcp.Claim{claim("", "events", "*")}},
		},
		"ByLabels": {
			reason: "The labels of namespaces must be read, and paths of workspaces.",
			spec: v1alpha1.PublishedResourceSpec{
				EnableWorkspacePaths: true,
				Filter: &v1alpha1.ResourceFilter{
					Namespace: &v1alpha1.NamespaceFilter{Raw: []byte(`{"matchLabels":{"a":"b"}}`)},
				},
			},
			want: want{claims: []kcp.Claim{
				claim("", "events", "*"), claim("", "namespaces", "*"), claim("core.kcp.io", "logicalclusters", "*"),
			}},
		},
		"NoSelector": {
			reason: "A filter that is neither a name nor a selector cannot be.",
			spec: v1alpha1.PublishedResourceSpec{Filter: &v1alpha1.ResourceFilter{
				Namespace: &v1alpha1.NamespaceFilter{Raw: []byte(`7`)},
			}},
			want: want{claims: nil, err: errInvalidSpec},
		},
		"Related": {
			reason: "Related resources are claimed as consumers see them, each once.",
			spec:   v1alpha1.PublishedResourceSpec{Related: []v1alpha1.RelatedResource{secret, settings, thing}},
			want: want{claims: []kcp.Claim{
				claim("", "events", "*"), claim("", "namespaces", "*"), claim("", "secrets", "*"),
				{
					GroupResource: schema.GroupResource{Group: "a.b", Resource: "as"}, IdentityHash: "abc",
					Verbs: []string{"*"},
				},
			}},
		},
		"Needed": {
			reason: "Only what is done is asked for, over all uses.",
			verbs:  commonv1.ClaimVerbsNeeded,
			spec:   v1alpha1.PublishedResourceSpec{Related: []v1alpha1.RelatedResource{settings, secret}},
			want: want{claims: []kcp.Claim{
				claim("", "events", "create", "patch", "update"), claim("", "namespaces", "get", "list", "watch",
					"create"),
				claim("", "secrets", "get", "list", "watch", "patch", "update", "create", "delete"),
			}},
		},
		"TwoIdentities": {
			reason: "An APIExport claims a resource with one identity.",
			spec:   v1alpha1.PublishedResourceSpec{Related: []v1alpha1.RelatedResource{thing, other}},
			want: want{err: errInvalidSpec, claims: []kcp.Claim{
				claim("", "events", "*"), claim("", "namespaces", "*"),
				{
					GroupResource: schema.GroupResource{Group: "a.b", Resource: "as"}, IdentityHash: "abc",
					Verbs: []string{"*"},
				},
			}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := claimsOf(&tc.spec, tc.verbs)
			if diff := cmp.Diff(tc.want.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nclaimsOf: -want error, +got error:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want.claims, got); diff != "" {
				t.Errorf("%s\nclaimsOf: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
