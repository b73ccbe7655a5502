package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// TestMetricLabels shows from where the values of all labels come: none is a text that a tenant writes, as there would
// be a series for each. Who adds a metric says here what its labels are.
func TestMetricLabels(t *testing.T) {
	const (
		code   = "a status code of HTTP"
		known  = "a constant"
		name   = "a controller or a queue, as the program names it"
		object = "a PublishedResource, whose series end with it"
		kind   = "a kind of ours"
		host   = "a host of a connection, of which there are few"
	)
	labels := map[string]map[string]string{
		"publishedresource_": {
			"publishedresource": object, "state": known, "reason": known, "type": known,
		},
		"crossplane_managed_resource_":            {"gvk": kind},
		"provider_kcp_failing_resources":          {"gvk": kind, "condition": known},
		"provider_kcp_restored_servers_total":     {"server": known},
		"provider_kcp_unreadable_resources_total": {},
		"rest_client_requests_total":              {"code": code, "method": known, "host": host},
		"controller_runtime_":                     {"controller": name, "result": known, "webhook": name, "code": code},
		"workqueue_":                              {"name": name, "controller": name, "priority": known},
		"leader_election_":                        {"name": known},
		"certwatcher_":                            {},
		"go_":                                     {"quantile": known},
		"process_":                                {},
		"provider_kcp_postponed_reverts_total":    {},
		"sync_agent_published_resource":           {},
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		metrics.Registry.(prometheus.Collector).Describe(descs)
		close(descs)
	}()
	form, unknown, seen := regexp.MustCompile(`fqName: "([^"]*)".*variableLabels: \{([^}]*)\}`), []string{}, 0
	for d := range descs {
		m := form.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("cannot read %s", d)
		}
		seen++
		var of map[string]string
		for prefix, l := range labels {
			if strings.HasPrefix(m[1], prefix) {
				of = l
			}
		}
		if of == nil {
			unknown = append(unknown, m[1])
		}
		for _, l := range strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' }) {
			if of[l] == "" {
				unknown = append(unknown, m[1]+"{"+l+"}")
			}
		}
	}
	if diff := cmp.Diff([]string{}, unknown); diff != "" || seen == 0 {
		t.Errorf("metrics and labels whose values nobody knows, of %d:\n%s", seen, diff)
	}
}
