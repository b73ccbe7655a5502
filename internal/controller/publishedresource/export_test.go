package publishedresource_test

import (
	"slices"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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
	o := s.publish(t, "hats")
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

// TestSchemaIsDeleted shows that a schema which somebody deletes comes back. One that was another than that which is to
// be is replaced, unless kcp stores objects in versions that only it had.
func TestSchemaIsDeleted(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publish(t, "hats")
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

	// lose has the schema deleted while nobody publishes, and adds a field to the source.
	lose := func(field string, versions map[string]v1alpha1.VersionName) string {
		t.Helper()
		lost := s.awaitSchema(t, "hats", "")
		remove(t, s.c, o)
		kube.Delete(t, in, &apisv1alpha1.APIResourceSchema{ObjectMeta: metav1.ObjectMeta{Name: lost}})
		redefine(t, s.c, "hats."+s.group,
			func(d *apiextensionsv1.CustomResourceDefinition) { setField(d, field, true) })
		o = s.published("hats", "Hat")
		o.Spec.Projection = &v1alpha1.ResourceProjection{Versions: versions}
		kube.Create(t, s.c, o)
		return lost
	}
	lose("brim", nil)
	awaitPublished(t, s.c, o)

	consumer := s.consumer(t, exportName)
	await(t, s.c, o, is(v1alpha1.TypeEndpointsReady, ""))
	kcp.CreateServed(t, consumer.cfg, s.object("Hat", "bowler"))
	lost := lose("feather", map[string]v1alpha1.VersionName{"v1": "v2"})
	gone := xpv2.ConditionReason("InvalidSchema")
	awaitMessage(t, s.c, o, isNot(v1alpha1.TypeSchemaPublished, gone),
		lost+`" was deleted, and kcp stores objects in a version that only this APIResourceSchema has: v1`)
	await(t, s.c, o, isNot(xpv2.TypeSynced, gone))
	update(t, s.c, o, func() { o.Spec.Projection = nil })
	awaitPublished(t, s.c, o)
	kube.Get(t, consumer, client.ObjectKeyFromObject(s.object("Hat", "bowler")), s.object("Hat", "bowler"))
}

// TestSchemaWasNeverThere shows that an entry of an APIExport is replaced whose schema nobody has ever seen.
func TestSchemaWasNeverThere(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.connect(t, s.agent(t))
	e, never := kcp.Export(exportName), "v0.hats."+s.group
	e.Spec.Resources = []apisv1alpha2.ResourceSchema{kcp.Offer(s.group, "hats", never)}
	s.create(t, e)
	s.publish(t, "hats")
	if s.awaitSchema(t, "hats", "") == never {
		t.Error("want a schema that is there")
	}
}

// TestExportGoes shows that an APIExport which is missing is reported and waited for, and made by who may: with its
// identity left to kcp, and a policy if that is asked for. A workspace that is deleted can go nevertheless: kcp deletes
// what is in it, and waits until all is gone. An object that somebody else holds there keeps it long enough to say so.
func TestExportGoes(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publish(t, "hats")
	in := kcp.Client(t, s.admin)
	kube.Delete(t, in, s.export(t))
	await(t, s.c, o, isNot(v1alpha1.TypeExportUpdated, v1alpha1.ReasonExportMissing),
		isNot(xpv2.TypeSynced, v1alpha1.ReasonExportMissing))
	s.create(t, kcp.Export(exportName))
	awaitPublished(t, s.c, o)

	// The right to create comes with the policy to create.
	ns := local.Namespace(t)
	kube.Create(t, s.c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, s.admin)))
	setConfig(t, s.c, s.config, ns, &commonv1.KCPConnection{APIExport: &commonv1.APIExport{
		Name: exportName, Create: new(true), MaximalPermissionPolicy: &commonv1.MaximalPermissionPolicy{},
	}})
	awaitPublished(t, s.c, o)
	kube.Delete(t, in, s.export(t))
	kube.Eventually(t, "the APIExport to be there again", func() (bool, string) {
		e := &apisv1alpha2.APIExport{}
		err := in.Get(t.Context(), types.NamespacedName{Name: exportName}, e)
		return err == nil && schemaOf(e, "hats") != "" && e.Status.IdentityHash != "" &&
			e.Spec.MaximalPermissionPolicy != nil, "it is not"
	})
	awaitPublished(t, s.c, o)

	held := kcp.Schema(boats, "other.example.com", "boats", "Boat")
	held.SetFinalizers([]string{"example.org/held"})
	s.create(t, held)
	gone := workspaces.DeleteWorkspace(t, s.path)
	await(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonWorkspaceDeleted))
	kube.Eventually(t, "the held schema to be let go", func() (bool, string) {
		err := in.Patch(t.Context(), held,
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		return client.IgnoreNotFound(err) == nil, "it is not"
	})
	kube.Eventually(t, "the workspace to be gone", gone)
}

// TestTwoOfOnePlace shows that of two PublishedResources that offer the same resource in one APIExport only the first
// does, that the other says so, and that it takes over when the first offers something else or has gone.
func TestTwoOfOnePlace(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	first := s.publish(t, "hats")
	name := s.awaitSchema(t, "hats", "")
	kube.Create(t, s.c, definition(s.group, "caps", "peak"))
	second := s.published("caps", "Cap")
	second.Spec.Projection = &v1alpha1.ResourceProjection{Kind: "Hat"}
	kube.Create(t, s.c, second)
	refused := func(o, by *v1alpha1.PublishedResource) {
		t.Helper()
		await(t, s.c, o, isNot(v1alpha1.TypeSchemaPublished, v1alpha1.ReasonAlreadyPublished))
		awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonAlreadyPublished), by.GetName())
	}
	refused(second, first)
	if got := schemaOf(s.export(t), "hats"); got != name {
		t.Errorf("schema of hats: want %s, got %s", name, got)
	}
	update(t, s.c, first, func() { first.Spec.Projection = &v1alpha1.ResourceProjection{Kind: "Bonnet"} })
	s.awaitSchema(t, "hats", name)
	awaitPublished(t, s.c, second)
	update(t, s.c, first, func() { first.Spec.Projection = nil })
	refused(first, second)
	remove(t, s.c, second)
	awaitPublished(t, s.c, first)
	if got := schemaOf(s.export(t), "hats"); got != name {
		t.Errorf("schema of hats again: want %s, got %s", name, got)
	}
}
