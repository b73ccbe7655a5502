// Package shards_test shows that the workspaces of a kcp of several shards are synced each by its shard: one that is
// down delays no other and loses nothing, one that is added is served, and a workspace that moves loses nothing.
package shards_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// A world is a workspace with an APIExport that offers a kind of the service cluster.
type world struct {
	c     client.Client
	path  string
	kind  schema.GroupVersionKind
	offer *v1alpha1.PublishedResource
}

// open makes a world on a shard.
func open(t *testing.T, shard string) *world {
	t.Helper()
	c := provider.Once(t, &local, filepath.Join("..", "..", "..", "..", "package", "crds"))
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
	kube.Create(t, c, build.Definition(group, "hats"), build.Credentials(ns, "kcp", kube.Kubeconfig(t, agent)),
		build.ClusterConfig(ns, spec), o)
	s := &world{c: c, path: path, kind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Hat"}, offer: o}
	kube.Eventually(t, "the API to be offered", func() (bool, string) {
		e := &apisv1alpha2.APIExport{}
		err := kcp.Client(t, admin).Get(t.Context(), types.NamespacedName{Name: exportName}, e)
		return err == nil && len(e.Spec.Resources) == 1, s.describe(t)
	})
	return s
}

// A tenant is a workspace that has bound the API of a world.
type tenant struct {
	client.Client

	world *world
	cfg   *rest.Config
	path  string
}

// tenant makes a tenant on a shard.
func (s *world) tenant(t *testing.T, shard string) tenant {
	t.Helper()
	path, cfg := shards.Workspace(t, shard)
	e := &apisv1alpha2.APIExport{}
	kube.Get(t, kcp.Client(t, shards.Config(s.path)), types.NamespacedName{Name: exportName}, e)
	kcp.AwaitBound(t, cfg, kcp.Bind(t, cfg, s.path, exportName, e.Spec.PermissionClaims...))
	return tenant{Client: kcp.Client(t, cfg), world: s, cfg: cfg, path: path}
}

// hat returns an object of the kind of a world.
func (s *world) hat(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"size": "1"},
	}}
	u.SetGroupVersionKind(s.kind)
	u.SetNamespace(metav1.NamespaceDefault)
	u.SetName(name)
	return u
}

// order creates an object, as soon as the API is served.
func (in tenant) order(t *testing.T, name string) {
	t.Helper()
	kcp.CreateServed(t, in.cfg, in.world.hat(name))
}

// copied returns the copies of a consumer's object.
func (in tenant) copied(t *testing.T, name string) []unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(in.world.kind)
	kube.List(t, in.world.c, list)
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
func (in tenant) awaitCopy(t *testing.T, name, size string) (copied unstructured.Unstructured) {
	t.Helper()
	kube.Eventually(t, "the copy of "+name+" of "+in.path, func() (bool, string) {
		all := in.copied(t, name)
		if len(all) != 1 {
			return false, fmt.Sprintf("there are %d; %s", len(all), in.world.describe(t))
		}
		copied = all[0]
		is, _, _ := unstructured.NestedString(copied.Object, "spec", "size")
		return is == size && copied.GetDeletionTimestamp() == nil, "its size is " + is + "; " + in.world.describe(t)
	})
	return copied
}

// awaitNone waits until a consumer's object has no copy.
func (in tenant) awaitNone(t *testing.T, name string) {
	t.Helper()
	kube.Eventually(t, "no copy of "+name+" of "+in.path, func() (bool, string) {
		return len(in.copied(t, name)) == 0, in.world.describe(t)
	})
}

// want fails unless the copy of a consumer's object is the one that it was, with a size.
func (in tenant) want(t *testing.T, was unstructured.Unstructured, name, size string) {
	t.Helper()
	if now := in.awaitCopy(t, name, size); now.GetUID() != was.GetUID() || objectsync.IsOrphaned(&now) {
		t.Errorf("the copy of %s of %s was made again, or is marked: %v", name, in.path, now)
	}
}

// describe returns the status of a PublishedResource as text.
func (s *world) describe(t *testing.T) string {
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
func (s *world) awaitEndpoints(t *testing.T, n, bound int) {
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
	up, down := open(t, kcp.RootShard), open(t, east)
	at := map[*world]map[string]tenant{}
	first := map[tenant]unstructured.Unstructured{}
	for _, s := range []*world{up, down} {
		at[s] = map[string]tenant{}
		for _, shard := range []string{kcp.RootShard, east} {
			in := s.tenant(t, shard)
			at[s][shard] = in
			in.order(t, "first")
		}
		s.awaitEndpoints(t, 2, 2)
		for _, in := range at[s] {
			first[in] = in.awaitCopy(t, "first", "1")
		}
	}

	shards.Stop(t, east)
	for s := range at {
		kube.Eventually(t, "the world of "+s.path+" to tell that a shard does not answer", func() (bool, string) {
			state := s.describe(t)
			return s.offer.GetCondition(v1alpha1.TypeEndpointsReady).Reason != v1alpha1.ReasonServing ||
				s.offer.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionFalse, state
		})
	}
	kube.Await(t, up.c, up.offer, "the endpoint named that does not answer, and no other", func() (bool, string) {
		message, named := up.offer.GetCondition(v1alpha1.TypeEndpointsReady).Message, 0
		for _, e := range up.offer.Status.Endpoints {
			if strings.Contains(message, e.URL) {
				named++
			}
		}
		return named == 1, message
	})
	// Other shards accept a ServiceAccount of one that is down for a minute only, such as that of the other world.
	at[up][kcp.RootShard].order(t, "meanwhile")
	at[up][kcp.RootShard].awaitCopy(t, "meanwhile", "1")
	for _, in := range at {
		for _, shard := range []string{kcp.RootShard, east} {
			in[shard].want(t, first[in[shard]], "first", "1")
		}
	}

	shards.Return(t, east)
	for s, in := range at {
		s.awaitEndpoints(t, 2, 2)
		in[east].order(t, "after")
		in[east].awaitCopy(t, "after", "1")
		kube.Patch(t, in[east], s.hat("first"), `{"spec":{"size":"2"}}`)
		in[east].want(t, first[in[east]], "first", "2")
	}

	shards.Add(t, west)
	for s := range at {
		in := s.tenant(t, west)
		in.order(t, "first")
		in.awaitCopy(t, "first", "1")
		s.awaitEndpoints(t, 3, 3)
		in.leave(t)
		in.awaitNone(t, "first")
		s.awaitEndpoints(t, 2, 2)
	}
}

// leave unbinds the API of the world.
func (in tenant) leave(t *testing.T) {
	t.Helper()
	kube.Remove(t, in, &apisv1alpha2.APIBinding{ObjectMeta: metav1.ObjectMeta{Name: exportName}})
}
