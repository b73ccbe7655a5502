package publishedresource_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// exportName is that of the APIExport of most tests, each of which has it in a workspace of its own.
const exportName = "shop.example.com"

var (
	local      kube.Server
	service    = kube.Server{Shared: "remote"}
	workspaces = kcp.Server{Audited: true}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &service, &workspaces)) }

// user is whom the provider is on the control plane, which is the service cluster of most tests.
const user = "provider-of-publications"

var startProvider sync.Once

// provide starts the controllers, once for all tests of the package, and returns a client of the control plane.
func provide(t *testing.T) client.Client {
	t.Helper()
	startProvider.Do(func() {
		local.InstallCRDs(t, filepath.Join("..", "..", "..", "package", "crds"))
		provider.Start(t, local.User(t, user, "system:masters"))
	})
	return local.Client(t, apis.AddToScheme)
}

// A shop is a workspace with an APIExport, and a ProviderConfig by which a publisher with no more than the rights it
// needs reaches it.
type shop struct {
	c      client.Client // of the control plane
	config string        // name of the ProviderConfig
	path   string
	admin  *rest.Config
	group  string // of the APIs of the test, on the service cluster and in kcp
	// version of the APIs in kcp, v1 if empty.
	version string
}

// openShop makes a workspace with an APIExport that offers nothing.
func openShop(t *testing.T) shop {
	t.Helper()
	s := newShop(t, exportName)
	s.connect(t, s.agent(t))
	return s
}

// newShop makes a workspace with APIExports that offer nothing, to which no ProviderConfig leads yet.
func newShop(t *testing.T, exports ...string) shop {
	t.Helper()
	s := shop{c: provide(t)}
	s.path, s.admin = workspaces.Workspace(t)
	for _, name := range exports {
		s.create(t, kcp.Export(name))
	}
	return s
}

// agent returns a user with the rights that a publisher needs, also to further APIExports.
func (s *shop) agent(t *testing.T, further ...string) *rest.Config {
	t.Helper()
	rules := kcp.AgentRules(exportName)
	for _, name := range further {
		rules = append(rules, kcp.AgentRules(name)...)
	}
	return kcp.ServiceAccount(t, s.admin, "agent", rules...)
}

// connect makes the ProviderConfig of a shop.
func (s *shop) connect(t *testing.T, cfg *rest.Config) {
	t.Helper()
	ns := local.Namespace(t)
	s.config, s.group = ns, ns+".example.com"
	kube.Create(t, s.c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, cfg)))
	spec := build.FromSecret(ns, "kcp")
	spec.KCP = &commonv1.KCPConnection{APIExport: &commonv1.APIExport{Name: exportName}}
	kube.Create(t, s.c, build.ClusterConfig(ns, spec))
}

// serviceCluster makes a ProviderConfig of another service cluster, and returns its name.
func serviceCluster(t *testing.T, c client.Client, cfg *rest.Config) string {
	t.Helper()
	ns := local.Namespace(t)
	kube.Create(t, c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, cfg)),
		build.ClusterConfig(ns, build.FromSecret(ns, "kcp")))
	return ns
}

// setConfig makes a ProviderConfig take its kubeconfig from Secret kcp of a namespace, and sets what it says of kcp.
func setConfig(t *testing.T, c client.Client, name, ns string, k *commonv1.KCPConnection) {
	t.Helper()
	spec := build.FromSecret(ns, "kcp")
	spec.KCP = k
	pc := &mpcv1alpha1.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: name}}
	update(t, c, pc, func() { pc.Spec.ProviderConfigSpec = spec })
}

func setSecret(t *testing.T, c client.Client, ns string, kubeconfig []byte) {
	t.Helper()
	kube.Update(t, c, build.Credentials(ns, "kcp", kubeconfig))
}

// create creates resources in the workspace of the shop.
func (s *shop) create(t *testing.T, objs ...client.Object) {
	t.Helper()
	kube.Create(t, kcp.Client(t, s.admin), objs...)
}

// How kinds of tests are defined, and named.
var definition, kindOf = build.Definition, build.Kind

