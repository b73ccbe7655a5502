package publishedresource_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestPublish follows an API from its publication over a workspace that cannot use it for a while, and the first
// consumer, to the acceptance of its claims. Its conditions and events tell of each step, with no rights in kcp but the
// least. See
// https://github.com/kcp-dev/api-syncagent/issues/112.
func TestPublish(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publish(t, "hats", func(o *v1alpha1.PublishedResource) {
		o.Spec.EnableWorkspacePaths, o.Spec.AgentName = true, "hatter"
	})
	awaitMessage(t, s.c, o, isUnknown(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonNotBound),
		`No workspace has bound APIExport "`+exportName+`"`)
	e := s.export(t)
	name := schemaOf(e, "hats")
	if name == "" || name != o.Status.ResourceSchemaName || o.Status.APIExport != exportName {
		t.Errorf("status has schema %q of APIExport %q, the APIExport has %q", o.Status.ResourceSchemaName,
			o.Status.APIExport, name)
	}
	wantClaims := append(kcp.Claims("events"), apisv1alpha2.PermissionClaim{
		GroupResource: apisv1alpha2.GroupResource{Group: "core.kcp.io", Resource: "logicalclusters"},
		Verbs:         []string{"*"},
	})
	if diff := cmp.Diff(wantClaims, e.Spec.PermissionClaims); diff != "" {
		t.Errorf("claims: -want, +got:\n%s", diff)
	}
	if got := e.GetAnnotations()[v1alpha1.AnnotationKeyAgentName]; got != "hatter" {
		t.Errorf("agent of APIExport: want hatter, got %q", got)
	}
	kube.AwaitEvent(t, s.c, "CreatedSchema", o.GetName(), name)
	kube.AwaitEvent(t, s.c, "UpdatedAPIExport", o.GetName(), name)

	// A workspace has a CustomResourceDefinition of the name.
	_, hindered := workspaces.Workspace(t)
	kube.Create(t, kcp.Client(t, hindered), definition(s.group, "hats"))
	b := kcp.Bind(t, hindered, s.path, exportName, wantClaims...)
	awaitMessage(t, s.c, o, isNot(v1alpha1.TypeClaimsAccepted, v1alpha1.ReasonPending), "cannot use the API")
	kube.Remove(t, kcp.Client(t, hindered), b)

	// The first consumer accepts one claim, the second both.
	first, two := s.consumer(t, exportName, wantClaims[0]), s.consumer(t, exportName, wantClaims...)
	await(t, s.c, o, is(v1alpha1.TypeEndpointsReady, v1alpha1.ReasonServing))
	pending := first.path + " has not accepted the claims for logicalclusters.core.kcp.io"
	awaitMessage(t, s.c, o, isNot(v1alpha1.TypeClaimsAccepted, v1alpha1.ReasonPending), pending)
	kube.Await(t, s.c, o, "two workspaces and three claims", func() (bool, string) {
		want := v1alpha1.ClaimCounts{
			Accepted: 3, Total: 4, Pending: []v1alpha1.PendingClaims{{
				Workspace: first.path, Claims: []string{"logicalclusters.core.kcp.io"},
			}},
		}
		if o.Status.Claims == nil || o.Status.Workspaces == nil {
			return false, describe(o)
		}
		diff := cmp.Diff(want, *o.Status.Claims)
		return diff == "" && o.Status.Workspaces.Bound == 2 && len(o.Status.Endpoints) == 1, diff
	})
	kcp.CreateServed(t, two.cfg, s.object("Hat", "top"))

	b = &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: exportName}}
	update(t, first, b, func() { b.Spec.PermissionClaims = kcp.Accepted(wantClaims...) })
	await(t, s.c, o, is(v1alpha1.TypeClaimsAccepted, v1alpha1.ReasonAccepted))

	// Who unbinds is not counted any more.
	unbind(t, first)
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

// TestCredentials shows that credentials which stop to work are reported, and so are those that replace them and lack
// rights, and that these are used soon after they get the rights, although kcp tells nobody.
func TestCredentials(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publish(t, "hats")
	first := s.awaitSchema(t, "hats", "")
	bad := kcp.ServiceAccount(t, s.admin, "agent")
	bad.BearerToken = "void"
	setSecret(t, s.c, s.config, kube.Kubeconfig(t, bad))
	await(t, s.c, o, isNot(xpv2.TypeSynced, commonv1.ReasonUnauthorized))

	redefine(t, s.c, "hats."+s.group, addBrim)
	setSecret(t, s.c, s.config, kube.Kubeconfig(t, kcp.ServiceAccount(t, s.admin, "new")))
	await(t, s.c, o, isNot(xpv2.TypeSynced, commonv1.ReasonForbidden))
	in, role := kcp.Client(t, s.admin), &rbacv1.ClusterRole{}
	kube.Get(t, in, types.NamespacedName{Name: "new"}, role)
	role.Rules = append(role.Rules, kcp.AgentRules(exportName)...)
	kube.Update(t, in, role)
	s.awaitSchema(t, "hats", first)
	awaitPublished(t, s.c, o)
}

