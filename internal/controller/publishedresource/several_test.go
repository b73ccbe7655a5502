package publishedresource_test

import (
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSeveral shows that one provider publishes from several service clusters to several APIExports in several
// workspaces, each with what the cluster it names has, and that the ProviderConfig of a service cluster stays as long
// as it is used.
func TestSeveral(t *testing.T) {
	t.Parallel()
	one, two := openShop(t), openShop(t)
	two.group = one.group
	kube.Create(t, one.c, definition(one.group, "hats", "brim"))
	kube.Create(t, service.Client(t), definition(one.group, "hats", "feather"))
	elsewhere := one.serviceCluster(t, service.User(t, user, "system:masters"))

	here, there, second := one.published("hats", "Hat"), two.published("hats", "Hat"), one.published("more", "Hat")
	there.Spec.ServiceClusterConfigReference = &v1alpha1.ConfigReference{Name: elsewhere}
	second.Spec.ServiceClusterConfigReference = &v1alpha1.ConfigReference{Name: elsewhere}
	second.Spec.APIExport = &commonv1.APIExport{Name: "second.example.com", Create: new(true)}
	// The least rights do not reach a second APIExport.
	setSecret(t, one.c, one.config, kube.Kubeconfig(t, one.admin))
	kube.Create(t, one.c, here, there, second)
	for _, o := range []*v1alpha1.PublishedResource{here, there, second} {
		awaitPublished(t, one.c, o)
	}
	for _, tc := range []struct {
		s     shop
		o     *v1alpha1.PublishedResource
		field string
	}{{s: one, o: here, field: "brim"}, {s: two, o: there, field: "feather"}, {s: one, o: second, field: "feather"}} {
		ars := tc.s.schemaOffered(t, tc.o)
		if !strings.Contains(string(ars.Spec.Versions[0].Schema.Raw), tc.field) {
			t.Errorf("%s: want a schema with field %s, got %s", tc.o.GetName(), tc.field,
				ars.Spec.Versions[0].Schema.Raw)
		}
	}

	// A change of the other cluster is followed, and its ProviderConfig is in use.
	redefine(t, service.Client(t), "hats."+one.group, addBrim)
	two.awaitSchema(t, "hats", there.Status.ResourceSchemaName)
	pc := &mpcv1alpha1.ClusterProviderConfig{}
	kube.Eventually(t, "two users", func() (bool, string) {
		err := one.c.Get(t.Context(), types.NamespacedName{Name: elsewhere}, pc)
		return err == nil && pc.Status.Users == 2, describe(there)
	})
	kube.Delete(t, one.c, pc)
	update(t, one.c, second, func() { second.Spec.ServiceClusterConfigReference = nil })
	kube.Eventually(t, "one user", func() (bool, string) {
		err := one.c.Get(t.Context(), types.NamespacedName{Name: elsewhere}, pc)
		return err == nil && pc.Status.Users == 1, "more"
	})
	update(t, one.c, there, func() { there.Spec.ServiceClusterConfigReference = nil })
	kube.Eventually(t, "the ProviderConfig to be gone", func() (bool, string) {
		return apierrors.IsNotFound(one.c.Get(t.Context(), client.ObjectKeyFromObject(pc), pc)), "it is there"
	})
}

// TestUnreachableServiceCluster shows that a service cluster which does not answer is reported as such, and that
// nothing is withdrawn.
func TestUnreachableServiceCluster(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishHats(t)
	before := s.export(t)
	cfg := service.Config()
	cfg.Host = "https://" + kube.Refused(t)
	elsewhere := s.serviceCluster(t, cfg)
	update(t, s.c, o, func() { o.Spec.ServiceClusterConfigReference = &v1alpha1.ConfigReference{Name: elsewhere} })
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, commonv1.ReasonTargetUnreachable), elsewhere)
	if after := s.export(t); after.ResourceVersion != before.ResourceVersion {
		t.Error("APIExport must stay as it is")
	}
}

