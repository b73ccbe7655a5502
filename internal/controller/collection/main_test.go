package collection_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	// user is whom the provider is on the target.
	user = "provider-of-collections"
	// admins is the group that may do everything.
	admins = "system:masters"
)

// The local server has a garbage collector, by which members go with their collection.
var (
	local  = kube.Server{ControllerManager: true}
	target = kube.Server{Shared: "remote"}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// provide starts the controllers, once for all tests of the package, and returns a client of the control plane.
func provide(t *testing.T) client.Client {
	t.Helper()
	return provider.Once(t, &local, "../../../package/crds")
}

// A world is what most tests need: a scope, its ProviderConfig for the target, and a namespace on each server.
type world struct {
	c, tc client.Client // of the control plane and of the target
	scope build.CollectionScope
	ns    string // on the control plane, also the name of the ProviderConfig
	tns   string // on the target, also the name of the collection
}

// forScopes runs a test for both scopes.
func forScopes(t *testing.T, f func(*testing.T, world)) {
	t.Helper()
	for _, s := range build.CollectionScopes() {
		t.Run(s.Name, func(t *testing.T) { f(t, newWorld(t, s)) })
	}
}

// forScopesBeside is forScopes for a test that mostly waits, and neither counts requests nor stops a server: it runs
// beside others of its kind, once all other tests are over.
func forScopesBeside(t *testing.T, f func(*testing.T, world)) {
	t.Helper()
	t.Parallel()
	for _, s := range build.CollectionScopes() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			f(t, newWorld(t, s))
		})
	}
}

// newWorld returns a world of its own for each test.
func newWorld(t *testing.T, s build.CollectionScope) world {
	t.Helper()
	w := world{c: provide(t), tc: target.Client(t), scope: s, ns: local.Namespace(t), tns: target.Namespace(t)}
	return connect(t, w, target.User(t, user, admins))
}

// connect makes the ProviderConfig of a world, which reaches the target as a user.
func connect(t *testing.T, w world, cfg *rest.Config) world {
	t.Helper()
	kube.Create(t, w.c, build.Credentials(w.ns, "credentials", kube.Kubeconfig(t, cfg)),
		w.scope.Config(w.ns, w.ns, build.FromSecret(w.ns, "credentials")))
	return w
}

// change changes a resource as it is now.
func change[T client.Object](t *testing.T, c client.Client, o T, f func(T)) {
	t.Helper()
	kube.Edit(t, c, o, func() { f(o) })
}

// configMap returns a ConfigMap with label team.
func configMap(namespace, name, team string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(namespace, name)}
	cm.SetLabels(map[string]string{"team": team})
	return cm
}

// collect returns a collection of the ConfigMaps of team a in the world's namespace of the target.
func (w world) collect() build.Collection {
	return w.scope.Collection(w.ns, w.tns, w.ns, build.ConfigMaps(w.tns, "team", "a"))
}

// hash returns the hexadecimal hash that the name of a resource's member begins with.
func hash(resource string) string {
	sum := sha256.Sum256([]byte(resource))
	return hex.EncodeToString(sum[:])
}

// memberName returns the name of a ConfigMap's member.
func memberName(collection, namespace, name string) string {
	return collection + "-" + hash("/v1, Kind=ConfigMap/" + namespace + "/" + name)[:7]
}

// members returns the Objects of a collection by their names.
func (w world) members(t *testing.T, collection string) map[string]build.Object {
	t.Helper()
	list := w.scope.NewList()
	err := w.c.List(t.Context(), list, client.InNamespace(w.namespace()),
		client.MatchingLabels{"kubernetes.crossplane.io/owned-by-collection": collection})
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]build.Object{}
	_ = apimeta.EachListItem(list, func(o runtime.Object) error {
		m := o.(build.Object)
		members[m.GetName()] = m
		return nil
	})
	return members
}

// namespace returns the namespace of the scope's collections, empty if they have none.
func (w world) namespace() string {
	if w.scope.Name == "Namespaced" {
		return w.ns
	}
	return ""
}

