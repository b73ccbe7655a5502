// Package shards_test shows that the workspaces of a kcp of several shards are synced each by its shard: one that is
// down delays no other and loses nothing, and one that is added is served.
package shards_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	exportName = "shop.example.com"
	east, west = "east", "west" // shards beside the root shard
)

var (
	local  kube.Server
	shards = kcp.Shards{Others: []string{east}}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &shards)) }

// A shop is a workspace with an APIExport that offers a kind of the service cluster.
type shop struct {
	c     client.Client
	path  string
	kind  schema.GroupVersionKind
	offer *v1alpha1.PublishedResource
}

// open makes a shop on a shard.
func open(t *testing.T, c client.Client, shard string) *shop {
	t.Helper()
	path, admin := shards.Workspace(t, shard)
	kube.Create(t, kcp.Client(t, admin), kcp.Export(exportName))
	ns := local.Namespace(t)
	agent := kcp.ServiceAccount(t, admin, "agent", kcp.AgentRules(exportName)...)
	spec := build.FromSecret(ns, "kcp")
	spec.KCP = &commonv1.KCPConnection{APIExport: &commonv1.APIExport{Name: exportName}}
	group := ns + ".example.com"
	o := &v1alpha1.PublishedResource{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	o.Spec.ProviderConfigReference = &v1alpha1.ConfigReference{Name: ns}
	o.Spec.Resource = v1alpha1.SourceResource{APIGroup: group, Kind: "Hat"}
	o.Spec.EnableWorkspacePaths = true
	kube.Create(t, c, build.Definition(group, "hats", "size"), build.Credentials(ns, "kcp", kube.Kubeconfig(t, agent)),
		build.ClusterConfig(ns, spec), o)
	s := &shop{c: c, path: path, kind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Hat"}, offer: o}
	kube.Eventually(t, "the API to be offered", func() (bool, string) {
		e := &apisv1alpha2.APIExport{}
		err := kcp.Client(t, admin).Get(t.Context(), types.NamespacedName{Name: exportName}, e)
		return err == nil && len(e.Spec.Resources) == 1, s.describe(t)
	})
	return s
}

// A consumer is a workspace that has bound the API of a shop.
type consumer struct {
	client.Client

	shop *shop
	cfg  *rest.Config
	path string
}

// consumer makes a consumer on a shard.
func (s *shop) consumer(t *testing.T, shard string) consumer {
	t.Helper()
	path, cfg := shards.Workspace(t, shard)
	e := &apisv1alpha2.APIExport{}
	kube.Get(t, kcp.Client(t, shards.Config(s.path)), types.NamespacedName{Name: exportName}, e)
	kcp.AwaitBound(t, cfg, kcp.Bind(t, cfg, s.path, exportName, e.Spec.PermissionClaims...))
	return consumer{Client: kcp.Client(t, cfg), shop: s, cfg: cfg, path: path}
}

// hat returns an object of the kind of a shop.
func (s *shop) hat(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": "1"}}}
	u.SetGroupVersionKind(s.kind)
	u.SetNamespace(metav1.NamespaceDefault)
	u.SetName(name)
	return u
}

// order creates an object, as soon as the API is served.
func (in consumer) order(t *testing.T, name string) {
	t.Helper()
	kube.Eventually(t, "order "+name+" in "+in.path, func() (bool, string) {
		err := in.Create(t.Context(), in.shop.hat(name))
		return err == nil, fmt.Sprint(err)
	})
}

// copied returns the copies of a consumer's object.
func (in consumer) copied(t *testing.T, name string) []unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(in.shop.kind)
	kube.List(t, in.shop.c, list)
	var of []unstructured.Unstructured
	for _, u := range list.Items {
		a := u.GetAnnotations()
		if a[objectsync.AnnotationName] == name && a[objectsync.AnnotationPath] == in.path {
			of = append(of, u)
		}
	}
	return of
}

// awaitCopy waits for the copy of a consumer's object, with a size.
func (in consumer) awaitCopy(t *testing.T, name, size string) types.UID {
	t.Helper()
	var uid types.UID
	kube.Eventually(t, "the copy of "+name+" of "+in.path, func() (bool, string) {
		all := in.copied(t, name)
		if len(all) != 1 {
			return false, fmt.Sprintf("there are %d; %s", len(all), in.shop.describe(t))
		}
		uid = all[0].GetUID()
		is, _, _ := unstructured.NestedString(all[0].Object, "spec", "size")
		return is == size && all[0].GetDeletionTimestamp() == nil, "its size is " + is + "; " + in.shop.describe(t)
	})
	return uid
}

// describe returns the status of a PublishedResource as text.
func (s *shop) describe(t *testing.T) string {
	t.Helper()
	o := s.offer
	if err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, c := range o.Status.Conditions {
		fmt.Fprintf(&b, "%s %s %s %s; ", c.Type, c.Status, c.Reason, c.Message)
	}
	fmt.Fprintf(&b, "endpoints %v, workspaces %+v, objects %+v", o.Status.Endpoints, o.Status.Workspaces, o.Status.Objects)
	return b.String()
}

// awaitEndpoints waits until an API is served at a number of endpoints, and by how many is said.
func (s *shop) awaitEndpoints(t *testing.T, n, bound int) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("%d endpoints and %d workspaces", n, bound), func() (bool, string) {
		state := s.describe(t)
		ready := s.offer.GetCondition(v1alpha1.TypeEndpointsReady).Reason == v1alpha1.ReasonServing
		return ready && len(s.offer.Status.Endpoints) == n && int(s.offer.Status.Workspaces.Bound) == bound, state
	})
}

