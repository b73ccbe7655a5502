package object_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestConfigIsReady shows that a ProviderConfig reports its target, and refused or missing credentials, and recovers
// when they are repaired.
func TestConfigIsReady(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		account, cfg := robot(t, tc)
		w := newWorldOf(t, c, s, cfg)
		config := readConfig(t, c, s, w.namespace, w.config)
		o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
		kube.Create(t, c, o)
		config.await(t, corev1.ConditionTrue, commonv1.ReasonTargetAnswers)
		version, err := discovery.NewDiscoveryClientForConfigOrDie(cfg).ServerVersion()
		if err != nil {
			t.Fatal(err)
		}
		config.awaitStatus(t,
			map[string]any{"server": cfg.Host, "serverVersion": version.GitVersion, "users": int64(1)})

		kube.Delete(t, tc, account)
		awaitDenied(t, cfg, w.target, apierrors.IsUnauthorized)
		setManifest(t, c, o, build.ConfigMap(w.target, "settings", "color", "red"))
		config.await(t, corev1.ConditionFalse, commonv1.ReasonUnauthorized)

		kube.Delete(t, c, build.Credentials(w.namespace, "credentials", nil))
		config.await(t, corev1.ConditionFalse, commonv1.ReasonInvalidConnection)

		_, cfg = robot(t, tc)
		kube.Create(t, c, build.Credentials(w.namespace, "credentials", kube.Kubeconfig(t, cfg)))
		config.await(t, corev1.ConditionTrue, commonv1.ReasonTargetAnswers)
		awaitReady(t, c, o)
	})
}

// TestConfigIsReadyBeforeItsUse shows that a ProviderConfig says whether its target accepts its credentials before
// anybody uses it. A Composition may wait for that. The credentials may come later, be refused, and be replaced. It
// costs one request with them, also if each tenant is a ServiceAccount of its namespace.
func TestConfigIsReadyBeforeItsUse(t *testing.T) {
	t.Parallel()
	c, tc := provide(t), target.Client(t)
	for _, s := range append(build.Scopes(), sharedScope("Shared", nil),
		sharedScope("EachTenant", &commonv1.Impersonation{ServiceAccountName: "tenant"})) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			account, cfg := robot(t, tc)
			ns, good := local.Namespace(t), kube.Kubeconfig(t, cfg)
			mark := target.Audit(t).Mark()
			kube.Create(t, c, s.Config(ns, ns, build.FromSecret(ns, "credentials")))
			config := readConfig(t, c, s, ns, ns)
			config.await(t, corev1.ConditionFalse, commonv1.ReasonInvalidConnection)

			kube.Create(t, c, build.Credentials(ns, "credentials", good))
			config.await(t, corev1.ConditionTrue, commonv1.ReasonTargetAnswers)
			got := target.Audit(t).Since(mark).By("system:serviceaccount:" + account.GetNamespace() + ":robot")
			if diff := cmp.Diff(map[string]int{"get /version": 1}, got.Count()); diff != "" {
				t.Errorf("requests for a ProviderConfig that nobody uses: -want, +got:\n%s\n%s", diff, got)
			}

			wrong := rest.AnonymousClientConfig(target.Config())
			wrong.BearerToken = "wrong"
			setKubeconfig(t, c, ns, "credentials", kube.Kubeconfig(t, wrong))
			config.await(t, corev1.ConditionFalse, commonv1.ReasonUnauthorized)
			setKubeconfig(t, c, ns, "credentials", good)
			config.await(t, corev1.ConditionTrue, commonv1.ReasonTargetAnswers)
			kube.Remove(t, c, config.pc)
		})
	}
}

// sharedScope is the namespaced scope with ProviderConfigs that all namespaces share, as somebody else if that is said.
func sharedScope(name string, as *commonv1.Impersonation) build.Scope {
	s := build.Namespaced()
	s.Name = name
	s.Config = func(_, name string, spec commonv1.ProviderConfigSpec) client.Object {
		spec.Impersonate = as
		return build.ClusterConfig(name, spec)
	}
	return s
}

// A config is a ProviderConfig on the control plane.
type config struct {
	c  client.Client
	pc resource.ProviderConfig
}

func readConfig(t *testing.T, c client.Client, s build.Scope, namespace, name string) config {
	t.Helper()
	pc, ok := s.Config(namespace, name, build.FromSecret(namespace, "credentials")).(resource.ProviderConfig)
	if !ok {
		t.Fatal("not a ProviderConfig")
	}
	return config{c: c, pc: pc}
}

// await waits for condition Ready.
func (x config) await(t *testing.T, s corev1.ConditionStatus, r xpv2.ConditionReason) {
	t.Helper()
	kube.Await(t, x.c, x.pc, fmt.Sprintf("Ready %s of ProviderConfig with reason %s", s, r), func() (bool, string) {
		got := x.pc.GetCondition(xpv2.TypeReady)
		return got.Status == s && got.Reason == r, fmt.Sprint(got)
	})
}