// observes returns which resource each member stands for, as namespace/name by the member's name.
func observes(t *testing.T, members map[string]build.Object) map[string]string {
	t.Helper()
	got := map[string]string{}
	for name, m := range members {
		meta := &metav1.PartialObjectMetadata{}
		if err := json.Unmarshal(m.Desired().ForProvider.Manifest.Raw, meta); err != nil {
			t.Fatal(err)
		}
		got[name] = meta.GetNamespace() + "/" + meta.GetName()
	}
	return got
}

// awaitMembers waits until a collection has members for exactly these ConfigMaps of the world's namespace, by their
// shortest names.
func (w world) awaitMembers(t *testing.T, names ...string) map[string]build.Object {
	t.Helper()
	want := map[string]string{}
	for _, n := range names {
		want[memberName(w.tns, w.tns, n)] = w.tns + "/" + n
	}
	return w.awaitNamed(t, want)
}

// awaitNamed waits until a collection has exactly these members, which stand for these resources.
func (w world) awaitNamed(t *testing.T, want map[string]string) map[string]build.Object {
	t.Helper()
	var members map[string]build.Object
	kube.Eventually(t, "members "+fmt.Sprint(slices.Sorted(maps.Keys(want))), func() (bool, string) {
		members = w.members(t, w.tns)
		diff := cmp.Diff(want, observes(t, members), cmpopts.EquateEmpty())
		return diff == "", "-want, +got:\n" + diff
	})
	return members
}

// A wantCondition is a condition a test waits for; an empty reason stands for any.
type wantCondition struct {
	Type   xpv2.ConditionType
	Status corev1.ConditionStatus
	Reason xpv2.ConditionReason
}

var (
	synced = wantCondition{xpv2.TypeSynced, corev1.ConditionTrue, xpv2.ReasonReconcileSuccess}
	ready  = wantCondition{xpv2.TypeReady, corev1.ConditionTrue, xpv2.ReasonAvailable}
)

// failed is condition Synced=False for a reason.
func failed(r xpv2.ConditionReason) wantCondition {
	return wantCondition{xpv2.TypeSynced, corev1.ConditionFalse, r}
}

// awaitCondition waits until a collection or an Object has a condition with parts in its message, which it returns.
func awaitCondition(t *testing.T, c client.Client, o interface {
	client.Object
	GetCondition(t xpv2.ConditionType) xpv2.Condition
}, want wantCondition, parts ...string,
) string {
	t.Helper()
	var message string
	lacks := func(part string) bool { return !strings.Contains(message, part) }
	kube.Await(t, c, o, fmt.Sprintf("%v of %s %q", want, o.GetName(), parts), func() (bool, string) {
		got := o.GetCondition(want.Type)
		message = got.Message
		return got.Status == want.Status && (want.Reason == "" || got.Reason == want.Reason) &&
				got.ObservedGeneration == o.GetGeneration() &&
				!slices.ContainsFunc(parts, lacks),
			fmt.Sprintf("%s %s: %s", got.Status, got.Reason, got.Message)
	})
	return message
}

// awaitSettled waits until a collection is Synced and Ready in its present generation.
func (w world) awaitSettled(t *testing.T, c build.Collection) {
	t.Helper()
	awaitCondition(t, w.c, c, synced)
	awaitCondition(t, w.c, c, ready)
}

// passQueue makes another collection and deletes it: what was queued before has begun.
func (w world) passQueue(t *testing.T) {
	t.Helper()
	other := newWorld(t, w.scope)
	last := other.collect()
	kube.Create(t, w.c, last)
	other.awaitSettled(t, last)
	kube.Remove(t, w.c, last)
}

// staysNamed checks that members stand for what they do, and are the same Objects, for a while.
func (w world) staysNamed(t *testing.T, want map[string]string) {
	t.Helper()
	uids := func(members map[string]build.Object) map[string]types.UID {
		out := map[string]types.UID{}
		for name, m := range members {
			out[name] = m.GetUID()
		}
		return out
	}
	before := uids(w.members(t, w.tns))
	kube.Holds(t, "members stay what they are", func() (bool, string) {
		members := w.members(t, w.tns)
		diff := cmp.Diff(want, observes(t, members)) + cmp.Diff(before, uids(members))
		return diff == "", diff
	}, func() { w.passQueue(t) })
}