// TestConfigOfPublisher shows that a PublishedResource publishes through the ClusterProviderConfig that it names, with
// the APIExport, the agent name and the verbs of claims that this gives, and is counted among the users of the one it
// refers to.
func TestConfigOfPublisher(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	spec := build.FromSecret(s.config, "kcp")
	spec.KCP = &commonv1.KCPConnection{
		APIExport: &commonv1.APIExport{Name: exportName, ClaimVerbs: commonv1.ClaimVerbsNeeded}, AgentName: "carrier",
	}
	other := build.ClusterConfig(s.config+"-other", spec)
	kube.Create(t, s.c, other)
	o := s.publish(t, "hats", func(o *v1alpha1.PublishedResource) {
		o.Spec.ProviderConfigReference = &v1alpha1.ConfigReference{Name: other.GetName()}
	})
	if got := s.export(t).GetAnnotations()[v1alpha1.AnnotationKeyAgentName]; got != "carrier" {
		t.Errorf("agent of the APIExport: want that of the ClusterProviderConfig, got %q", got)
	}
	if c := s.export(t).Spec.PermissionClaims; len(c) != 1 || slices.Contains(c[0].Verbs, "*") {
		t.Errorf("claims: want one with the verbs that are needed, got %v", c)
	}
	own := build.ClusterConfig(s.config, spec)
	awaitConfigUsers(t, s.c, other, 1)
	awaitConfigUsers(t, s.c, own, 0)

	update(t, s.c, o, func() {
		o.Spec.ProviderConfigReference, o.Spec.AgentName = &v1alpha1.ConfigReference{Name: s.config}, "carrier"
	})
	awaitConfigUsers(t, s.c, own, 1)
	awaitConfigUsers(t, s.c, other, 0)
	awaitPublished(t, s.c, o)
}

// awaitConfigUsers waits until a ProviderConfig says how many users it has.
func awaitConfigUsers(t *testing.T, c client.Client, pc resource.ProviderConfig, want int64) {
	t.Helper()
	kube.Await(t, c, pc, fmt.Sprintf("%d users of %T %s", want, pc, pc.GetName()), func() (bool, string) {
		return pc.GetUsers() == want, fmt.Sprintf("%d are", pc.GetUsers())
	})
}

// TestSeveral shows that one provider publishes from several service clusters to several APIExports in several
// workspaces, each with what the cluster it names has, and that the ProviderConfig of a service cluster stays as long
// as it is used.
func TestSeveral(t *testing.T) {
	t.Parallel()
	one, two := openShop(t), openShop(t)
	two.group = one.group
	kube.Create(t, one.c, definition(one.group, "hats", "brim"))
	kube.Create(t, service.Client(t), definition(one.group, "hats", "feather"))
	elsewhere := serviceCluster(t, one.c, service.User(t, user, "system:masters"))
	here, there := one.published("hats", "Hat"), two.published("hats", "Hat")
	there.Spec.ServiceClusterConfigReference = &v1alpha1.ConfigReference{Name: elsewhere}
	kube.Create(t, one.c, here, there)
	for field, p := range map[string]struct {
		shop
		*v1alpha1.PublishedResource
	}{"brim": {one, here}, "feather": {two, there}} {
		awaitPublished(t, one.c, p.PublishedResource)
		schema := string(p.schemaOffered(t, p.PublishedResource).Spec.Versions[0].Schema.Raw)
		if !strings.Contains(schema, field) {
			t.Errorf("%s: want a schema with field %s, got %s", p.GetName(), field, schema)
		}
	}
	// A change of the other cluster is followed, and its ProviderConfig is in use.
	redefine(t, service.Client(t), "hats."+one.group, addBrim)
	two.awaitSchema(t, "hats", there.Status.ResourceSchemaName)
	pc := &mpcv1alpha1.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}}
	awaitConfigUsers(t, one.c, pc, 1)
	kube.Delete(t, one.c, pc)
	update(t, one.c, there, func() { there.Spec.ServiceClusterConfigReference = nil })
	kube.AwaitGone(t, one.c, pc)
}
