// Package sync_test tests the built provider with objects of consumers that it syncs: that none waits
// for others, and that being killed harms none.
package sync_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

const (
	// Whom the provider is on the service cluster, which is its control plane, too.
	user       = "provider"
	agentUser  = "system:serviceaccount:default:agent" // and in kcp
	admins     = "system:masters"
	exportName = "shop.example.com"
	// workers is how many requests of a test are under way at a time.
	workers = 20
)

var (
	service    kube.Server
	workspaces = kcp.Server{Audited: true}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &service, &workspaces)) }

// A shop is a published API, and consumers that have bound it.
type shop struct {
	c         client.Client // of the service cluster
	group     string
	path      string   // of the workspace with the APIExport
	claims    []string // what of the workspaces the provider may read and write
	provider  *provider.Process
	consumers []consumer
}

// A consumer is a workspace.
type consumer struct {
	client.Client

	cluster string
}

// A change changes how Hats are published and defined.
type change = func(*v1alpha1.PublishedResource, *apiextensionsv1.CustomResourceDefinition)

// open publishes Hats and binds them in some workspaces.
func open(t *testing.T, consumers int, changes ...change) *shop {
	t.Helper()
	service.InstallCRDs(t, filepath.Join("..", "..", "..", "package", "crds"))
	ns := service.Namespace(t)
	s := &shop{c: service.Client(t, apis.AddToScheme), group: ns + ".example.com", claims: []string{"events"}}
	path, admin := workspaces.Workspace(t)
	s.path = path
	kube.Create(t, kcp.Client(t, admin), kcp.Export(exportName))
	agent := kcp.ServiceAccount(t, admin, "agent", kcp.AgentRules(exportName)...)
	spec := build.FromSecret(ns, "kcp")
	spec.KCP = &commonv1.KCPConnection{APIExport: &commonv1.APIExport{Name: exportName}}
	o := &v1alpha1.PublishedResource{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	o.Spec.ProviderConfigReference = &v1alpha1.ConfigReference{Name: ns}
	o.Spec.Resource = v1alpha1.SourceResource{APIGroup: s.group, Kind: "Hat"}
	o.Spec.StateNamespace = ns
	d := build.Definition(s.group, "hats")
	for _, change := range changes {
		change(o, d)
	}
	if len(o.Spec.Related) > 0 {
		s.claims = append(s.claims, "namespaces", "secrets")
	}
	kube.Create(t, s.c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, agent)),
		build.ClusterConfig(ns, spec), d, o)
	t.Cleanup(func() { s.abandon(t, o) }) // When the provider has been killed: the next one has nothing to do with it.
	s.start(t)
	kube.Eventually(t, "the API to be published", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return err == nil && o.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue,
			fmt.Sprintf("%v %+v", err, o.Status)
	})
	for range consumers {
		s.consumers = append(s.consumers, s.bind(t))
	}
	kube.Eventually(t, "the consumers to be known", func() (bool, string) {
		err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return err == nil && o.Status.Workspaces != nil &&
			o.Status.Workspaces.Bound == int64(consumers), fmt.Sprintf("%v %+v", err, o.Status)
	})
	awaitSilence(t)
	return s
}

// abandon has a PublishedResource gone without a provider.
func (s *shop) abandon(t *testing.T, o *v1alpha1.PublishedResource) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if err := s.c.Delete(ctx, o); err != nil {
		t.Error(err)
	}
	err := s.c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	if client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}

// start starts the provider.
func (s *shop) start(t *testing.T) {
	t.Helper()
	s.provider = program.Start(t, service.User(t, user, admins), provider.Options{})
}

// bind makes a workspace that has bound the API of the shop.
func (s *shop) bind(t *testing.T) consumer {
	t.Helper()
	_, cfg := workspaces.Workspace(t)
	kcp.AwaitBound(t, cfg, kcp.Bind(t, cfg, s.path, exportName, kcp.Claims(s.claims...)...))
	c, ns := kcp.Client(t, cfg), &corev1.Namespace{}
	kube.Get(t, c, types.NamespacedName{Name: metav1.NamespaceDefault}, ns)
	return consumer{Client: c, cluster: ns.Annotations["kcp.io/cluster"]}
}

// hat returns an object of a consumer.
func (s *shop) hat(name string) *unstructured.Unstructured {
	u := build.Resource(s.group+"/v1", "Hat", metav1.NamespaceDefault, name)
	u.Object["spec"] = map[string]any{"size": "L"}
	return u
}

// create creates hats in a workspace.
func (s *shop) create(t *testing.T, in consumer, phase string, n int) {
	t.Helper()
	if err := s.createAll(t.Context(), in, phase, n); err != nil {
		t.Fatal(err)
	}
}

func (s *shop) createAll(ctx context.Context, in consumer, phase string, n int) error {
	return each(n, func(i int) error { return in.Create(ctx, s.hat(fmt.Sprintf("%s-%d", phase, i))) })
}

// copies returns the copies of a workspace.
func (s *shop) copies(t *testing.T, in consumer) []unstructured.Unstructured {
	t.Helper()
	return kube.ListOf(t, s.c, s.group+"/v1", "Hat", client.InNamespace(in.cluster))
}

// awaitCopies waits until a workspace has so many copies.
func (s *shop) awaitCopies(t *testing.T, in consumer, n int) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("%d copies", n), func() (bool, string) {
		got := len(s.copies(t, in))
		return got == n, strconv.Itoa(got)
	})
}

// each calls f with 0 to n-1, several at a time, and returns an error if there was one.
func each(n int, f func(i int) error) error {
	g := errgroup.Group{}
	g.SetLimit(workers)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}

// about leaves out events and the counts in the status of PublishedResources.
func about(r kube.Requests) kube.Requests {
	return r.That(func(e local.AuditEvent) bool { return e.Resource != "events" && e.Resource != "publishedresources" })
}
