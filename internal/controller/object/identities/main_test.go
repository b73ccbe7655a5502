// Package identities_test shows that Objects are kept on clusters that know the provider by an identity of a cloud. The
// token endpoints stand in for those of the clouds, under their names; the clusters are real, and know whose token they
// are shown.
package identities_test

import (
	"os"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/cloud"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

var (
	clouds        cloud.Clouds
	local, target kube.Server
)

func TestMain(m *testing.M) {
	clouds.Start()
	target.TokenWebhook = clouds.TokenWebhook()
	code := kube.Run(m, &local, &target)
	clouds.Close()
	os.Exit(code)
}

// provide starts the controllers, once for all tests of the package, and returns a client of the control plane.
func provide(t *testing.T) client.Client {
	t.Helper()
	return provider.Once(t, &local, "../../../../package/crds")
}

// A world is one test in one scope.
type world struct {
	*testing.T

	c, tc     client.Client
	scope     build.Scope
	namespace string // on the control plane; also the name of the ProviderConfig
	target    string // a namespace on the target
	user      string // who may do all there, and whom no other test knows
}

func newWorld(t *testing.T, s build.Scope) world {
	t.Helper()
	w := world{
		T: t, c: provide(t), tc: target.Client(t), scope: s, namespace: local.Namespace(t), target: target.Namespace(t),
	}
	w.user = w.target + "-robot"
	w.admit(w.user)
	return w
}

// forScopes runs a test for both scopes.
func forScopes(t *testing.T, f func(world)) {
	t.Helper()
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) { f(newWorld(t, s)) })
	}
}

// admit gives a user all rights on the target.
func (w world) admit(user string) {
	w.Helper()
	kube.Create(w, w.tc, build.Administrators(user, build.User(user)))
}

// connect makes a ProviderConfig with a kubeconfig and an identity whose credentials are in a Secret, unless they are
// nil: then they are the provider's own. The identity is completed last.
func (w world) connect(
	kind commonv1.IdentityType, kubeconfig, identity []byte, complete ...func(*commonv1.Identity),
) {
	w.Helper()
	spec := build.FromSecret(w.namespace, "credentials")
	spec.Identity = &commonv1.Identity{
		Type: kind, ProviderCredentials: commonv1.ProviderCredentials{Source: xpv2.CredentialsSourceInjectedIdentity},
	}
	kube.Create(w, w.c, w.secret("credentials", "kubeconfig", kubeconfig))
	if identity != nil {
		kube.Create(w, w.c, w.secret("identity", "identity", identity))
		spec.Identity.Source = xpv2.CredentialsSourceSecret
		spec.Identity.SecretRef = &xpv2.SecretKeySelector{
			SecretReference: xpv2.SecretReference{Namespace: w.namespace, Name: "identity"}, Key: "identity",
		}
	}
	for _, f := range complete {
		f(spec.Identity)
	}
	kube.Create(w, w.c, w.scope.Config(w.namespace, w.namespace, spec))
}

func (w world) secret(name, key string, value []byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: build.Meta(w.namespace, name), Data: map[string][]byte{key: value}}
}

// setIdentity replaces the credentials of the identity.
func (w world) setIdentity(value []byte) {
	w.Helper()
	kube.Update(w, w.c, w.secret("identity", "identity", value))
}

// kubeconfig returns a kubeconfig of the target that says nothing of who uses it, and has a plugin unless that is
// empty. No other test has the same, as connections by the provider's own identity are shared by all who have.
func (w world) kubeconfig(plugin string) []byte {
	w.Helper()
	content := "# " + w.namespace + "\n" + string(kube.Kubeconfig(w, rest.AnonymousClientConfig(target.Config())))
	if plugin == "" {
		return []byte(content)
	}
	return []byte(strings.ReplaceAll(withPlugin(w, content, plugin), ": local", ": "+cloud.Cluster))
}

// withPlugin returns a kubeconfig without credentials with a plugin for its user.
func withPlugin(tb testing.TB, kubeconfig, plugin string) string {
	tb.Helper()
	const anonymous = "user: {}"
	if !strings.Contains(kubeconfig, anonymous) {
		tb.Fatalf("the kubeconfig has no %q", anonymous)
	}
	return strings.Replace(kubeconfig, anonymous, "user: {exec: "+plugin+"}", 1)
}

// object returns an Object that keeps a ConfigMap through the ProviderConfig.
func (w world) object(name string, data ...string) build.Object {
	return w.scope.Object(w.namespace, w.target+"-"+name, w.namespace, build.ConfigMap(w.target, name, data...))
}

// keep makes such an Object, and waits until it is ready.
func (w world) keep(name string, data ...string) build.Object {
	w.Helper()
	o := w.object(name, data...)
	kube.Create(w, w.c, o)
	w.awaitReady(o)
	return o
}

// set changes the data of an Object's ConfigMap.
func (w world) set(o build.Object, name string, data ...string) {
	w.Helper()
	kube.Edit(w, w.c, o, func() { o.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(w.target, name, data...)) })
}

// awaitReady waits until an Object is Synced and Ready.
func (w world) awaitReady(o build.Object) {
	w.Helper()
	provider.AwaitReady(w, w.c, o)
}

// awaitInvalid waits until an Object has no valid connection, and says a part of why: it may first say that it sees no
// ProviderConfig yet.
func (w world) awaitInvalid(o build.Object, part string) {
	w.Helper()
	kube.Await(w, w.c, o, o.GetName()+" to have no valid connection", func() (bool, string) {
		synced := o.GetCondition(xpv2.TypeSynced)
		return synced.Reason == commonv1.ReasonInvalidConnection &&
			strings.Contains(synced.Message, part), string(synced.Reason) + " " + synced.Message
	})
}

// awaitData waits until a ConfigMap on the target has a key with a value, and nothing else.
func (w world) awaitData(name, key, value string) {
	w.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(w.target, name)}
	kube.Await(w, w.tc, cm, "data of "+name, func() (bool, string) {
		diff := cmp.Diff(map[string]string{key: value}, cm.Data)
		return diff == "", diff
	})
}
