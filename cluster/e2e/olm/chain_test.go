package olm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// idle is for how long OLM must have changed nothing to be done: what it does in turn it does in less.
const idle = 3 * time.Second

// A bed is where a chain is installed, from the same state again and again.
type bed struct {
	c, tc   client.Client
	server  *kube.Server // where the Objects are
	objects []*unstructured.Unstructured
	before  map[*kube.Server]inventory
	history *history // of one round
}

// takeInventories makes what there is now what must be left.
func (b *bed) takeInventories(t *testing.T) {
	t.Helper()
	b.before = map[*kube.Server]inventory{b.server: takeInventory(t, b.server), &target: takeInventory(t, &target)}
}

// awaitRest waits until OLM has done all that it has to do: for some seconds it repeats what it has done already. If
// something is uninstalled meanwhile, a part of it comes back, no matter who uninstalls it and in which order.
func (b *bed) awaitRest(t *testing.T) {
	t.Helper()
	var last string
	var since time.Time
	kube.Eventually(t, "OLM to be at rest", func() (bool, string) {
		var now strings.Builder
		for _, kind := range []string{"Subscription", "InstallPlan"} {
			of := csvs.GroupVersion().String()
			for _, o := range kube.ListOf(t, b.tc, of, kind, client.InNamespace(operatorsNamespace)) {
				phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
				fmt.Fprintln(&now, kind, o.GetName(), o.GetResourceVersion(), phase)
			}
		}
		if now.String() != last || since.IsZero() {
			last, since = now.String(), time.Now()
		}
		return !strings.Contains(last, "Installing") && time.Since(since) > idle, last
	})
}

// awaitNothing waits until there is nothing but what was there before, on both clusters.
func (b *bed) awaitNothing(t *testing.T) {
	t.Helper()
	for s, what := range map[*kube.Server]string{b.server: "control plane", &target: "target"} {
		kube.Eventually(t, "nothing to be left on the "+what, func() (bool, string) {
			diff := cmp.Diff(b.before[s], takeInventory(t, s))
			return diff == "", diff + b.state(t)
		})
	}
}

// state says how the Objects are, for failures.
func (b *bed) state(t *testing.T) string {
	t.Helper()
	var s strings.Builder
	for _, o := range b.objects {
		synced, why := b.condition(t, o, xpv2.TypeSynced)
		ready, message := b.condition(t, o, xpv2.TypeReady)
		fmt.Fprintf(&s, "\nObject %s: Synced=%s %s, Ready=%s %s", o.GetName(), synced, why, ready, message)
	}
	return s.String() + "\n"
}

// condition returns the status and the message of a condition of an Object.
func (b *bed) condition(t *testing.T, o *unstructured.Unstructured, of xpv2.ConditionType) (status, message string) {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(o.GroupVersionKind())
	if err := b.c.Get(t.Context(), client.ObjectKeyFromObject(o), u); err != nil {
		return "", err.Error()
	}
	return kube.Condition(u, string(of))
}

// connect makes what the Objects need on the control plane: ProviderConfigs by the names they use, and the namespaces
// they live in.
func connect(t *testing.T, c client.Client) {
	t.Helper()
	const namespace = "crossplane-system"
	spec := build.FromSecret(namespace, "target")
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: build.Meta("", namespace)},
		&corev1.Namespace{ObjectMeta: build.Meta("", "team")},
		build.Credentials(namespace, "target", kube.Kubeconfig(t, asUser(t, &target))),
		build.Cluster().Config("", "default", spec),
		build.ClusterConfig("default", spec),
	} {
		if err := client.IgnoreAlreadyExists(c.Create(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitObjectsGone waits until the Objects are gone.
func (b *bed) awaitObjectsGone(t *testing.T) {
	t.Helper()
	for _, o := range b.objects {
		kube.AwaitGone(t, b.c, o)
	}
}
