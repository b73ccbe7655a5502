package object_test

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestTenantsReachOnlyWhatIsTheirs shows what a namespaced ProviderConfig may not name, and that one which is changed
// to name it loses its connection at once. A defect of provider-kubernetes: it may name all of it.
func TestTenantsReachOnlyWhatIsTheirs(t *testing.T) {
	c := provide(t)
	s := build.Namespaced()
	const operators = "is only for cluster-scoped ProviderConfigs"
	for name, tc := range map[string]struct {
		change func(spec *commonv1.ProviderConfigSpec, foreign string)
		want   string
	}{
		"ForeignSecret": {
			change: func(spec *commonv1.ProviderConfigSpec, foreign string) {
				spec.Credentials.SecretRef.Namespace = foreign
			},
			want: "spec.credentials.secretRef.namespace must be",
		},
		"ForeignIdentity": {
			change: func(spec *commonv1.ProviderConfigSpec, foreign string) {
				spec.Identity = &commonv1.Identity{
					Type:                commonv1.IdentityGoogle,
					ProviderCredentials: build.FromSecret(foreign, "credentials").Credentials,
				}
			},
			want: "spec.identity.secretRef.namespace must be",
		},
		"InjectedIdentity": {
			change: func(spec *commonv1.ProviderConfigSpec, _ string) {
				spec.Credentials.Source = xpv2.CredentialsSourceInjectedIdentity
			},
			want: "spec.credentials.source InjectedIdentity " + operators,
		},
		"Environment": {
			change: func(spec *commonv1.ProviderConfigSpec, _ string) {
				spec.Credentials.Source, spec.Credentials.Env = xpv2.CredentialsSourceEnvironment, &xpv2.EnvSelector{Name: "PATH"}
			},
			want: "spec.credentials.source Environment " + operators,
		},
		"Filesystem": {
			change: func(spec *commonv1.ProviderConfigSpec, _ string) {
				spec.Credentials.Source = xpv2.CredentialsSourceFilesystem
				spec.Credentials.Fs = &xpv2.FsSelector{Path: "/etc/passwd"}
			},
			want: "spec.credentials.source Filesystem " + operators,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c, s)
			foreign, _ := connect(t, c, s, targetUser(t))
			o := w.keep(t, build.ConfigMap(w.target, "settings"))

			config := &mpcv1alpha1.ProviderConfig{}
			kube.Get(t, c, types.NamespacedName{Namespace: w.namespace, Name: w.config}, config)
			was := config.DeepCopy()
			kube.Edit(t, c, config, func() { tc.change(&config.Spec, foreign) })
			awaitCondition(t, c, o, failed(commonv1.ReasonInvalidConnection), tc.want)
			kube.Edit(t, c, config, func() {
				config.Spec = was.Spec
				config.Spec.Credentials.SecretRef.Namespace = "" // It need not be said that a Secret is the tenant's own.
			})
			awaitReady(t, c, o)
		})
	}
}

// newTenant makes a namespace on the control plane and one of the same name on the target, where a ServiceAccount may
// keep ConfigMaps.
func newTenant(t *testing.T, c, tc client.Client) string {
	t.Helper()
	ns := local.Namespace(t)
	robot := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "robot"}
	role, binding := build.RightsIn(ns, "robot", robot, keeping...)
	kube.Create(t, tc, &corev1.Namespace{ObjectMeta: build.Meta("", ns)}, role, binding)
	return ns
}

// TestSharedConnectionGivesEachTenantItsRights shows that Objects of two namespaces which use one ClusterProviderConfig
// each have the rights of a ServiceAccount of their own, and nobody else's, to look as to write: drift comes by the
// watch that each may have, and what the other may do is denied.
func TestSharedConnectionGivesEachTenantItsRights(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	one, other, connection := newTenant(t, c, tc), newTenant(t, c, tc), local.Namespace(t)
	spec := build.FromSecret(connection, "credentials")
	spec.Impersonate = &commonv1.Impersonation{ServiceAccountName: "robot"}
	kube.Create(t, c, build.Credentials(connection, "credentials", kube.Kubeconfig(t, targetUser(t))),
		build.ClusterConfig(connection, spec))
	object := func(ns, targetNS, name string) build.Object {
		return build.Through(build.Namespaced().Object(ns, name, "", build.ConfigMap(targetNS, name, "by", ns)), connection)
	}
	createReady(t, c, object(one, one, "own"), object(other, other, "own"))
	thief := object(one, other, "stolen")
	kube.Create(t, c, thief)
	awaitCondition(t, c, thief, failed(commonv1.ReasonForbidden), "system:serviceaccount:"+one+":robot")
	spy := object(one, other, "own")
	spy.SetName("spy")
	spy.SetManagementPolicies(observeOnly)
	kube.Create(t, c, spy)
	awaitCondition(t, c, spy, failed(commonv1.ReasonForbidden))
	if raw := string(spy.Observed().Manifest.Raw); strings.Contains(raw, other) {
		t.Errorf("an Object shows what its tenant may not see: %s", raw)
	}

	// Drift is reverted by watch, through the stream of the one namespace that each may watch.
	for _, ns := range []string{one, other} {
		w := world{tc: tc, target: ns}
		kube.Patch(t, tc, w.awaitData(t, "own", "by", ns), `{"data":{"by":"somebody"}}`)
		w.awaitData(t, "own", "by", ns)
	}
	granted := map[string]bool{}
	for _, e := range target.Audit(t).Since(kube.Mark{}).By("system:serviceaccount:" + one + ":robot") {
		if e.Code < 300 && e.Namespace != "" {
			granted[e.Namespace] = true
		}
	}
	if diff := cmp.Diff(map[string]bool{one: true}, granted); diff != "" {
		t.Errorf("namespaces in which one tenant was granted a request: -want, +got:\n%s", diff)
	}
}

