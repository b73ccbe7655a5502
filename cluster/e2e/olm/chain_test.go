package olm

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// idle is for how long OLM must have changed nothing to be done: what it does in turn it does in less.
const idle = 3 * time.Second

// olmVersion is that of the kinds of OLM.
var olmVersion = schema.GroupVersion{Group: "operators.coreos.com", Version: "v1alpha1"}

// A bed is where a chain is installed, from the same state again and again.
type bed struct {
	c, tc   client.Client
	server  *kube.Server // where the Objects are
	objects []*unstructured.Unstructured
	before  map[*kube.Server]inventory
	mark    kube.Mark // of the target, where one round begins
}

// takeInventories begins a round: what there is now is what must be left.
func (b *bed) takeInventories(t *testing.T) {
	t.Helper()
	b.before = map[*kube.Server]inventory{b.server: takeInventory(t, b.server), &target: takeInventory(t, &target)}
	b.mark = target.Audit(t).Mark()
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
			for _, o := range kube.ListOf(t, b.tc, olmVersion.String(), kind, client.InNamespace(operatorsNamespace)) {
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

// A link is resources of a chain whose names have a part in common.
type link struct{ resource, part string }

// orders are the resources of the stacks in the order in which they are deleted.
var orders = map[string][][]link{
	"networking/olm":   {kongChain},
	"logging/olm":      {elasticChain},
	"all/olm":          {kongChain, elasticChain},
	"networking/plain": {plainNetworking},
	"logging/plain":    {plainLogging},
	"all/plain":        {plainNetworking, plainLogging},
}

var (
	kongChain    = []link{{resource: "kongs"}, {"clusterserviceversions", "kong."}, {"subscriptions", "kong"}}
	elasticChain = []link{
		{resource: "kibanas"},
		{resource: "elasticsearches"},
		{"clusterserviceversions", "elastic-cloud-eck."},
		{"subscriptions", "elastic-cloud-eck"},
	}
	plainNetworking = []link{{"deployments", "-kong"}, {"namespaces", "networking"}}
	plainLogging    = []link{{"deployments", "-kibana"}, {"deployments", "-elasticsearch"}, {"namespaces", "logging"}}
)

// assertOrder fails the test unless the provider has deleted all of each link before the first of the next. That each
// is gone by then is shown beside references.
func (b *bed) assertOrder(t *testing.T, chain []link) {
	t.Helper()
	last := -1
	for _, l := range chain {
		at := b.deletions(t, l)
		if len(at) == 0 || at[0] < last {
			t.Fatalf("%s %q: want it deleted after what depends on it, in the order of %v", l.resource, l.part, chain)
		}
		last = at[len(at)-1]
	}
}

// deletions returns when the provider has deleted what is of a link, in this round.
func (b *bed) deletions(t *testing.T, l link) (at []int) {
	t.Helper()
	for i, r := range target.Audit(t).Since(b.mark).By("provider") {
		if r.Verb == "delete" && r.Resource == l.resource && strings.Contains(r.Name, l.part) {
			at = append(at, i)
		}
	}
	return at
}

// transient are kinds whose resources come and go by the clock, or tell of the past.
var transient = []string{"events", "leases", "componentstatuses"}

// kept is what OLM leaves by design when an operator goes: its CustomResourceDefinitions, as with them all resources of
// the kind would go, the service of their version, who may use them, and an Operator that lists them.
var kept = regexp.MustCompile(`^(customresourcedefinitions /` + kinds +
	`|apiservices /(v1alpha1\.charts\.helm\.k8s\.io|v1\.(elasticsearch|kibana)\.k8s\.elastic\.co)|` +
	`clusterroles /` + kinds + `-v1(alpha1)?-(admin|crdview|edit|view)|` +
	`operators /(kong|other|elastic-cloud-eck)\.operators)$`)

// kinds are those of the operators in the catalog.
const kinds = `(kongs\.charts\.helm\.k8s\.io|elasticsearches\.elasticsearch\.k8s\.elastic\.co|` +
	`kibanas\.kibana\.k8s\.elastic\.co)`

// An inventory is all there is on a server, one "resource namespace/name" for each, sorted.
type inventory []string

// takeInventory lists all that a server holds, but for what comes and goes by itself and for what OLM keeps.
func takeInventory(t *testing.T, s *kube.Server) inventory {
	t.Helper()
	cfg := s.Config()
	cfg.WarningHandler = rest.NoWarnings{} // Some kinds are deprecated.
	dc := discovery.NewDiscoveryClientForConfigOrDie(cfg)
	lists, err := discovery.ServerPreferredResources(dc)
	if err != nil {
		t.Fatalf("cannot list kinds: %v", err)
	}
	mc := metadata.NewForConfigOrDie(cfg)
	all := inventory{}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l.APIResources {
			if slices.Contains(r.Verbs, "list") && !slices.Contains(transient, r.Name) {
				all = append(all, listAll(t, mc, gv.WithResource(r.Name))...)
			}
		}
	}
	sort.Strings(all)
	return slices.DeleteFunc(all, kept.MatchString)
}

func listAll(t *testing.T, mc metadata.Interface, gvr schema.GroupVersionResource) []string {
	t.Helper()
	list, err := mc.Resource(gvr).List(context.Background(), metav1.ListOptions{})
	if err := ignoreGone(err); err != nil {
		t.Fatalf("cannot list %s: %v", gvr, err)
	}
	if list == nil {
		return nil
	}
	var names []string
	for i := range list.Items {
		names = append(names, fmt.Sprintf("%s %s/%s", gvr.Resource, list.Items[i].GetNamespace(),
			list.Items[i].GetName()))
	}
	return names
}
