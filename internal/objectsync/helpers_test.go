package objectsync_test

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/sides"
)

// workspaces stands for all workspaces, and service is the service cluster. Two servers, so that the sides cannot be
// confused.
var (
	workspaces = kube.Server{Shared: "control"}
	service    = kube.Server{Shared: "remote"}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &workspaces, &service)) }

var (
	things = objectsync.Pair{
		Workspace: objectsync.Resource{GroupVersionResource: schema.GroupVersionResource{
			Group: "ws.example.com", Version: "v1", Resource: "things",
		}, Kind: "Thing", Scope: "Namespaced", Status: true},
		Service: objectsync.Resource{GroupVersionResource: schema.GroupVersionResource{
			Group: "example.org", Version: "v1", Resource: "things",
		}, Kind: "Thing", Scope: "Namespaced", Status: true},
	}
	secret = objectsync.Resource{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Kind: "Secret",
		Scope: "Namespaced",
	}
	secrets = objectsync.Pair{Workspace: secret, Service: secret}
)

// A world is both sides, as one test sees them: a namespace of its own stands for each workspace, and has the name of
// its logical cluster in it, so that tests do not meet on the service cluster.
type world struct {
	*testing.T

	cluster  string // unique for the test
	above    client.Client
	below    client.Client
	state    string // namespace of states
	input    objectsync.Input
	holdings map[objectsync.Primary][]objectsync.Holding
}

// user is who the provider is on both servers.
const user = "provider-of-copies"

func side(t *testing.T, s *kube.Server) objectsync.Side {
	t.Helper()
	return sides.Of(t, s.Config(), s.User(t, user, "system:masters"))
}

func newWorld(t *testing.T) *world {
	t.Helper()
	workspaces.InstallCRDs(t, "testdata/workspace")
	service.InstallCRDs(t, "testdata/service")
	w := &world{
		T: t, above: workspaces.Client(t), below: service.Client(t), state: service.Namespace(t),
		holdings: map[objectsync.Primary][]objectsync.Holding{},
	}
	ns := workspaces.Namespace(t)
	w.cluster = "c" + ns[len(ns)-8:]
	w.input = objectsync.Input{
		Workspace: objectsync.Workspace{
			Side: side(t, &workspaces), ShowsAll: sides.ShowsAll,
			Workspace: gotemplate.Workspace{Cluster: w.cluster, Path: "root:org"},
		},
		Service: side(t, &service), Holders: w, Claimed: &sync.Map{},
		Object: types.NamespacedName{Namespace: ns, Name: "web"},
	}
	return w
}

// second returns the input of another object in the workspace.
func (w *world) second() objectsync.Input {
	in := w.input
	in.Object.Name = "second"
	return in
}

// Holdings tells what syncs so far have resolved.
func (w *world) Holdings(cluster string, o objectsync.Ref) []objectsync.Holding {
	var out []objectsync.Holding
	for _, hs := range w.holdings {
		for _, h := range hs {
			from, to := "", h.Primary.Cluster
			if h.Origin == v1alpha1.OriginKCP {
				from, to = to, from
			}
			if from == cluster && h.From.Plain() == o.Plain() || to == cluster && h.To.Plain() == o.Plain() {
				out = append(out, h)
			}
		}
	}
	return out
}

// HasCopies tells who has copies in a namespace, of all kinds of the tests.
func (w *world) HasCopies(namespace, cluster string) (bool, error) {
	of := labels.SelectorFromSet(labels.Set{objectsync.LabelCluster: cluster})
	for _, pair := range []objectsync.Pair{things, plains} {
		all, err := w.input.Service.Cache(pair.Service.GroupVersionResource).Select(namespace, of)
		if err != nil || len(all) > 0 {
			return len(all) > 0, err
		}
	}
	return false, nil
}

// IsCopy tells what says that it is a copy.
func (w *world) IsCopy(o objectsync.Ref) (bool, error) {
	u, err := w.input.Service.Cache(o.GVR()).Get(o.NamespacedName())
	_, is := objectsync.SourceOf(u)
	return is, err
}

// keep notes what an object has by a sync and by its state.
func (w *world) keep(s *objectsync.Syncer, in objectsync.Input, r objectsync.Result) {
	w.Helper()
	p := objectsync.Primary{NamespacedName: in.Object, Cluster: in.Workspace.Cluster}
	state, err := w.input.Service.Cache(objectsync.Secrets).Get(s.StateOf(p))
	if err != nil {
		w.Fatal(err)
	}
	w.holdings[p] = slices.Concat(r.Related, s.Held(p, state), objectsync.HeldBy(state))
}

// Drop forgets what a sync has resolved.
func (w *world) Drop(h objectsync.Holding) {
	w.holdings[h.Primary] = slices.DeleteFunc(w.holdings[h.Primary],
		func(x objectsync.Holding) bool { return x.Record == h.Record && x.State == h.State })
}