// TestShards shows consumers on two shards, with an APIExport on either; one shard that ends, and comes back; one that
// is added; and one that has no consumers any more.
func TestShards(t *testing.T) {
	local.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
	provider.Start(t, local.User(t, "provider", "system:masters"))
	c := local.Client(t, apis.AddToScheme)
	shops := map[string]*shop{kcp.RootShard: open(t, c, kcp.RootShard), east: open(t, c, east)}
	at := map[*shop]map[string]consumer{}
	first := map[consumer]types.UID{}
	for _, s := range shops {
		at[s] = map[string]consumer{}
		for _, shard := range []string{kcp.RootShard, east} {
			in := s.consumer(t, shard)
			at[s][shard] = in
			in.order(t, "first")
		}
		s.awaitEndpoints(t, 2, 2)
		for _, in := range at[s] {
			first[in] = in.awaitCopy(t, "first", "1")
		}
	}

	shards.Stop(t, east)
	for name, s := range shops {
		kube.Eventually(t, "the shop on "+name+" to tell that a shard does not answer", func() (bool, string) {
			state := s.describe(t)
			return s.offer.GetCondition(v1alpha1.TypeEndpointsReady).Reason != v1alpha1.ReasonServing, state
		})
		at[s][kcp.RootShard].order(t, "meanwhile")
		at[s][kcp.RootShard].awaitCopy(t, "meanwhile", "1")
		if uid := at[s][east].awaitCopy(t, "first", "1"); uid != first[at[s][east]] {
			t.Errorf("the copy of a workspace on a shard that is down was made again")
		}
	}

	shards.Return(t, east)
	for _, s := range shops {
		s.awaitEndpoints(t, 2, 2)
		in := at[s][east]
		in.order(t, "after")
		in.awaitCopy(t, "after", "1")
		kube.Patch(t, in, s.hat("first"), `{"spec":{"size":"2"}}`)
		if uid := in.awaitCopy(t, "first", "2"); uid != first[in] {
			t.Errorf("the copy of a workspace on a shard that is back was made again")
		}
	}

	shards.Add(t, west)
	for _, s := range shops {
		in := s.consumer(t, west)
		in.order(t, "first")
		in.awaitCopy(t, "first", "1")
		s.awaitEndpoints(t, 3, 3)
		kube.Remove(t, in, &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: exportName}})
		s.awaitEndpoints(t, 2, 2)
		if all := in.copied(t, "first"); len(all) != 1 || !objectsync.IsOrphaned(&all[0]) {
			t.Errorf("want the copy of a workspace that has left kept and marked, got %v", all)
		}
	}
}
