package olm

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
