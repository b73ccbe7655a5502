package olm

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// idle is for how long OLM must have changed nothing to be done: what it does in turn it does in less.
	idle = 3 * time.Second
	// late is how long after an uninstall something that was begun before could still come back.
	late = 5 * time.Second
)

// A chain is Objects for a Subscription, the ClusterServiceVersion it leads to, and a Kong for the operator which that
// installs.
type chain struct {
	file string
	// strict says that the Kong waits for the operator, not only for its ClusterServiceVersion.
	strict bool
	// rounds is how often it is installed and uninstalled in a row.
	rounds int
}

// examples is the folder of what users are shown.
var examples = filepath.Join("..", "..", "..", "examples", "olm")

// chains are one for each scope. One goes more often, which costs minutes: both run the same code.
var chains = map[string]chain{
	"Cluster":    {file: filepath.Join(examples, "cluster.yaml"), rounds: 20},
	"Namespaced": {file: filepath.Join(examples, "namespaced.yaml"), strict: true, rounds: 5},
}

// TestChain shows that a chain is installed in order and uninstalled in reverse, and leaves nothing, again and again.
func TestChain(t *testing.T) {
	c := serve(t, &control)
	connect(t, c)
	runOperator(t)
	for name, ch := range chains {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, c, ch)
			start(t, &control)
			for i := 0; i < b.chain.rounds && !t.Failed(); i++ { // What is left would fail the rounds to come, too.
				t.Run(strconv.Itoa(i+1), b.round)
			}
			b.staysEmpty(t)
		})
	}
}

// A bed is where a chain is installed, from the same state again and again.
type bed struct {
	c, tc   client.Client
	server  *kube.Server // where the Objects are
	chain   chain
	objects []*unstructured.Unstructured
	before  map[*kube.Server]inventory
	history *history // of one round
}

func newBed(t *testing.T, c client.Client, ch chain) *bed {
	t.Helper()
	b := &bed{c: c, tc: target.Client(t), server: &control, chain: ch}
	b.takeInventories(t)
	var err error
	if b.objects, err = read(ch.file); err != nil {
		t.Fatal(err)
	}
	return b
}

// takeInventories makes what there is now what must be left.
func (b *bed) takeInventories(t *testing.T) {
	t.Helper()
	b.before = map[*kube.Server]inventory{b.server: takeInventory(t, b.server), &target: takeInventory(t, &target)}
}

// round installs the chain and uninstalls it.
func (b *bed) round(t *testing.T) {
	b.history = newHistory(t, map[schema.GroupVersionResource]string{
		subscriptions: operatorsNamespace, csvs: operatorsNamespace, kongs: kongsNamespace,
	})
	b.create(t)
	b.awaitWork(t)
	b.awaitReady(t)
	b.awaitRest(t)
	for _, o := range b.objects { // All at once, the first of the chain first.
		kube.Delete(t, b.c, o)
	}
	b.awaitNothing(t)
	b.assertOrder(t)
}

// create creates all Objects at once, the last of the chain first.
func (b *bed) create(t *testing.T) {
	t.Helper()
	for _, o := range slices.Backward(b.objects) {
		kube.Create(t, b.c, o.DeepCopy())
	}
}

// awaitWork waits until the operator has deployed what the Kong asks for.
func (b *bed) awaitWork(t *testing.T) {
	t.Helper()
	kong := build.Resource(kongs.GroupVersion().String(), "Kong", kongsNamespace, "kong")
	kube.Await(t, b.tc, kong, "the Kong to be deployed", func() (bool, string) {
		return deployed(kong), fmt.Sprint(kong.Object["status"]) + b.state(t)
	})
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

// awaitReady waits until all Objects are Ready.
func (b *bed) awaitReady(t *testing.T) {
	t.Helper()
	kube.Eventually(t, "the Objects to be Ready", func() (bool, string) {
		for _, o := range b.objects {
			if status, _ := b.condition(t, o, xpv2.TypeReady); status != string(corev1.ConditionTrue) {
				return false, b.state(t)
			}
		}
		return true, ""
	})
}

// awaitNothing waits until there is nothing but what was there before, on both clusters.
func (b *bed) awaitNothing(t *testing.T) {
	t.Helper()
	for s, what := range map[*kube.Server]string{b.server: "control plane", &target: "target"} {
		kube.Eventually(t, "nothing to be left on the "+what, func() (bool, string) {
			diff := b.before[s].changed(takeInventory(t, s))
			return diff == "", diff + b.state(t) + b.history.String()
		})
	}
}

// staysEmpty fails the test if something comes back.
func (b *bed) staysEmpty(t *testing.T) {
	t.Helper()
	kube.Throughout(t, late, "nothing is left on the target", func() (bool, string) {
		diff := b.before[&target].changed(takeInventory(t, &target))
		return diff == "", diff + b.history.String()
	})
}

// assertOrder fails the test if what happened on the target was not in the order of the chain, and then in reverse.
func (b *bed) assertOrder(t *testing.T) {
	t.Helper()
	kube.Eventually(t, "the history to have its end", func() (bool, string) {
		return b.history.first(subscriptions, gone) > 0, b.history.String()
	})
	installed := []step{
		{"the Subscription is created", subscriptions, there}, {"the ClusterServiceVersion is created", csvs, there},
	}
	if b.chain.strict {
		installed = append(installed, step{"the operator is installed", csvs, succeeded})
	}
	installed = append(installed, step{"the Kong is created", kongs, there})
	b.history.assertOrder(t, installed...)
	b.history.assertOrder(t,
		step{"the Kong goes", kongs, leaving}, step{"the Kong is gone", kongs, gone},
		step{"the ClusterServiceVersion goes", csvs, leaving}, step{"the ClusterServiceVersion is gone", csvs, gone},
		step{"the Subscription goes", subscriptions, leaving},
	)
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
