package publishedresource_test

import (
	"context"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	exporting "github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// awaitGone waits until a PublishedResource is gone.
func awaitGone(t *testing.T, c client.Client, o *v1alpha1.PublishedResource) {
	t.Helper()
	kube.Eventually(t, o.GetName()+" to be gone", func() (bool, string) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err), describe(o)
	})
}

// remove deletes a PublishedResource, and waits until it is gone.
func remove(t *testing.T, c client.Client, o *v1alpha1.PublishedResource) {
	t.Helper()
	kube.Delete(t, c, o)
	awaitGone(t, c, o)
}

// TestOrphan shows that a deleted PublishedResource leaves everything in kcp as it is, unless something else is asked
// for.
func TestOrphan(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishHats(t)
	before := s.export(t)
	remove(t, s.c, o)
	if after := s.export(t); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("APIExport must stay as it is: %v became %v", before.Spec, after.Spec)
	}
	if err := kcp.Client(t, s.admin).Get(t.Context(), types.NamespacedName{Name: schemaOf(before, "hats")},
		&apisv1alpha1.APIResourceSchema{}); err != nil {
		t.Errorf("schema must stay: %v", err)
	}
}

// TestWithdraw shows that a PublishedResource with deletionPolicy Delete waits until consumers have no objects left,
// says how many there are and where, and then takes from the APIExport what it has added and nobody else needs.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	kube.Create(t, s.c, definition(s.group, "hats"))
	kube.Create(t, s.c, definition(s.group, "coats"))
	s.edit(t, func(e *apisv1alpha2.APIExport) {
		e.Spec.PermissionClaims = []apisv1alpha2.PermissionClaim{{
			GroupResource: apisv1alpha2.GroupResource{Resource: "secrets"}, Verbs: []string{"get"},
		}}
	})
	hats, coats := s.published("hats", "Hat"), s.published("coats", "Coat")
	for _, o := range []*v1alpha1.PublishedResource{hats, coats} {
		o.Spec.DeletionPolicy = xpv2.DeletionDelete
		kube.Create(t, s.c, o)
		awaitPublished(t, s.c, o)
	}
	update(t, s.c, hats, func() { hats.Spec.EnableWorkspacePaths = true })
	await(t, s.c, hats, is(v1alpha1.TypeExportUpdated, ""))
	path, consumer := workspaces.Workspace(t)
	kcp.AwaitBound(t, consumer, kcp.Bind(t, consumer, s.path, exportName))
	await(t, s.c, hats, is(v1alpha1.TypeEndpointsReady, ""))
	createServed(t, consumer, s.object("Hat", "bowler"))
	kube.Create(t, kcp.Client(t, consumer), s.object("Hat", "top"))

	kube.Delete(t, s.c, hats)
	awaitMessage(t, s.c, hats, isNot(xpv2.TypeSynced, v1alpha1.ReasonConsumersLeft), "2: 2 in "+path)
	if schemaOf(s.export(t), "hats") == "" {
		t.Fatal("the API must not be withdrawn while consumers have objects")
	}
	for _, name := range []string{"bowler", "top"} {
		kube.Delete(t, kcp.Client(t, consumer), s.object("Hat", name))
	}
	awaitGone(t, s.c, hats)
	e := s.export(t)
	var claims []string
	for _, c := range e.Spec.PermissionClaims {
		claims = append(claims, c.Resource)
	}
	if schemaOf(e, "hats") != "" || schemaOf(e, "coats") == "" || strings.Join(claims, " ") != "secrets events" {
		t.Errorf("want hats withdrawn and coats left, with the claims of a stranger and of coats, "+
			"got resources %v and claims %v", e.Spec.Resources, claims)
	}
	remove(t, s.c, coats)
	if e := s.export(t); len(e.Spec.Resources) != 0 || len(e.Spec.PermissionClaims) != 1 {
		t.Errorf("want nothing left but what a stranger has added, got %v", e.Spec)
	}
}

// TestWithdrawBesideStranger shows that a PublishedResource goes although a publisher that this control plane does not
// know claims again what is withdrawn, at once and each time.
func TestWithdrawBesideStranger(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishHats(t)
	update(t, s.c, o, func() { o.Spec.DeletionPolicy = xpv2.DeletionDelete })
	events := exporting.Claim{GroupResource: schema.GroupResource{Resource: "events"}, Verbs: []string{"*"}}
	publish := func(d *exporting.Draft) error {
		return d.AddClaim(events, func(exporting.Claim) bool { return false })
	}
	exports, err := dynamic.NewForConfig(s.admin)
	if err != nil {
		t.Fatal(err)
	}
	client := exports.Resource(exporting.Exports)
	place, writer := exporting.Place{
		Client: client, Name: exportName,
		Read: func(ctx context.Context) (*unstructured.Unstructured, error) {
			return client.Get(ctx, exportName, metav1.GetOptions{})
		},
		Put: func(*unstructured.Unstructured) {},
	}, exporting.Writer{}
	kube.Delete(t, s.c, o)
	kube.Eventually(t, o.GetName()+" to be gone", func() (bool, string) {
		_, err := writer.Write(t.Context(), place, publish)
		if err != nil {
			t.Fatal(err)
		}
		err = s.c.Get(t.Context(), types.NamespacedName{Name: o.GetName()}, o)
		return apierrors.IsNotFound(err), describe(o)
	})
	if e := s.export(t); len(e.Spec.Resources) != 0 {
		t.Errorf("want hats withdrawn, got %v", e.Spec.Resources)
	}
}

