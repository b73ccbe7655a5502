package object_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestConfigIsReady shows that a ProviderConfig reports its target, and refused or missing credentials, and recovers
// when they are repaired. A good state costs at most one write beside that of the user count.
func TestConfigIsReady(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		account, cfg := robot(t, tc)
		w := newWorldOf(t, c, s, cfg)
		config := readConfig(t, c, s, w.namespace, w.config)
		config.awaitFinalizer(t)
		mark := local.Audit(t).Mark()
		o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
		kube.Create(t, c, o)
		config.await(t, corev1.ConditionTrue, commonv1.ReasonTargetAnswers)
		d, err := discovery.NewDiscoveryClientForConfig(cfg)
		if err != nil {
			t.Fatal(err)
		}
		version, err := d.ServerVersion()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"server": cfg.Host, "serverVersion": version.GitVersion, "users": int64(1)}
		config.awaitStatus(t, want)
		if writes := config.writes(t, mark); len(writes) > 2 {
			t.Errorf("want at most a write for the first user and one for the target, got:\n%s", writes)
		}

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

		kube.Remove(t, c, o)
		collectUsages(t, c, s, w.namespace, w.config)
		delete(want, "users")
		config.awaitStatus(t, want)
		config.await(t, corev1.ConditionTrue, commonv1.ReasonTargetAnswers)
	})
}

// TestConfigIsReadyBeforeItsUse shows that a ProviderConfig which nobody uses says whether its target accepts its
// credentials, as what waits for a Composition does before it makes the users: they may come later, be refused, and be
// replaced. It costs one request with the credentials, also if each tenant is a ServiceAccount of its namespace.
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

// collectUsages deletes the records of use of a ProviderConfig, as the garbage collector does when users are gone.
func collectUsages(t *testing.T, c client.Client, s build.Scope, namespace, config string) {
	t.Helper()
	list := s.NewUsageList()
	kube.List(t, c, list, client.InNamespace(namespace))
	err := apimeta.EachListItem(list, func(item runtime.Object) error {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(item)
		if err != nil {
			return err
		}
		if name, _, _ := unstructured.NestedString(content, "providerConfigRef", "name"); name != config {
			return nil
		}
		return c.Delete(t.Context(), item.(client.Object))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tokenOf returns the connection to the target of a ServiceAccount.
func tokenOf(t *testing.T, tc client.Client, account *corev1.ServiceAccount) *rest.Config {
	t.Helper()
	token := &authenticationv1.TokenRequest{}
	if err := tc.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	cfg := rest.AnonymousClientConfig(target.Config())
	cfg.BearerToken = token.Status.Token
	return cfg
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

// awaitFinalizer waits until the controller of ProviderConfigs has seen it.
func (x config) awaitFinalizer(t *testing.T) {
	t.Helper()
	kube.Await(t, x.c, x.pc, "the finalizer of ProviderConfig", func() (bool, string) {
		return len(x.pc.GetFinalizers()) > 0, "none"
	})
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

// writes returns the writes of the status since a mark.
func (x config) writes(t *testing.T, m kube.Mark) kube.Requests {
	t.Helper()
	var found kube.Requests
	for _, e := range local.Audit(t).Since(m).By(user) {
		if e.Subresource == "status" && e.Name == x.pc.GetName() && e.Namespace == x.pc.GetNamespace() &&
			strings.HasSuffix(e.Resource, "providerconfigs") {
			found = append(found, e)
		}
	}
	return found
}