// awaitStatus waits for the status, without conditions.
func (x config) awaitStatus(t *testing.T, want map[string]any) {
	t.Helper()
	kube.Await(t, x.c, x.pc, "the status of ProviderConfig", func() (bool, string) {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(x.pc)
		if err != nil {
			return false, err.Error()
		}
		status, _, err := unstructured.NestedMap(content, "status")
		delete(status, "conditions")
		diff := cmp.Diff(want, status)
		return diff == "", message(err) + diff
	})
}

// TestProviderConfigWithoutUsersGoes shows that a ProviderConfig which is being deleted goes once its last user refers
// to another, and not before.
func TestProviderConfigWithoutUsersGoes(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		spec := build.FromSecret(w.namespace, "credentials")
		config, other := w.scope.Config(w.namespace, w.config, spec), w.scope.Config(w.namespace, w.config+"-other", spec)
		kube.Create(t, w.c, other)
		kube.Eventually(t, "the ProviderConfig to be in use", func() (bool, string) {
			err := w.c.Get(t.Context(), client.ObjectKeyFromObject(config), config)
			return err == nil && len(config.GetFinalizers()) > 0, message(err)
		})
		kube.Delete(t, w.c, config)
		staysThere(t, w.c, config, o)

		kube.Edit(t, w.c, o, func() { setConfig(o, other.GetName()) })
		kube.AwaitGone(t, w.c, config)

		// The Object is kept through the other one.
		setManifest(t, w.c, o, build.ConfigMap(w.target, "settings", "color", "red"))
		w.awaitData(t, "settings", "color", "red")
		kube.Remove(t, w.c, o)
	})
}

// awaitUsers waits until a ProviderConfig counts so many users.
func awaitUsers(t *testing.T, c client.Client, config client.Object, want int64) {
	t.Helper()
	kube.Await(t, c, config, fmt.Sprintf("%d users of %s", want, config.GetName()), func() (bool, string) {
		n := config.(resource.ProviderConfig).GetUsers()
		return n == want, fmt.Sprintf("%d users", n)
	})
}

// TestUsersAreRecorded shows that each Object of a burst is recorded as a user of its ProviderConfig, ready or not, and
// that the record follows it.
func TestUsersAreRecorded(t *testing.T) {
	const burst = 30
	forWorldsBeside(t, func(t *testing.T, w world) {
		config := w.scope.Config(w.namespace, w.config, build.FromSecret(w.namespace, "credentials"))
		objects := make([]build.Object, burst)
		for i := range objects {
			namespace := w.target
			if i == 0 {
				namespace = "nowhere"
			}
			objects[i] = w.scope.Object(w.namespace, fmt.Sprintf("%s-%02d", w.target, i), w.config,
				build.ConfigMap(namespace, fmt.Sprintf("settings-%02d", i)))
			kube.Create(t, w.c, objects[i])
		}
		awaitUsers(t, w.c, config, burst)

		other := w.scope.Config(w.namespace, connectAs(t, w, targetUser(t)), build.FromSecret(w.namespace, "other"))
		for _, o := range objects[:2] {
			kube.Edit(t, w.c, o, func() { setConfig(o, other.GetName()) })
		}
		awaitUsers(t, w.c, other, 2)
		awaitUsers(t, w.c, config, burst-2)
	})
}

// TestNoRecordInAnEndingNamespace shows that a record of use which the control plane refuses because its namespace is
// going away is tried once, and that no event tells of it.
func TestNoRecordInAnEndingNamespace(t *testing.T) {
	t.Parallel()
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	o := w.keep(t, build.ConfigMap(w.target, "settings"))
	other := connectAs(t, w, targetUser(t))
	usage := &mpcv1alpha1.ProviderConfigUsage{ObjectMeta: build.Meta(w.namespace, string(o.GetUID()))}
	kube.Await(t, c, usage, "the record of use", func() (bool, string) { return true, "" })
	kube.Delete(t, c, usage, &corev1.Namespace{ObjectMeta: build.Meta("", w.namespace)})
	mark := local.Audit(t).Mark()
	tried := func() (n int) {
		for _, e := range local.Audit(t).Since(mark).By(user) {
			if e.Verb == "create" && e.Namespace == w.namespace {
				n++
			}
		}
		return n
	}
	kube.Edit(t, c, o, func() { setConfig(o, other) })
	kube.Eventually(t, "a record to be tried", func() (bool, string) { return tried() > 0, "no creation" })
	holds(t, c, "it is tried once", func() (bool, string) { return tried() == 1, strconv.Itoa(tried()) }, o)
}