// published returns a PublishedResource of a kind of the shop's group.
func (s *shop) published(name, kind string) *v1alpha1.PublishedResource {
	o := &v1alpha1.PublishedResource{ObjectMeta: metav1.ObjectMeta{Name: s.config + "-" + name}}
	o.Spec.ProviderConfigReference = &v1alpha1.ConfigReference{Name: s.config}
	o.Spec.Resource = v1alpha1.SourceResource{APIGroup: s.group, Kind: kind}
	return o
}

// publish defines an API, and publishes it. What is asked for can be changed.
func (s *shop) publish(
	t *testing.T, plural string, change ...func(*v1alpha1.PublishedResource),
) *v1alpha1.PublishedResource {
	t.Helper()
	kube.Create(t, s.c, definition(s.group, plural))
	return s.offer(t, s.published(plural, kindOf(plural)), change...)
}

// offer publishes an API that is defined.
func (s *shop) offer(
	t *testing.T, o *v1alpha1.PublishedResource, change ...func(*v1alpha1.PublishedResource),
) *v1alpha1.PublishedResource {
	t.Helper()
	for _, f := range change {
		f(o)
	}
	kube.Create(t, s.c, o)
	awaitPublished(t, s.c, o)
	return o
}

// unsynced has no objects synced.
func unsynced(o *v1alpha1.PublishedResource) { o.Spec.Synchronization = &v1alpha1.Synchronization{} }

// withdrawn has the API withdrawn when the PublishedResource is deleted.
func withdrawn(o *v1alpha1.PublishedResource) { o.Spec.DeletionPolicy = xpv2.DeletionDelete }

// asKind has an API of a group of Kubernetes offered as a kind of the shop.
func (s *shop) asKind(group, kind string) func(*v1alpha1.PublishedResource) {
	return func(o *v1alpha1.PublishedResource) {
		o.Spec.Resource.APIGroup = group
		o.Spec.Projection = &v1alpha1.ResourceProjection{Group: s.group, Kind: kind}
	}
}

// export reads the APIExport.
func (s *shop) export(t *testing.T) *apisv1alpha2.APIExport {
	t.Helper()
	e := &apisv1alpha2.APIExport{}
	kube.Get(t, kcp.Client(t, s.admin), types.NamespacedName{Name: exportName}, e)
	return e
}

// schemaOffered reads the schema by which an API is published.
func (s *shop) schemaOffered(t *testing.T, o *v1alpha1.PublishedResource) *apisv1alpha1.APIResourceSchema {
	t.Helper()
	ars := &apisv1alpha1.APIResourceSchema{}
	kube.Get(t, kcp.Client(t, s.admin), types.NamespacedName{Name: o.Status.ResourceSchemaName}, ars)
	return ars
}

// awaitSchema waits until the APIExport offers a resource by a schema other than the one given, and returns its name.
func (s *shop) awaitSchema(t *testing.T, plural, other string) string {
	t.Helper()
	var name string
	kube.Eventually(t, plural+" in the APIExport by another schema than "+other, func() (bool, string) {
		e := &apisv1alpha2.APIExport{}
		if err := kcp.Client(t, s.admin).Get(t.Context(), types.NamespacedName{Name: exportName}, e); err != nil {
			return false, err.Error()
		}
		name = schemaOf(e, plural)
		return name != "" && name != other, "it has " + name
	})
	return name
}

// schemaOf returns the schema by which an APIExport offers a resource, empty if it does not.
func schemaOf(e *apisv1alpha2.APIExport, plural string) string {
	for _, r := range e.Spec.Resources {
		if r.Name == plural {
			return r.Schema
		}
	}
	return ""
}

// redefine changes a CustomResourceDefinition.
func redefine(t *testing.T, c client.Client, name string, change func(*apiextensionsv1.CustomResourceDefinition)) {
	t.Helper()
	d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	update(t, c, d, func() { change(d) })
}

