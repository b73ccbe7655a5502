package publishedresource_test

import (
	"slices"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestStrangerEdits shows that what a stranger takes from an APIExport comes back, and what a stranger adds stays.
func TestStrangerEdits(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishHats(t)
	name := s.awaitSchema(t, "hats", "")
	claim := apisv1alpha2.PermissionClaim{
		GroupResource: apisv1alpha2.GroupResource{Resource: "secrets"}, Verbs: []string{"get"},
	}
	s.offerBoats(t, func(e *apisv1alpha2.APIExport) {
		e.Spec.PermissionClaims = []apisv1alpha2.PermissionClaim{claim}
		e.Annotations["stranger"] = "was here"
	})
	if got := s.awaitSchema(t, "hats", ""); got != name {
		t.Errorf("schema of hats: want %s, got %s", name, got)
	}
	unknown := "v0.hats." + s.group
	s.edit(t, func(e *apisv1alpha2.APIExport) {
		e.Spec.Resources = append(
			slices.DeleteFunc(e.Spec.Resources, func(r apisv1alpha2.ResourceSchema) bool { return r.Name == "hats" }),
			kcp.Offer(s.group, "hats", unknown))
	})
	if got := s.awaitSchema(t, "hats", unknown); got != name {
		t.Errorf("schema of hats, which a stranger has set to one that does not exist: want %s, got %s", name, got)
	}
	awaitPublished(t, s.c, o)
	e := s.export(t)
	if schemaOf(e, "boats") != boats || e.Annotations["stranger"] != "was here" {
		t.Errorf("what a stranger has added is lost: resources %v, annotations %v", e.Spec.Resources, e.Annotations)
	}
	verbs := map[string][]string{}
	for _, c := range e.Spec.PermissionClaims {
		verbs[c.Resource] = c.Verbs
	}
	if !slices.Equal(verbs["secrets"], []string{"get"}) || !slices.Equal(verbs["events"], []string{"*"}) {
		t.Errorf("claims: got verbs %v", verbs)
	}
}

// boats is the schema of what a stranger offers.
const boats = "v1.boats.other.example.com"

// offerBoats has the APIExport offer boats alone, as a stranger does, with further changes.
func (s *shop) offerBoats(t *testing.T, change ...func(*apisv1alpha2.APIExport)) {
	t.Helper()
	s.create(t, kcp.Schema(boats, "other.example.com", "boats", "Boat"))
	s.edit(t, func(e *apisv1alpha2.APIExport) {
		e.Spec.Resources = []apisv1alpha2.ResourceSchema{kcp.Offer("other.example.com", "boats", boats)}
		for _, f := range change {
			f(e)
		}
	})
}

// edit changes the APIExport as a stranger does.
func (s *shop) edit(t *testing.T, change func(*apisv1alpha2.APIExport)) {
	t.Helper()
	e := &apisv1alpha2.APIExport{ObjectMeta: metav1.ObjectMeta{Name: exportName}}
	update(t, kcp.Client(t, s.admin), e, func() { change(e) })
}

// TestSchemaIsDeleted shows that a schema which somebody deletes comes back. If it was another one than that which is
// to be, and nobody knows it any more, nothing is published: kcp may store objects in versions that only it had.
func TestSchemaIsDeleted(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishHats(t)
	was := &apisv1alpha1.APIResourceSchema{}
	in := kcp.Client(t, s.admin)
	kube.Get(t, in, types.NamespacedName{Name: s.awaitSchema(t, "hats", "")}, was)
	if got := was.Labels[v1alpha1.LabelKeyAgentName]; got != exportName+"-syncagent" {
		t.Errorf("agent of schema: got %q", got)
	}
	kube.Delete(t, in, was)
	kube.Eventually(t, "the schema to be there again", func() (bool, string) {
		is := &apisv1alpha1.APIResourceSchema{}
		err := in.Get(t.Context(), types.NamespacedName{Name: was.GetName()}, is)
		return err == nil && is.GetUID() != was.GetUID(), "it is not"
	})
	awaitPublished(t, s.c, o)

	remove(t, s.c, o)
	kube.Delete(t, in, &apisv1alpha1.APIResourceSchema{ObjectMeta: metav1.ObjectMeta{Name: was.GetName()}})
	redefine(t, s.c, "hats."+s.group, addBrim)
	o = s.published("hats", "Hat")
	kube.Create(t, s.c, o)
	gone := xpv2.ConditionReason("InvalidSchema")
	awaitMessage(t, s.c, o, isNot(v1alpha1.TypeSchemaPublished, gone), was.GetName()+`" is gone`)
	await(t, s.c, o, isNot(xpv2.TypeSynced, gone))
	s.edit(t, func(e *apisv1alpha2.APIExport) { e.Spec.Resources = nil })
	awaitPublished(t, s.c, o)
}

// TestSchemaOfAnother shows that a schema which another agent has made is used as it is: the least rights do not allow
// to change it.
func TestSchemaOfAnother(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	first := s.publishHats(t)
	remove(t, s.c, first)
	ars := &apisv1alpha1.APIResourceSchema{ObjectMeta: metav1.ObjectMeta{Name: schemaOf(s.export(t), "hats")}}
	in := kcp.Client(t, s.admin)
	kube.Get(t, in, client.ObjectKeyFromObject(ars), ars)
	second := s.published("more", "Hat")
	second.Spec.AgentName = "another"
	kube.Create(t, s.c, second)
	awaitPublished(t, s.c, second)
	before := ars.DeepCopy()
	kube.Get(t, in, client.ObjectKeyFromObject(ars), ars)
	if diff := cmp.Diff(before, ars); diff != "" || second.Status.ResourceSchemaName != ars.Name {
		t.Errorf("want schema %s used, got %s, and left as it is: -before, +after:\n%s", ars.Name,
			second.Status.ResourceSchemaName, diff)
	}
}

// TestExportGoes shows that an APIExport which is missing is reported and waited for, and made by who may: with its
// identity left to kcp, and a policy if that is asked for.
func TestExportGoes(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishHats(t)
	in := kcp.Client(t, s.admin)
	kube.Delete(t, in, s.export(t))
	await(t, s.c, o, isNot(v1alpha1.TypeExportUpdated, v1alpha1.ReasonExportMissing),
		isNot(xpv2.TypeSynced, v1alpha1.ReasonExportMissing))
	s.create(t, kcp.Export(exportName))
	awaitPublished(t, s.c, o)

	// The right to create comes with the policy to create.
	ns := local.Namespace(t)
	kube.Create(t, s.c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, s.admin)))
	pc := &commonv1.KCPConnection{APIExport: &commonv1.APIExport{
		Name: exportName, Create: new(true), MaximalPermissionPolicy: &commonv1.MaximalPermissionPolicy{},
	}}
	setConfig(t, s.c, s.config, ns, pc)
	awaitPublished(t, s.c, o)
	kube.Delete(t, in, s.export(t))
	kube.Eventually(t, "the APIExport to be there again", func() (bool, string) {
		e := &apisv1alpha2.APIExport{}
		err := in.Get(t.Context(), types.NamespacedName{Name: exportName}, e)
		return err == nil && schemaOf(e, "hats") != "" && e.Status.IdentityHash != "" &&
			e.Spec.MaximalPermissionPolicy != nil, "it is not"
	})
	awaitPublished(t, s.c, o)
}