// keeping and looking are what a user must be able to do who keeps resources, or only looks at them.
var (
	keeping = []string{"get", "list", "watch", "create", "patch", "delete"}
	looking = []string{"get", "list", "watch"}
)

// TestRightsInOneNamespace shows that a user who may watch one namespace only is enough, and costs no more than one who
// may watch all: settled Objects make no requests, and drift is reverted by watch. A defect of provider-kubernetes: its
// documents ask for all rights.
func TestRightsInOneNamespace(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s)
		role, binding := build.RightsIn(w.target, w.user, build.User(w.user), keeping...)
		kube.Create(t, tc, role, binding)
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))

		// The change of the manifest comes last, and is the only one that needs a request.
		audit := target.Audit(t)
		mark := audit.Mark()
		staysUnwritten(t, c, o)
		setManifest(t, c, o, build.ConfigMap(w.target, "settings", "color", "red"))
		cm := w.awaitData(t, "settings", "color", "red")
		got := audit.Since(mark).By(w.user).Count()
		delete(got, "list configmaps") // The stream of all namespaces is tried again after a minute.
		if diff := cmp.Diff(map[string]int{"patch configmaps": 1}, got); diff != "" {
			t.Errorf("requests: -want, +got:\n%s", diff)
		}
		if watches := audit.Watches(mark).By(w.user); len(watches) > 1 { // See above.
			t.Errorf("watches: want at most one, got:\n%s", watches)
		}

		kube.Patch(t, tc, cm, `{"data":{"color":"green"}}`)
		w.awaitData(t, "settings", "color", "red")
		kube.Remove(t, c, o)
		kube.AwaitGone(t, tc, cm)
	})
}

// passes waits until the controller has looked at the last change of an Object. It shows in no state, so the conditions
// of a pause tell.
func passes(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	pause(t, c, o)
	unpause(t, c, o)
	awaitCondition(t, c, o, synced)
}

// TestRefusedCredentialsNameTheirConfig shows that an Object whose target does not tell what it serves names its
// ProviderConfig, and the cure, if the target does not know its credentials, and what to add if there are none.
func TestRefusedCredentialsNameTheirConfig(t *testing.T) {
	t.Parallel()
	c := provide(t)
	wrong := rest.AnonymousClientConfig(target.Config())
	wrong.BearerToken = "wrong"
	for name, x := range map[string]struct {
		cfg    *rest.Config
		reason xpv2.ConditionReason
		says   string
	}{
		"WrongToken": {
			cfg: wrong, reason: commonv1.ReasonUnauthorized, says: `": renew the Secret, or other source, that it names`,
		},
		"NoToken": {
			cfg: rest.AnonymousClientConfig(target.Config()), reason: commonv1.ReasonForbidden,
			says: "the kubeconfig has no credentials: add a token or a client certificate, or set spec.identity",
		},
	} {
		t.Run(name, func(t *testing.T) {
			forScopesBeside(t, func(t *testing.T, s build.Scope) {
				w := newWorldOf(t, c, s, x.cfg)
				o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
				kube.Create(t, c, o)
				says := x.says
				if x.reason == commonv1.ReasonUnauthorized {
					says = w.config + says
				}
				kube.Await(t, c, o, "the cure", func() (bool, string) {
					synced := o.GetCondition(xpv2.TypeSynced)
					told := strings.Contains(synced.Message, "cannot find kind of manifest: ") &&
						strings.Contains(synced.Message, says)
					return told && synced.Reason == x.reason, string(synced.Reason) + ": " + synced.Message
				})
				setKubeconfig(t, c, w.namespace, "credentials", kube.Kubeconfig(t, targetUser(t)))
				awaitReady(t, c, o)
			})
		})
	}
}

// robot makes a ServiceAccount on the target, in a namespace of its own, which has all rights by a binding of the
// namespace's name, and returns a connection by its token.
func robot(t *testing.T, tc client.Client) (*corev1.ServiceAccount, *rest.Config) {
	t.Helper()
	ns := target.Namespace(t)
	account := &corev1.ServiceAccount{ObjectMeta: build.Meta(ns, "robot")}
	kube.Create(t, tc, account,
		build.Administrators(ns, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "robot"}))
	token := &authenticationv1.TokenRequest{}
	if err := tc.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	cfg := rest.AnonymousClientConfig(target.Config())
	cfg.BearerToken = token.Status.Token
	return account, cfg
}

// awaitDenied waits until the server has noticed that somebody has no rights any more.
func awaitDenied(t *testing.T, cfg *rest.Config, namespace string, is func(error) bool) {
	t.Helper()
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "the server to deny a request", func() (bool, string) {
		err := c.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "settings"}, &corev1.ConfigMap{})
		return is(err), "answer: " + message(err)
	})
}

func message(err error) string {
	if err == nil {
		return "none"
	}
	return err.Error()
}