// TestObserveOnly shows that a PublishedResource that may only look changes nothing, and says what is missing.
func TestObserveOnly(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	kube.Create(t, s.c, definition(s.group, "hats"))
	o := s.published("hats", "Hat")
	o.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionObserve}
	kube.Create(t, s.c, o)
	await(t, s.c, o, isNot(xpv2.TypeSynced, commonv1.ReasonResourceMissing),
		isNot(v1alpha1.TypeSchemaPublished, v1alpha1.ReasonNotPublished))
	if e := s.export(t); len(e.Spec.Resources) != 0 {
		t.Errorf("want nothing published, got %v", e.Spec.Resources)
	}
	update(t, s.c, o, func() { o.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionAll} })
	awaitPublished(t, s.c, o)
}

// TestBuiltIn shows that an API without a CustomResourceDefinition can be published, under another group as kcp wants
// it.
func TestBuiltIn(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.published("deployments", "Deployment")
	o.Spec.Resource.APIGroup = "apps"
	o.Spec.Projection = &v1alpha1.ResourceProjection{Group: s.group, Kind: "Workload"}
	kube.Create(t, s.c, o)
	awaitPublished(t, s.c, o)
	consumer := s.binder(t)
	w := s.object("Workload", "web")
	if err := unstructured.SetNestedField(w.Object, int64(3), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "a Workload in the workspace", func() (bool, string) {
		u := w.DeepCopy()
		delete(u.Object["spec"].(map[string]any), "size")
		_ = unstructured.SetNestedMap(u.Object, map[string]any{"app": "web"}, "spec", "selector", "matchLabels")
		_ = unstructured.SetNestedField(u.Object, "web", "spec", "template", "metadata", "name")
		_ = unstructured.SetNestedSlice(u.Object, []any{map[string]any{"name": "web", "image": "web"}}, "spec",
			"template", "spec", "containers")
		err := kcp.Client(t, consumer).Create(t.Context(), u)
		if err != nil {
			return false, err.Error()
		}
		return true, ""
	})
}

// TestIdentity shows that a claim to what another APIExport offers names its identity, that it is refused without one,
// and that it follows the identity: an APIExport has one claim to a resource.
func TestIdentity(t *testing.T) {
	t.Parallel()
	s, other := openShop(t), openShop(t)
	other.offerBoats(t)
	kube.Create(t, s.c, definition(s.group, "hats"))
	o := s.published("hats", "Hat")
	o.Spec.Related = []v1alpha1.RelatedResource{{
		Identifier: "boat", Origin: v1alpha1.OriginKCP, Group: "other.example.com", Version: "v1", Resource: "boats",
		Object: byField("spec.size"),
	}}
	kube.Create(t, s.c, o)
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, v1alpha1.ReasonIdentityHashMissing),
		`related resource "boat" needs identityHash, which is status.identityHash of the APIExport that offers boats.other`)
	kube.Eventually(t, "the identity of the other APIExport", func() (bool, string) {
		return other.export(t).Status.IdentityHash != "", "none"
	})
	for _, hash := range []string{other.export(t).Status.IdentityHash, "of-yet-another"} {
		update(t, s.c, o, func() { o.Spec.Related[0].IdentityHash = hash })
		s.awaitClaim(t, "boats", hash)
		awaitPublished(t, s.c, o)
	}
}

// awaitClaim waits until the APIExport has one claim to a resource, of an identity.
func (s *shop) awaitClaim(t *testing.T, resource, identity string) {
	t.Helper()
	kube.Eventually(t, "one claim to "+resource+" of identity "+identity, func() (bool, string) {
		var got []string
		for _, c := range s.export(t).Spec.PermissionClaims {
			if c.Resource == resource {
				got = append(got, c.IdentityHash)
			}
		}
		return slices.Equal(got, []string{identity}), strings.Join(got, ", ")
	})
}