// TestCredentials shows that credentials which stop to work are reported, and that those which replace them are used.
func TestCredentials(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishHats(t)
	first := s.awaitSchema(t, "hats", "")
	bad := kcp.ServiceAccount(t, s.admin, "agent")
	bad.BearerToken = "void"
	setSecret(t, s.c, s.config, kube.Kubeconfig(t, bad))
	await(t, s.c, o, isNot(xpv2.TypeSynced, commonv1.ReasonUnauthorized))

	redefine(t, s.c, "hats."+s.group, addBrim)
	setSecret(t, s.c, s.config, kube.Kubeconfig(t, kcp.ServiceAccount(t, s.admin, "agent")))
	s.awaitSchema(t, "hats", first)
	awaitPublished(t, s.c, o)
}

// TestRightsCome shows that an API is published soon after its publisher gets the rights it lacks, although kcp tells
// nobody.
func TestRightsCome(t *testing.T) {
	t.Parallel()
	kube.Figure(t, "from the rights to the publication", func() time.Duration {
		s := newShop(t, exportName)
		s.connect(t, kcp.ServiceAccount(t, s.admin, "agent"))
		kube.Create(t, s.c, definition(s.group, "hats"))
		o := s.published("hats", "Hat")
		kube.Create(t, s.c, o)
		await(t, s.c, o, isNot(xpv2.TypeSynced, commonv1.ReasonForbidden))

		in, role := kcp.Client(t, s.admin), &rbacv1.ClusterRole{}
		kube.Get(t, in, types.NamespacedName{Name: "agent"}, role)
		role.Rules = append(role.Rules, kcp.AgentRules(exportName)...)
		began := time.Now()
		kube.Update(t, in, role)
		awaitPublished(t, s.c, o)
		return time.Since(began)
	})
}

func setSecret(t *testing.T, c client.Client, ns string, kubeconfig []byte) {
	t.Helper()
	kube.Update(t, c, build.Credentials(ns, "kcp", kubeconfig))
}
