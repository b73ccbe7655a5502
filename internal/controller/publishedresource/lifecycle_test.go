package publishedresource_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestPublish follows an API from its publication over the first consumer to the acceptance of its claims. Its
// conditions and events tell of each step, with no rights in kcp but the least. See
// https://github.com/kcp-dev/api-syncagent/issues/112.
func TestPublish(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	kube.Create(t, s.c, definition(s.group, "hats"))
	o := s.published("hats", "Hat")
	o.Spec.EnableWorkspacePaths = true
	o.Spec.AgentName = "hatter"
	kube.Create(t, s.c, o)
	awaitPublished(t, s.c, o)
	awaitMessage(t, s.c, o, isUnknown(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonNotBound),
		`No workspace has bound APIExport "`+exportName+`"`)
	e := s.export(t)
	name := schemaOf(e, "hats")
	if name == "" || name != o.Status.ResourceSchemaName || o.Status.APIExport != exportName {
		t.Errorf("status has schema %q of APIExport %q, the APIExport has %q", o.Status.ResourceSchemaName,
			o.Status.APIExport, name)
	}
	wantClaims := []apisv1alpha2.PermissionClaim{
		{GroupResource: apisv1alpha2.GroupResource{Resource: "events"}, Verbs: []string{"*"}},
		{
			GroupResource: apisv1alpha2.GroupResource{Group: "core.kcp.io", Resource: "logicalclusters"},
			Verbs:         []string{"*"},
		},
	}
	if diff := cmp.Diff(wantClaims, e.Spec.PermissionClaims); diff != "" {
		t.Errorf("claims: -want, +got:\n%s", diff)
	}
	if got := e.GetAnnotations()[v1alpha1.AnnotationKeyAgentName]; got != "hatter" {
		t.Errorf("agent of APIExport: want hatter, got %q", got)
	}

	s.awaitReported(t, o, "CreatedSchema", name)
	s.awaitReported(t, o, "UpdatedAPIExport", name)

	// The first consumer accepts one claim, the second both.
	first, one := workspaces.Workspace(t)
	_, two := workspaces.Workspace(t)
	b := kcp.Bind(t, one, s.path, exportName, wantClaims[0])
	kcp.AwaitBound(t, two, kcp.Bind(t, two, s.path, exportName, wantClaims...))
	await(t, s.c, o, is(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonServing))
	awaitMessage(t, s.c, o, isNot(v1alpha1.TypeClaimsAccepted, v1alpha1.ReasonPending),
		first+" has not accepted the claims for logicalclusters.core.kcp.io")
	kube.Await(t, s.c, o, "two workspaces and three claims", func() (bool, string) {
		want := v1alpha1.ClaimCounts{
			Accepted: 3, Total: 4, Pending: []v1alpha1.PendingClaims{{
				Workspace: first, Claims: []string{"logicalclusters.core.kcp.io"},
			}},
		}
		if o.Status.Claims == nil || o.Status.Workspaces == nil {
			return false, describe(o)
		}
		diff := cmp.Diff(want, *o.Status.Claims)
		return diff == "" && o.Status.Workspaces.Bound == 2 && len(o.Status.Endpoints) == 1, diff
	})
	createServed(t, two, s.object("Hat", "top"))

	update(t, kcp.Client(t, one), b, func() {
		b.Spec.PermissionClaims = append(b.Spec.PermissionClaims, kcp.Accepted(wantClaims[1])...)
	})
	await(t, s.c, o, is(v1alpha1.TypeClaimsAccepted, v1alpha1.ReasonAccepted))

	// Who unbinds is not counted any more.
	kube.Delete(t, kcp.Client(t, one), b)
	kube.Await(t, s.c, o, "one workspace", func() (bool, string) {
		return o.Status.Workspaces.Bound == 1 && o.Status.Claims.Total == 2, describe(o)
	})
}

// TestUpdateOnceOffered shows that who sees an API in the APIExport, also by a new schema, finds the name of the schema
// in the status, and can update the PublishedResource: nothing is written to it for two seconds.
func TestUpdateOnceOffered(t *testing.T) {
	s := openShop(t)
	localAudit, kcpAudit := local.Audit(t), kube.AuditOf(t, workspaces.AuditLog())
	begin, offered := localAudit.Mark(), map[string][]time.Time{}
	for i := range 5 {
		plural := string(rune('a'+i)) + "hats"
		kube.Create(t, s.c, definition(s.group, plural))
		o := s.published(plural, kindOf(plural))
		schema := ""
		for _, change := range []func(){
			func() { kube.Create(t, s.c, o) },
			func() { redefine(t, s.c, plural+"."+s.group, addBrim) },
		} {
			mark := kcpAudit.Mark()
			change()
			schema = s.awaitSchema(t, plural, schema)
			kube.Get(t, s.c, client.ObjectKeyFromObject(o), o)
			if o.Status.ResourceSchemaName != schema {
				t.Errorf("schema in the status: want %q, got %q", schema, o.Status.ResourceSchemaName)
			}
			o.Labels = map[string]string{"schema": schema}
			kube.Update(t, s.c, o)
			for _, e := range writesOf(kcpAudit.Since(mark).By(agentUser), "apiexports", exportName) {
				offered[o.GetName()] = append(offered[o.GetName()], e.Time)
			}
			awaitPublished(t, s.c, o)
		}
	}
	for name, at := range offered {
		writes := writesOf(localAudit.Since(begin).By(user), "publishedresources", name)
		for _, w := range writes {
			if slices.ContainsFunc(at, func(at time.Time) bool {
				return w.Time.After(at) && w.Time.Sub(at) < 2*time.Second
			}) {
				t.Errorf("written within two seconds after the API was offered at %s:\n%s", at, writes)
			}
		}
	}
	if len(offered) == 0 {
		t.Errorf("no write of the APIExport is known")
	}
}

// writesOf returns those requests that write one resource.
func writesOf(all kube.Requests, resource, name string) (out kube.Requests) {
	for _, e := range all {
		if e.Resource == resource && e.Name == name && e.Verb != "get" && e.Verb != "list" {
			out = append(out, e)
		}
	}
	return out
}

// TestLastingProblem shows that it is told, once it has lasted for a while, that a workspace which binds an API cannot
// use it: here as it has a CustomResourceDefinition of that name.
func TestLastingProblem(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishHats(t)
	_, cfg := workspaces.Workspace(t)
	kube.Create(t, kcp.Client(t, cfg), definition(s.group, "hats"))
	kcp.Bind(t, cfg, s.path, exportName, claims()...)
	awaitMessage(t, s.c, o, isNot(v1alpha1.TypeClaimsAccepted, v1alpha1.ReasonPending), "cannot use the API")
}
