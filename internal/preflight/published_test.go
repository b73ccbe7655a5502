package preflight

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/package/crds"
)

const (
	certs = `
apiVersion: syncagent.kcp.io/v1alpha1
kind: PublishedResource
metadata: {name: certs}
spec:
  resource: {kind: Cert, apiGroup: example.com, version: v1}
`
	slice = "services.example.com"
)

// publishedOf returns a PublishedResource of the API of certs, through a ProviderConfig with an endpoint slice.
func publishedOf(t *testing.T, tally *tally, over string, change func(*published)) *published {
	t.Helper()
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSchema(all["publishedresources.syncagent.kcp.io"], v1alpha1.GroupVersion.Version)
	if err != nil {
		t.Fatal(err)
	}
	p := &pass{t: tally, options: Options{
		Selector: labels.Everything(), StateNamespace: "crossplane-system", DefaultConfig: "services",
	}}
	o := p.readPublished(t.Context(), read(t, certs, over), s)
	if o == nil {
		t.Fatal("the PublishedResource cannot be read")
	}
	o.definition, o.definitionKnown = build.Definition("example.com", "certs", "secretName"), true
	o.config = &commonv1.ProviderConfigSpec{
		KCP: &commonv1.KCPConnection{APIExport: &commonv1.APIExport{EndpointSlice: slice}},
	}
	change(o)
	o.judge(tally)
	return o
}

func nothing(*published) {}

