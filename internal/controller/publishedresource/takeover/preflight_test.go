package takeover_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	e2eprovider "github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/preflight"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

// looker is who runs the preflight, and may only read.
const looker = "looker"

// grantReading gives the looker the right to get and list all there is.
func grantReading(t *testing.T, c client.Client) {
	t.Helper()
	kube.Create(t, c, &rbacv1.ClusterRole{
		ObjectMeta: build.Meta("", looker),
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}}},
	}, &rbacv1.ClusterRoleBinding{
		ObjectMeta: build.Meta("", looker),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: looker},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: looker}},
	})
}

// look runs the preflight of the built program. It shows that nothing is written, and nothing of a state is printed.
func (s *world) look(t *testing.T, args ...string) (preflight.Report, int) {
	t.Helper()
	audit := service.Audit(t)
	m := audit.Mark()
	args = append([]string{"preflight", preflight.APISyncAgent, "-o", "json"}, args...)
	p := program.Start(t, service.User(t, looker), e2eprovider.Options{Args: args})
	program.AwaitEnd(t, p)
	for _, e := range append(audit.Since(m), audit.Watches(m)...) {
		if e.User == looker && e.Verb != "get" && e.Verb != "list" && e.Verb != "watch" {
			t.Errorf("the preflight has made a request to %s %s", e.Verb, e.Subject())
		}
	}
	if strings.Contains(p.Log(), "tls.crt") {
		t.Error("the report holds content of a state")
	}
	r := preflight.Report{}
	if err := json.Unmarshal([]byte(p.Log()), &r); err != nil {
		t.Fatalf("%v:\n%s", err, p.Log())
	}
	return r, p.ExitCode()
}

// TestPreflight shows what a preflight says of what the agent has left: that nothing is to be done if all is as the
// guide says, and what is if not.
func TestPreflight(t *testing.T) {
	s := newWorld(t)
	certs := []cert{
		s.cert(s.tenants[0], "a1"), s.cert(s.tenants[0], "bb"),
		s.cert(s.tenants[1], "a1"), s.cert(s.tenants[1], "bb"),
	}
	kube.AtOnce(certs, func(o cert) { s.sync(t, o) })
	grantReading(t, s.c)
	config := build.ClusterConfig("default", commonv1.ProviderConfigSpec{})
	published := object("syncagent.kcp.io/v1alpha1", "PublishedResource", "", "publish-certs")
	faults := []client.Object{fromYAML(t, runningAgent, s.state), fromYAML(t, changingTemplate, s.group)}
	t.Cleanup(func() { // Other tests have their own of these names.
		for _, o := range append(faults, config, published) {
			_ = s.c.Delete(context.WithoutCancel(t.Context()), o)
		}
	})
	whole := []preflight.Finding{
		{Effect: preflight.Kept, What: "ClusterProviderConfig", Count: 1},
		{Effect: preflight.Kept, What: "CustomResourceDefinition", Count: 1},
		{Effect: preflight.Kept, What: "Deployment of api-syncagent", Count: 0},
		{Effect: preflight.Kept, What: "PublishedResource", Count: 1},
		{Effect: preflight.Kept, What: "state Secret in namespace " + s.state, Count: 4},
	}
	brief := cmpopts.IgnoreFields(preflight.Finding{}, "Names", "Why", "Cure")
	r, code := s.look(t)
	if diff := cmp.Diff(whole, r.Findings, brief); diff != "" || code != 0 {
		t.Errorf("all as the guide says: exit code %d, findings -want, +got:\n%s", code, diff)
	}

	kube.Create(t, s.c, faults...)
	kube.Patch(t, s.c, published, `{"spec":{"stateNamespace":null}}`)
	kube.Delete(t, s.c, config)
	r, code = s.look(t)
	if diff := cmp.Diff([]preflight.Finding{
		{Effect: preflight.Refused, What: "ClusterProviderConfig that is missing", Count: 1},
		{Effect: preflight.Refused, What: "Deployment of api-syncagent that runs", Count: 1},
		{Effect: preflight.Refused, What: "PublishedResource that is refused", Count: 1},
		{Effect: preflight.Refused, What: "flag of api-syncagent --namespace", Count: 1},
		{Effect: preflight.Refused, What: "state Secret in namespace " + s.state, Count: 4},
		{Effect: preflight.Kept, What: "CustomResourceDefinition", Count: 1},
		{Effect: preflight.Kept, What: "PublishedResource", Count: 1},
	}, r.Findings, brief); diff != "" || code != 1 {
		t.Errorf("with faults: exit code %d, findings -want, +got:\n%s", code, diff)
	}
	if field := "spec.kcp.apiExport.endpointSlice: " + exportName; !strings.Contains(r.Findings[0].Cure, field) {
		t.Errorf("cure of the ClusterProviderConfig that is missing: want %q in it, got %q", field, r.Findings[0].Cure)
	}

	r, _ = s.look(t, "--state-namespace="+s.state)
	for _, f := range r.Findings {
		if f.Effect == preflight.Refused && (strings.Contains(f.What, "state") || strings.Contains(f.What, "--namespace")) {
			t.Errorf("with the namespace of the states: %+v", f)
		}
	}
}

// A Deployment of the agent as its chart makes it, and a PublishedResource with a template that the agent accepts and
// we do not.
const (
	runningAgent = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: agent, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      containers:
      - name: agent
        image: ghcr.io/kcp-dev/api-syncagent:v0.7.0
        args: [--apiexportendpointslice-ref=` + exportName + `, --namespace=%[1]s]
`
	changingTemplate = `
apiVersion: syncagent.kcp.io/v1alpha1
kind: PublishedResource
metadata: {name: publish-clock}
spec:
  resource: {kind: Cert, apiGroup: %s, version: v1}
  projection: {kind: Clock, plural: clocks}
  mutation: {spec: [{template: {path: spec.at, template: "{{ now }}"}}]}
`
)