func (w *world) syncer(spec *v1alpha1.PublishedResourceSpec) *objectsync.Syncer {
	w.Helper()
	related := map[string]objectsync.Pair{}
	for i := range spec.Related {
		related[spec.Related[i].Name()] = secrets
	}
	return w.newSyncer(objectsync.Config{
		Spec: spec, Primary: things, Related: related,
	})
}

// newSyncer returns a syncer, of the agent and with the states of the world.
func (w *world) newSyncer(c objectsync.Config) *objectsync.Syncer {
	w.Helper()
	c.Agent, c.Publication, c.StateNamespace = cmp.Or(c.Agent, "agent"), cmp.Or(c.Publication, "publication"), w.state
	s, err := objectsync.New(c)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// sync syncs an object until nothing is written any more, and returns the results of all passes.
func (w *world) sync(s *objectsync.Syncer, in objectsync.Input) ([]objectsync.Result, error) {
	w.Helper()
	var all []objectsync.Result
	up, down := workspaces.Audit(w), service.Audit(w)
	for range 10 {
		u, d := up.Mark(), down.Mark()
		r, err := s.Sync(w.Context(), in)
		all = append(all, r)
		w.keep(s, in, r)
		if err != nil || len(up.Since(u).By(user)) == 0 && len(down.Since(d).By(user)) == 0 {
			return all, err
		}
	}
	w.Fatal("it does not settle")
	return nil, nil
}

func (w *world) mustSync(s *objectsync.Syncer, in objectsync.Input) []objectsync.Result {
	w.Helper()
	all, err := w.sync(s, in)
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// writes counts what the provider asks of both servers while something is done.
func (w *world) writes(do func()) (above, below map[string]int) {
	w.Helper()
	up, down := workspaces.Audit(w), service.Audit(w)
	u, d := up.Mark(), down.Mark()
	do()
	return up.Since(u).By(user).Count(), down.Since(d).By(user).Count()
}

// writesNothing fails if a sync asks anything of a server.
func (w *world) writesNothing(when string, s *objectsync.Syncer, in objectsync.Input) {
	w.Helper()
	if above, below := w.writes(func() { w.mustSync(s, in) }); len(above)+len(below) != 0 {
		w.Errorf("%s: want no requests, got %v and %v", when, above, below)
	}
}

// thing returns an object of a consumer, with changes.
func thing(n types.NamespacedName, change ...func(u *unstructured.Unstructured)) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ws.example.com/v1", "kind": "Thing",
		"spec": map[string]any{"size": int64(9007199254740993), "secretName": "tls"},
	}}
	u.SetNamespace(n.Namespace)
	u.SetName(n.Name)
	for _, f := range change {
		f(u)
	}
	return u
}

func (w *world) create(c client.Client, o client.Object) {
	w.Helper()
	kube.Create(w, c, o)
}

// ensureNamespace makes a namespace on the service cluster, if it is not there.
func (w *world) ensureNamespace(name string) {
	w.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreAlreadyExists(w.below.Create(w.Context(), ns)); err != nil {
		w.Fatal(err)
	}
}

func (w *world) patch(c client.Client, u client.Object, body string) {
	w.Helper()
	kube.Patch(w, c, u, body)
}

func (w *world) patchStatus(c client.Client, u client.Object, body string) {
	w.Helper()
	kube.PatchStatus(w, c, u, body)
}

// source reads the object of the consumer, nil if it is gone.
func (w *world) source(in objectsync.Input) *unstructured.Unstructured {
	w.Helper()
	u, err := in.Workspace.Cache(things.Workspace.GroupVersionResource).Get(in.Object)
	if err != nil {
		w.Fatal(err)
	}
	return u
}

// copies reads the copies of a workspace's objects.
func (w *world) copies(cluster string) []*unstructured.Unstructured {
	w.Helper()
	all, err := w.input.Service.Cache(things.Service.GroupVersionResource).Select("",
		labels.SelectorFromSet(labels.Set{objectsync.LabelCluster: cluster}))
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// theCopy reads the one copy.
func (w *world) theCopy(cluster string) *unstructured.Unstructured {
	w.Helper()
	all := w.copies(cluster)
	if len(all) != 1 {
		w.Fatalf("want one copy, got %d", len(all))
	}
	return all[0]
}

func (w *world) states() []corev1.Secret {
	w.Helper()
	l := &corev1.SecretList{}
	kube.List(w, w.below, l, client.InNamespace(w.state))
	return l.Items
}

// secretOf reads a Secret's values, nil if there is none.
func (w *world) secretOf(c client.Client, namespace, name string) map[string]string {
	w.Helper()
	s := &corev1.Secret{}
	err := c.Get(w.Context(), types.NamespacedName{Namespace: namespace, Name: name}, s)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range s.Data {
		out[k] = string(v)
	}
	return out
}

func newSecret(namespace, name, value string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"k": []byte(value)},
	}
}

// reasons returns the reasons of all events, in order.
func reasons(all []objectsync.Result) string {
	var out []string
	for _, r := range all {
		for _, e := range r.Events {
			out = append(out, e.Reason)
		}
	}
	return strings.Join(out, " ")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