func TestJudgePublished(t *testing.T) {
	const at = "certs"
	invalid := func(why string) Finding {
		return one(at, refused("PublishedResource that is refused", why,
			"change it: docs/reference/api-syncagent.md, Rejected specs"))
	}
	for name, tc := range map[string]struct {
		reason string
		over   string
		change func(*published)
		want   []Finding
	}{
		"Kept": {
			reason: "What the agent has served is served.", change: nothing,
			want: []Finding{one(at, kept("PublishedResource"))},
		},
		"Field": {
			reason: "Our definition refuses what it has a rule for.", change: nothing,
			over: "spec: {synchronization: {}}",
			want: []Finding{one(at, refused("PublishedResource that the CustomResourceDefinition of this provider rejects",
				"spec.synchronization.enabled: required value", "change the field"))},
		},
		"Template": {
			reason: "The provider refuses templates that yield something else each time.", change: nothing,
			over: `spec: {mutation: {spec: [{template: {path: spec.at, template: "{{ now }}"}}]}}`,
			want: []Finding{invalid(`spec.mutation.spec[0].template.template: template is invalid: :1: ` +
				`function "now" not defined`)},
		},
		"NoExport": {
			reason: "A ProviderConfig without an APIExport leads nowhere.",
			change: func(o *published) { o.config.KCP = nil },
			want: []Finding{invalid("neither spec.apiExport nor spec.kcp.apiExport of the ClusterProviderConfig names an " +
				"APIExport: change the spec or the ClusterProviderConfig")},
		},
		"NoConfig": {
			reason: "That a ProviderConfig is missing is said once, and not of each PublishedResource.",
			change: func(o *published) { o.config = nil },
			want:   []Finding{one(at, kept("PublishedResource"))},
		},
		"NoAPI": {
			reason: "Without the API nothing is published.",
			change: func(o *published) { o.definition = nil },
			want: []Finding{one(at, refused("PublishedResource of an API that the service cluster does not have",
				"nothing can be published", "install the API, or delete the PublishedResource"))},
		},
		"UnknownAPI": {
			reason: "An API that is not known is not missing.",
			change: func(o *published) { o.definition, o.definitionKnown = nil, false },
			want:   []Finding{one(at, kept("PublishedResource"))},
		},
		"SharedNames": {
			reason: "What consumers name where others share it has to be opened.", change: nothing,
			over: `spec: {naming: {namespace: shared}, related: [{identifier: tls, origin: service, kind: Secret, ` +
				`object: {reference: {path: spec.secretName}}}]}`,
			want: []Finding{one("certs/tls", refused("related resource with objects that consumers name and that other "+
				"workspaces share",
				"new related objects that the copy does not own are refused",
				"set spec.related[].consumerMayName.objects: docs/how-to/sync-related-objects.md, Allow more names"))},
		},
		"OwnNames": {
			reason: "In the workspace's own namespace they may.", change: nothing,
			over: `spec: {related: [{identifier: tls, origin: service, kind: Secret, ` +
				`object: {reference: {path: spec.secretName}}}]}`,
			want: []Finding{one(at, kept("PublishedResource"))},
		},
		"OtherSchema": {
			reason: "A schema of another name is a new one.",
			change: func(o *published) { o.Status.ResourceSchemaName = "v0000000.certs.example.com" },
			want: []Finding{one(at, differs("PublishedResource with another APIResourceSchema",
				"a new one is created next to that of the agent: docs/reference/publishedresource.md, Schemas"))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tally := newTally()
			publishedOf(t, tally, tc.over, tc.change)
			if diff := cmp.Diff(tc.want, tallied(tally)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestJudgeAgent(t *testing.T) {
	flagged := func(flag, why, cure string) Finding {
		return one("Deployment kcp/agent", refused("flag of api-syncagent "+flag, why, cure))
	}
	for name, tc := range map[string]struct {
		reason string
		args   []string
		change func(*published)
		want   []Finding
	}{
		"Same": {
			reason: "Flags that mean what this provider has been told need nothing.", change: nothing,
			args: []string{
				"--namespace=crossplane-system", "--apiexportendpointslice-ref", slice,
				"--published-resource-selector=team=a",
			},
			want: []Finding{},
		},
		"Selector": {
			reason: "Another selector publishes other APIs.", change: nothing,
			args: []string{"--published-resource-selector", "team=b"},
			want: []Finding{flagged("--published-resource-selector",
				"this provider would reconcile other PublishedResources than the agent: team=a",
				"start this provider, and this check, with --published-resource-selector=team=b")},
		},
		"Namespace": {
			reason: "States are in another namespace.", change: nothing,
			args: []string{"--namespace", "kcp-system"},
			want: []Finding{flagged("--namespace", "no PublishedResource has its sync states there",
				"start this provider, and this check, with --state-namespace kcp-system")},
		},
		"StateNamespace": {
			reason: "A PublishedResource may name it.",
			change: func(o *published) { o.Spec.StateNamespace = "kcp-system" },
			args:   []string{"--namespace=kcp-system"},
			want:   []Finding{},
		},
		"AgentName": {
			reason: "Another name makes all that the agent has somebody else's.", change: nothing,
			args: []string{"--apiexportendpointslice-ref=" + slice, "--agent-name=older"},
			want: []Finding{flagged("--agent-name",
				"no PublishedResource would have older as its owner, as those of the agent have",
				"change the ClusterProviderConfig: docs/how-to/migrate-from-api-syncagent.md; it needs spec.kcp.agentName: older "+
					"(--agent-name of kcp/agent), spec.kcp.apiExport.endpointSlice: services.example.com "+
					"(--apiexportendpointslice-ref of kcp/agent)")},
		},
		"DisabledControllers": {
			reason: "What the agent does not do the provider would.", change: nothing,
			args: []string{"--disabled-controllers=apiexport"},
			want: []Finding{flagged("--disabled-controllers", "the agent leaves apiexport to another program",
				"set spec.managementPolicies and spec.synchronization of the PublishedResources accordingly")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := publishedOf(t, newTally(), "", tc.change)
			tally := newTally()
			selector, err := labels.Parse("team=a")
			if err != nil {
				t.Fatal(err)
			}
			judgeAgent(tally, workload{name: "kcp/agent", args: tc.args}, selector, []*published{o})
			if diff := cmp.Diff(tc.want, tallied(tally)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
