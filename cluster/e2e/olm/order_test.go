package olm

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// watched is what the histories of stacks tell of, and in which namespace.
var watched = map[schema.GroupVersionResource]string{
	subscriptions: operatorsNamespace, csvs: operatorsNamespace,
	kongs: kongsNamespace, elasticsearches: kongsNamespace, kibanas: kongsNamespace,
	deployments: "", namespaces: "",
}

// A link is resources of a chain whose names have a part in common.
type link struct {
	resource schema.GroupVersionResource
	part     string
}

// orders are the resources of the stacks in the order in which they must go: each is gone before the next is deleted.
var orders = map[string][][]link{
	"networking/olm":   {kongChain},
	"logging/olm":      {elasticChain},
	"all/olm":          {kongChain, elasticChain},
	"networking/plain": {plainNetworking},
	"logging/plain":    {plainLogging},
	"all/plain":        {plainNetworking, plainLogging},
}

var (
	kongChain    = []link{{resource: kongs}, {resource: csvs, part: "kong."}, {resource: subscriptions, part: "kong"}}
	elasticChain = []link{
		{resource: kibanas},
		{resource: elasticsearches},
		{resource: csvs, part: "elastic-cloud-eck."},
		{resource: subscriptions, part: "elastic-cloud-eck"},
	}
	plainNetworking = []link{{resource: deployments, part: "-kong"}, {resource: namespaces, part: "networking"}}
	plainLogging    = []link{
		{resource: deployments, part: "-kibana"},
		{resource: deployments, part: "-elasticsearch"},
		{resource: namespaces, part: "logging"},
	}
)

// assertGone fails the test unless all resources of each link were gone before the first of the next was deleted.
func assertGone(t *testing.T, h *history, chain []link) {
	t.Helper()
	end := chain[len(chain)-1]
	kube.Eventually(t, "the history to have its end", func() (bool, string) {
		return h.first(end.resource, func(e happening) bool { return end.has(e) && gone(e) }) > 0, end.part
	})
	for i, l := range chain[1:] {
		before := chain[i]
		_, last := h.times(before.resource, func(e happening) bool { return before.has(e) && gone(e) })
		next := h.first(l.resource, func(e happening) bool { return l.has(e) && leaving(e) })
		if last == 0 || next == 0 || next <= last {
			t.Errorf("%s %q must be gone before %s %q goes", before.resource.Resource, before.part,
				l.resource.Resource, l.part)
		}
	}
}

func (l link) has(e happening) bool { return strings.Contains(e.object.GetName(), l.part) }