// TestWithdrawTogether shows that of those that are withdrawn at a time the last one takes their claims away.
func TestWithdrawTogether(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	var all []*v1alpha1.PublishedResource
	for _, name := range []string{"hats", "coats", "shoes"} {
		kube.Create(t, s.c, definition(s.group, name))
		o := s.published(name, kindOf(name))
		o.Spec.DeletionPolicy = xpv2.DeletionDelete
		kube.Create(t, s.c, o)
		all = append(all, o)
	}
	for _, o := range all {
		awaitPublished(t, s.c, o)
	}
	for _, o := range all {
		kube.Delete(t, s.c, o)
	}
	for _, o := range all {
		awaitGone(t, s.c, o)
	}
	if e := s.export(t); len(e.Spec.Resources)+len(e.Spec.PermissionClaims) > 0 {
		t.Errorf("want nothing left, got %v", e.Spec)
	}
}

// TestSchemasGo shows that schemas of earlier states are deleted when nothing refers to them, if that is asked for, and
// those of others are not.
func TestSchemasGo(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	agent := kcp.ServiceAccount(t, s.admin, "gardener", append(kcp.AgentRules(exportName),
		rbacv1.PolicyRule{
			APIGroups: []string{"apis.kcp.io"}, Resources: []string{"apiresourceschemas"}, Verbs: []string{"delete"},
		},
		rbacv1.PolicyRule{
			APIGroups: []string{"apis.kcp.io"}, Resources: []string{"apiexports"}, Verbs: []string{"list"},
		})...)
	setSecret(t, s.c, s.config, kube.Kubeconfig(t, agent))
	kube.Create(t, s.c, definition(s.group, "hats"))
	o := s.published("hats", "Hat")
	o.Spec.UnusedSchemas = xpv2.DeletionDelete
	kube.Create(t, s.c, o)
	awaitPublished(t, s.c, o)
	first := s.awaitSchema(t, "hats", "")
	foreign, used := "v1.hats."+s.group, "v2.hats."+s.group
	s.create(t, kcp.Schema(foreign, s.group, "hats", "Hat"), kcp.Schema(used, s.group, "hats", "Hat"))
	other := kcp.Export("other.example.com")
	other.Spec.Resources = []apisv1alpha2.ResourceSchema{kcp.Offer(s.group, "hats", used)}
	s.create(t, other)
	s.binder(t)

	redefine(t, s.c, "hats."+s.group, addBrim)
	second := s.awaitSchema(t, "hats", first)
	in := kcp.Client(t, s.admin)
	kube.Eventually(t, "the first schema to be gone", func() (bool, string) {
		err := in.Get(t.Context(), types.NamespacedName{Name: first}, &apisv1alpha1.APIResourceSchema{})
		return apierrors.IsNotFound(err), describe(o)
	})
	for _, name := range []string{second, foreign, used} {
		if err := in.Get(t.Context(), types.NamespacedName{Name: name}, &apisv1alpha1.APIResourceSchema{}); err != nil {
			t.Errorf("schema %s must stay: %v", name, err)
		}
	}
}

// TestTwoOfOnePlace shows that of two PublishedResources that offer the same resource in one APIExport only the first
// does, that the other says so, and that it takes over when the first has gone.
func TestTwoOfOnePlace(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	kube.Create(t, s.c, definition(s.group, "hats"))
	kube.Create(t, s.c, definition(s.group, "caps", "peak"))
	first := s.published("hats", "Hat")
	kube.Create(t, s.c, first)
	awaitPublished(t, s.c, first)
	name := s.awaitSchema(t, "hats", "")
	second := s.published("caps", "Cap")
	second.Spec.Projection = &v1alpha1.ResourceProjection{Kind: "Hat"}
	kube.Create(t, s.c, second)
	await(t, s.c, second, isNot(v1alpha1.TypeSchemaPublished, v1alpha1.ReasonAlreadyPublished))
	awaitMessage(t, s.c, second, isNot(xpv2.TypeSynced, v1alpha1.ReasonAlreadyPublished), first.GetName())
	if got := schemaOf(s.export(t), "hats"); got != name {
		t.Errorf("schema of hats: want %s, got %s", name, got)
	}
	kube.Delete(t, s.c, first)
	s.awaitSchema(t, "hats", name)
	awaitPublished(t, s.c, second)
}

// TestInvalidSource shows that an API which kcp cannot have is reported, that nothing is published of it, that it is
// published once it can be, and that what is selected and still cannot be published is named.
func TestInvalidSource(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	kube.Create(t, s.c, definition(s.group, "hats"))
	o := s.published("hats", "Hat")
	o.Spec.Resource.Versions = []string{"v7", "v8"}
	kube.Create(t, s.c, o)
	await(t, s.c, o, isNot(v1alpha1.TypeSchemaPublished, "NotServed"), isNot(xpv2.TypeSynced, "NotServed"))
	redefine(t, s.c, "hats."+s.group, func(d *apiextensionsv1.CustomResourceDefinition) {
		for _, name := range []string{"v7", "v8"} {
			v := *d.Spec.Versions[0].DeepCopy()
			v.Name, v.Storage, v.Served = name, false, name == "v7"
			d.Spec.Versions = append(d.Spec.Versions, v)
		}
	})
	awaitPublished(t, s.c, o)
	awaitMessage(t, s.c, o, is(v1alpha1.TypeSchemaPublished, v1alpha1.ReasonPublished), "version v8 is not served")
}
