package outage_test

import (
	"fmt"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	exportName = "shop.example.com"
	stranger   = "v1.boats.other.example.com" // a schema that somebody else has in the APIExport
)

// A world is a workspace of a kcp with an APIExport, which offers what two service clusters have, and which another
// workspace has bound.
type world struct {
	c      client.Client // of the control plane
	kcp    *kcp.Server
	config string // name of the ProviderConfig
	path   string
	export types.UID
	hats   *v1alpha1.PublishedResource // of the control plane
	coats  *v1alpha1.PublishedResource // of the other service cluster
}

// open makes a world and waits until all is published and served.
func open(t *testing.T, c client.Client, server *kcp.Server, group string) *world {
	t.Helper()
	m := &world{c: c, kcp: server, config: local.Namespace(t)}
	path, admin := server.Workspace(t)
	m.path = path
	e := kcp.Export(exportName)
	e.Spec.Resources = []apisv1alpha2.ResourceSchema{kcp.Offer("other.example.com", "boats", stranger)}
	kube.Create(t, kcp.Client(t, admin), kcp.Schema(stranger, "other.example.com", "boats", "Boat"), e)
	m.export = e.GetUID()
	connection := &commonv1.KCPConnection{APIExport: &commonv1.APIExport{Name: exportName}}
	agent := kcp.ServiceAccount(t, admin, "agent", kcp.AgentRules(exportName)...)
	connect(t, c, m.config, kube.Kubeconfig(t, agent), connection)
	m.hats, m.coats = m.published(group, "hats"), m.published(group, "coats")
	m.coats.Spec.ServiceClusterConfigReference = &v1alpha1.ConfigReference{Name: elsewhere}
	kube.Create(t, c, m.hats, m.coats)
	_, consumer := server.Workspace(t)
	kcp.AwaitBound(t, consumer, kcp.Bind(t, consumer, path, exportName))
	for _, o := range m.resources() {
		m.awaitServed(t, o)
	}
	return m
}

// connect makes a ProviderConfig.
func connect(t *testing.T, c client.Client, name string, kubeconfig []byte, k *commonv1.KCPConnection) {
	t.Helper()
	spec := build.FromSecret("default", name)
	spec.KCP = k
	kube.Create(t, c, build.Credentials("default", name, kubeconfig),
		build.ClusterConfig(name, spec))
}

// published returns a PublishedResource of a resource.
func (m *world) published(group, plural string) *v1alpha1.PublishedResource {
	o := &v1alpha1.PublishedResource{ObjectMeta: metav1.ObjectMeta{Name: m.config + "-" + plural}}
	o.Spec.ProviderConfigReference = &v1alpha1.ConfigReference{Name: m.config}
	o.Spec.Resource = v1alpha1.SourceResource{APIGroup: group, Kind: build.Kind(plural)}
	return o
}

func (m *world) resources() []*v1alpha1.PublishedResource {
	return []*v1alpha1.PublishedResource{m.hats, m.coats}
}

// read reads the APIExport.
func (m *world) read(t *testing.T) *apisv1alpha2.APIExport {
	t.Helper()
	e := &apisv1alpha2.APIExport{}
	in := kcp.Client(t, m.kcp.Config(m.path))
	kube.Get(t, in, types.NamespacedName{Name: exportName}, e)
	return e
}

// schemas returns the schemas that the APIExport offers, by their resources.
func (m *world) schemas(t *testing.T) map[string]string {
	t.Helper()
	s := map[string]string{}
	for _, r := range m.read(t).Spec.Resources {
		s[r.Name] = r.Schema
	}
	return s
}

// awaitOther waits until the APIExport offers hats and coats by other schemas than before.
func (m *world) awaitOther(t *testing.T, before map[string]string) {
	t.Helper()
	kube.Eventually(t, "other schemas in "+m.path, func() (bool, string) {
		now := m.schemas(t)
		if now["hats"] != before["hats"] && now["coats"] != before["coats"] {
			return true, ""
		}
		_ = m.c.Get(t.Context(), client.ObjectKeyFromObject(m.hats), m.hats)
		return false, fmt.Sprint(now, " ", describe(m.hats))
	})
}

// awaitServed waits until a PublishedResource is published and served, and nothing is wrong with it.
func (m *world) awaitServed(t *testing.T, o *v1alpha1.PublishedResource) {
	t.Helper()
	kube.Eventually(t, o.GetName()+" to be served", func() (bool, string) {
		if err := m.c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return false, err.Error()
		}
		for _, c := range []xpv2.ConditionType{
			xpv2.TypeSynced, xpv2.TypeReady, v1alpha1.TypeSchemaPublished, v1alpha1.TypeExportUpdated,
			v1alpha1.TypeEndpointsReady,
		} {
			if o.GetCondition(c).Status != corev1.ConditionTrue {
				return false, describe(o)
			}
		}
		return o.Status.Workspaces.Bound == 1 && len(o.Status.Endpoints) == 1, describe(o)
	})
}

// awaitUnreachable waits until a PublishedResource says that kcp does not answer.
func (m *world) awaitUnreachable(t *testing.T, o *v1alpha1.PublishedResource) {
	t.Helper()
	kube.Eventually(t, o.GetName()+" to say that kcp does not answer", func() (bool, string) {
		err := m.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		c := o.GetCondition(xpv2.TypeSynced)
		return err == nil && c.Status == corev1.ConditionFalse &&
			c.Reason == commonv1.ReasonTargetUnreachable, describe(o)
	})
}

// since returns when each condition of the PublishedResources of a world began to be what it is.
func (m *world) since(t *testing.T) map[string]string {
	t.Helper()
	s := map[string]string{}
	for _, o := range m.resources() {
		kube.Get(t, m.c, client.ObjectKeyFromObject(o), o)
		for _, c := range []xpv2.ConditionType{xpv2.TypeSynced, xpv2.TypeReady, v1alpha1.TypeEndpointsReady} {
			got := o.GetCondition(c)
			s[o.GetName()+" "+string(c)] = fmt.Sprint(got.Status, got.LastTransitionTime)
		}
	}
	return s
}

// describe returns the conditions of a PublishedResource as text.
func describe(o *v1alpha1.PublishedResource) string {
	var b strings.Builder
	for _, c := range o.Status.Conditions {
		fmt.Fprintf(&b, "%s %s %s %s; ", c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}