// TestServiceAccountOfControlPlane shows that Objects are kept on the control plane as a ServiceAccount there, with its
// rights and no others, although the provider has all of them by its client certificate; and what is told of an account
// that does not exist.
func TestServiceAccountOfControlPlane(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		ns, other := local.Namespace(t), local.Namespace(t)
		user := "system:serviceaccount:" + ns + ":robot"
		role, binding := build.RightsIn(ns, "robot", build.User(user), keeping...)
		kube.Create(t, c, role, binding, &corev1.ServiceAccount{ObjectMeta: build.Meta(ns, "robot")})
		for _, account := range []string{"robot", "nobody"} {
			spec := commonv1.ProviderConfigSpec{Credentials: commonv1.ProviderCredentials{
				Source:            commonv1.CredentialsSourceServiceAccount,
				ServiceAccountRef: &commonv1.ServiceAccountReference{Name: account},
			}}
			if s.Name == build.Cluster().Name {
				spec.Credentials.ServiceAccountRef.Namespace = ns
			}
			kube.Create(t, c, s.Config(ns, ns+"-"+account, spec))
		}
		object := func(name, account, namespace string) build.Object {
			return s.Object(ns, ns+"-"+name, ns+"-"+account, build.ConfigMap(namespace, name))
		}
		createReady(t, c, object("own", "robot", ns))
		thief, lost := object("stolen", "robot", other), object("lost", "nobody", ns)
		kube.Create(t, c, thief, lost)
		awaitCondition(t, c, thief, failed(commonv1.ReasonForbidden), user)
		awaitCondition(t, c, lost, failed(commonv1.ReasonInvalidConnection),
			"ServiceAccount "+ns+"/nobody does not exist on the control plane")
		if got := local.Audit(t).Since(kube.Mark{}).By(user).Count(); got["patch configmaps"] != 1 {
			t.Errorf("requests of the ServiceAccount: want one patch, got %v", got)
		}
	})
}

// TestScopesDoNotShareConnections shows that ProviderConfigs of both scopes with one kubeconfig have a connection each:
// a tenant may not reach every address that an operator may.
func TestScopesDoNotShareConnections(t *testing.T) {
	c := provide(t)
	tns := target.Namespace(t)
	kubeconfig := kube.Kubeconfig(t, target.User(t, tns, "system:masters"))
	for _, s := range build.Scopes() {
		ns, pc := connectWith(t, c, s, kubeconfig)
		o := s.Object(ns, tns+"-"+pc, pc, build.ConfigMap(tns, pc))
		createReady(t, c, o)
	}
	if watches := target.Audit(t).Watches(kube.Mark{}).By(tns); len(watches) != 2 {
		t.Errorf("watches of both scopes: want two, got:\n%s", watches)
	}
}

// TestImpersonatedUser shows that a connection may act as a user with groups, in both scopes, and as another one once
// its ProviderConfig says so.
func TestImpersonatedUser(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		tns, ns := target.Namespace(t), local.Namespace(t)
		kube.Create(t, tc, build.Administrators(tns,
			rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: tns + "-group"}))
		spec := build.FromSecret(ns, "credentials")
		spec.Impersonate = &commonv1.Impersonation{User: tns + "-jane"}
		config := s.Config(ns, ns, spec)
		kube.Create(t, c, build.Credentials(ns, "credentials", kube.Kubeconfig(t, targetUser(t))), config)
		o := s.Object(ns, tns, ns, build.ConfigMap(tns, "settings"))
		kube.Create(t, c, o)
		awaitCondition(t, c, o, failed(commonv1.ReasonForbidden), tns+"-jane")
		patch := `{"spec":{"impersonate":{"groups":["` + tns + `-group"]}}}`
		kube.Patch(t, c, config, patch)
		awaitReady(t, c, o)
	})
}

// kubeconfigOf returns a kubeconfig with fields of a cluster and of a user.
func kubeconfigOf(cluster, user string) []byte {
	return []byte(`apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {` + cluster + `}}]
users: [{name: u, user: {` + user + `}}]
`)
}

// TestKubeconfigsInSecretsReadNoFiles shows that a kubeconfig from a Secret neither runs a program nor sends a file of
// the provider to a server of its author's choice. provider-kubernetes does both for anyone who writes a namespaced
// ProviderConfig.
func TestKubeconfigsInSecretsReadNoFiles(t *testing.T) {
	c := provide(t)
	for name, tc := range map[string]struct{ cluster, user, want string }{
		"Exec": {
			user: `exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, interactiveMode: Never}`,
			want: "users[].user.exec",
		},
		"AuthProvider": {user: `auth-provider: {name: gcp}`, want: "users[].user.auth-provider"},
		"TokenFile": {
			user: `tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token`, want: "users[].user.tokenFile",
		},
		"Certificate": {user: `client-certificate: /etc/passwd`, want: "users[].user.client-certificate"},
		"Key":         {user: `client-key: /etc/passwd`, want: "users[].user.client-key"},
		"Authority": {
			cluster: `, certificate-authority: /etc/passwd`, want: "clusters[].cluster.certificate-authority",
		},
	} {
		t.Run(name, func(t *testing.T) {
			forScopes(t, func(t *testing.T, s build.Scope) {
				ns, pc := connectWith(t, c, s, kubeconfigOf(`server: "https://127.0.0.1:1"`+tc.cluster, tc.user))
				o := s.Object(ns, ns, pc, build.ConfigMap(ns, "settings"))
				kube.Create(t, c, o)
				awaitCondition(t, c, o, failed(commonv1.ReasonInvalidConnection), tc.want+" is not allowed")
			})
		})
	}
}