// setField adds a field to the spec of a kind, or takes it away.
func setField(d *apiextensionsv1.CustomResourceDefinition, field string, there bool) {
	spec := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	delete(spec.Properties, field)
	if there {
		spec.Properties[field] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
	d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = spec
}

// addBrim adds a field to the spec of a kind.
func addBrim(d *apiextensionsv1.CustomResourceDefinition) { setField(d, "brim", true) }

// update changes an object as it is now.
func update(t *testing.T, c client.Client, o client.Object, change func()) {
	t.Helper()
	kube.Await(t, c, o, "update of "+o.GetName(), func() (bool, string) {
		change()
		err := c.Update(t.Context(), o)
		return err == nil, fmt.Sprint(err)
	})
}

// remove deletes a PublishedResource, and waits until it is gone.
func remove(t *testing.T, c client.Client, o *v1alpha1.PublishedResource) {
	t.Helper()
	kube.Delete(t, c, o)
	awaitGone(t, c, o)
}

// awaitGone waits until a PublishedResource is gone.
func awaitGone(t *testing.T, c client.Client, o *v1alpha1.PublishedResource) {
	t.Helper()
	kube.Eventually(t, o.GetName()+" to be gone", func() (bool, string) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err), describe(o)
	})
}

// object returns an object of a kind of the shop, in its version.
func (s *shop) object(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": "L"}}}
	u.SetAPIVersion(s.group + "/" + cmp.Or(s.version, "v1"))
	u.SetKind(kind)
	u.SetNamespace(metav1.NamespaceDefault)
	u.SetName(name)
	return u
}

// A wantCondition is what a condition must be. An empty reason is any.
type wantCondition struct {
	Type   xpv2.ConditionType
	Status corev1.ConditionStatus
	Reason xpv2.ConditionReason
}

func is(t xpv2.ConditionType, r xpv2.ConditionReason) wantCondition {
	return wantCondition{Type: t, Status: corev1.ConditionTrue, Reason: r}
}

func isNot(t xpv2.ConditionType, r xpv2.ConditionReason) wantCondition {
	return wantCondition{Type: t, Status: corev1.ConditionFalse, Reason: r}
}

func isUnknown(t xpv2.ConditionType, r xpv2.ConditionReason) wantCondition {
	return wantCondition{Type: t, Status: corev1.ConditionUnknown, Reason: r}
}

// await waits until conditions of a PublishedResource are as wanted.
func await(t *testing.T, c client.Client, o *v1alpha1.PublishedResource, want ...wantCondition) {
	t.Helper()
	for _, w := range want {
		awaitMessage(t, c, o, w, "")
	}
}

// awaitMessage waits until a condition is as wanted and its message contains a text. One with the same reason may come
// first: of a workspace that is still binding, for example.
func awaitMessage(t *testing.T, c client.Client, o *v1alpha1.PublishedResource, w wantCondition, text string) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("%s: %s %s %s %q", o.GetName(), w.Type, w.Status, w.Reason, text),
		func() (bool, string) {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				return false, err.Error()
			}
			got := o.GetCondition(w.Type)
			return got.Status == w.Status && (w.Reason == "" || got.Reason == w.Reason) &&
				strings.Contains(got.Message, text), describe(o)
		})
}

// awaitPublished waits until a PublishedResource is published and ready.
func awaitPublished(t *testing.T, c client.Client, o *v1alpha1.PublishedResource) {
	t.Helper()
	await(t, c, o, is(v1alpha1.TypeSchemaPublished, ""), is(v1alpha1.TypeExportUpdated, ""), is(xpv2.TypeSynced, ""),
		is(xpv2.TypeReady, ""))
}

// describe returns the conditions of a PublishedResource as text.
func describe(o *v1alpha1.PublishedResource) string {
	var b strings.Builder
	for _, c := range o.Status.Conditions {
		b.WriteString(string(c.Type) + " " + string(c.Status) + " " + string(c.Reason) + " " + c.Message + "; ")
	}
	return b.String()
}

// awaitField waits until a text of an object is as wanted.
func awaitField(t *testing.T, c client.Client, u *unstructured.Unstructured, want string, fields ...string) {
	t.Helper()
	kube.Await(t, c, u, fmt.Sprint(fields, " of ", u.GetName(), " to be ", want), func() (bool, string) {
		got, _, _ := unstructured.NestedString(u.Object, fields...)
		return got == want, got
	})
}
