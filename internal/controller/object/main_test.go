package object_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// user is whom the provider is on both servers.
const user = "provider"

var (
	local  kube.Server
	target = kube.Server{Shared: "remote"}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// provide starts the controllers, once for all tests of the package, and returns a client of the control plane.
func provide(t *testing.T) client.Client {
	t.Helper()
	return provider.Once(t, &local, "../../../package/crds")
}

// connect makes a ProviderConfig that reaches the target as a user, and returns its name and, for the namespaced scope,
// its namespace.
func connect(t *testing.T, c client.Client, s build.Scope, cfg *rest.Config) (namespace, name string) {
	t.Helper()
	return connectWith(t, c, s, kube.Kubeconfig(t, cfg))
}

// connectWith makes a ProviderConfig from the content of a kubeconfig.
func connectWith(t *testing.T, c client.Client, s build.Scope, kubeconfig []byte) (namespace, name string) {
	t.Helper()
	namespace = local.Namespace(t)
	kube.Create(t, c, build.Credentials(namespace, "credentials", kubeconfig),
		s.Config(namespace, namespace, build.FromSecret(namespace, "credentials")))
	return namespace, namespace
}

// A world is where a test in one scope happens: a ProviderConfig with all rights on the target, and a namespace there.
type world struct {
	c, tc     client.Client
	scope     build.Scope
	namespace string // on the control plane
	config    string // a ProviderConfig with all rights on the target
	target    string // a namespace on the target
	user      string // whom the provider is on the target
}

func newWorld(t *testing.T, c client.Client, s build.Scope) world {
	t.Helper()
	return newWorldOf(t, c, s, targetUser(t))
}

// newWorldOf is newWorld with a ProviderConfig that leads elsewhere.
func newWorldOf(t *testing.T, c client.Client, s build.Scope, cfg *rest.Config) world {
	t.Helper()
	ns, pc := connect(t, c, s, cfg)
	return world{
		c: c, tc: target.Client(t), scope: s, namespace: ns, config: pc, target: target.Namespace(t), user: user,
	}
}

// newWorldAs is newWorld with a user of its own on the target, whose requests can be told apart, and who has the rights
// of some groups.
func newWorldAs(t *testing.T, c client.Client, s build.Scope, groups ...string) world {
	t.Helper()
	who := local.Namespace(t) + "-user"
	w := newWorldOf(t, c, s, target.User(t, who, groups...))
	w.user = who
	return w
}

// forWorlds runs a test in a world of each scope.
func forWorlds(t *testing.T, f func(*testing.T, world)) {
	t.Helper()
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) { f(t, newWorld(t, c, s)) })
}

// forWorldsBeside is forWorlds for a test of forScopesBeside.
func forWorldsBeside(t *testing.T, f func(*testing.T, world)) {
	t.Helper()
	c := provide(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) { f(t, newWorld(t, c, s)) })
}

// object returns an Object for a manifest.
func (w world) object(m build.Manifest) build.Object {
	return w.scope.Object(w.namespace, w.target, w.config, m)
}

// keep makes an Object for a manifest, and waits until it is ready.
func (w world) keep(t *testing.T, m build.Manifest) build.Object {
	t.Helper()
	o := w.object(m)
	createReady(t, w.c, o)
	return o
}

// connectAs makes another ProviderConfig in the namespace of a world, and returns its name.
func connectAs(t *testing.T, w world, cfg *rest.Config) string {
	t.Helper()
	name := w.namespace + "-other"
	kube.Create(t, w.c, build.Credentials(w.namespace, "other", kube.Kubeconfig(t, cfg)),
		w.scope.Config(w.namespace, name, build.FromSecret(w.namespace, "other")))
	return name
}

// setConfig makes an Object refer to another ProviderConfig of its scope.
func setConfig(o build.Object, name string) {
	switch o := o.(type) {
	case *objectv1alpha2.Object:
		o.Spec.ProviderConfigReference.Name = name
	case *mobjectv1alpha1.Object:
		o.Spec.ProviderConfigReference.Name = name
	}
}

// targetUser returns who the provider is on the target, with all rights.
func targetUser(t *testing.T) *rest.Config {
	t.Helper()
	return target.User(t, user, "system:masters")
}

// awaitCondition waits until a condition of an Object has a status, a reason and parts in its message, which it
// returns. One reason may come with several messages in turn, as the provider does not see all that a test makes at
// once.
func awaitCondition(t *testing.T, c client.Client, o build.Object, want wantCondition, parts ...string) string {
	t.Helper()
	var message string
	lacks := func(part string) bool { return !strings.Contains(message, part) }
	kube.Await(t, c, o, fmt.Sprintf("%s of %s %q", want, o.GetName(), parts), func() (bool, string) {
		got := o.GetCondition(want.Type)
		message = got.Message
		return got.Status == want.Status && (want.Reason == "" || got.Reason == want.Reason) &&
				!slices.ContainsFunc(parts, lacks),
			string(got.Status) + " " + string(got.Reason) + ": " + got.Message
	})
	return message
}

// createReady creates Objects and waits until each is Synced and Ready.
func createReady(t *testing.T, c client.Client, objs ...build.Object) {
	t.Helper()
	for _, o := range objs {
		kube.Create(t, c, o)
		awaitReady(t, c, o)
	}
}

// awaitReady waits until Objects are Synced and Ready.
func awaitReady(t *testing.T, c client.Client, objs ...build.Object) {
	t.Helper()
	for _, o := range objs {
		awaitCondition(t, c, o, synced)
		awaitCondition(t, c, o, ready)
	}
}

// plain returns Objects as what any client takes.
func plain(objs []build.Object) []client.Object {
	out := make([]client.Object, 0, len(objs))
	for _, o := range objs {
		out = append(out, o)
	}
	return out
}
