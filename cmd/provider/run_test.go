package main

import (
	"context"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane-contrib/provider-kcp/internal/commandline"
)

// TestIntervals shows which intervals are refused: the provider would look all the time.
func TestIntervals(t *testing.T) {
	for arg, refused := range map[string]bool{
		"--poll=0":                     false, // Changes are seen all the same.
		"--sync=0":                     false,
		"--sync=-1s":                   true,
		"--poll-state-metric=0":        true,
		"--poll-state-metric=1s":       false,
		"--poll-jitter-percentage=99":  false,
		"--poll-jitter-percentage=100": true,
	} {
		f := parse(t, arg)
		if err := f.check(); (err != nil) != refused {
			t.Errorf("%s: want it refused: %t, got %v", arg, refused, err)
		}
	}
}

// TestCommands shows that a plain start needs no command, and that flags of the provider go before and after one.
func TestCommands(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		args    []string
		command string
		want    arguments
		debug   bool
		fails   bool
	}{
		"Nothing": {reason: "The provider runs.", command: commandRun},
		"Flags": {
			reason: "The provider runs with flags.", args: []string{"--debug", "--no-enable-server-side-apply"},
			command: commandRun, debug: true,
		},
		"Preflight": {
			reason: "What is looked at is an argument.", args: []string{"preflight", "provider-kubernetes"},
			command: commandPreflight, want: arguments{from: "provider-kubernetes", output: outputTable},
		},
		"PreflightWithFlags": {
			reason:  "Flags of the provider say how it will run.",
			args:    []string{"--debug", "preflight", "api-syncagent", "-o", "json", "--state-namespace=x"},
			command: commandPreflight, want: arguments{from: "api-syncagent", output: outputJSON}, debug: true,
		},
		"Diff": {
			reason:  "Files may be several, and one the standard input.",
			args:    []string{"diff", "-f", "a.yaml", "b.yaml", "-f", "-", "--no-target"},
			command: commandDiff, want: arguments{files: []string{"a.yaml", "b.yaml", ""}, output: outputText, noTarget: true},
		},
		"Import": {
			reason: "Kinds may be several.", command: commandImport,
			args: []string{
				"import", "deploy", "svc", "--target-kubeconfig=k", "--provider-config=ProviderConfig/x", "-n", "n",
				"--selector=a=b", "--adopt",
			},
			want: arguments{target: "k", output: outputYAML, imports: commandline.ImportOptions{
				Kinds: []string{"deploy", "svc"}, Config: "ProviderConfig/x", Namespace: "n", Selector: "a=b", Adopt: true,
			}},
		},
		"Trace": {
			reason: "A resource is an argument.", args: []string{"trace", "shop/web", "-n", "n"}, command: commandTrace,
			want: arguments{which: "shop/web", namespace: "n", output: outputText},
		},
		"DiffOfNothing":     {reason: "A file must be named.", args: []string{"diff"}, fails: true},
		"NothingToTakeOver": {reason: "A former provider must be named.", args: []string{"preflight"}, fails: true},
		"UnknownProvider":   {reason: "It must be one of two.", args: []string{"preflight", "provider-helm"}, fails: true},
		"UnknownArgument":   {reason: "The plain start has no arguments.", args: []string{"start"}, fails: true},
		"OutputOfRun":       {reason: "A plain start has no report.", args: []string{"-o", "json"}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			app := kingpin.New("provider", "")
			f := newFlags(app)
			got := newArguments(app)
			command, err := app.Parse(tc.args)
			if (err != nil) != tc.fails {
				t.Fatalf("%s\nerror: %v", tc.reason, err)
			}
			if err != nil {
				return
			}
			if command != tc.command || f.debug != tc.debug {
				t.Errorf("%s\ncommand and debug: want %s %t, got %s %t", tc.reason, tc.command, tc.debug, command, f.debug)
			}
			if diff := cmp.Diff(&tc.want, got, cmp.AllowUnexported(arguments{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReadiness(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		filled []bool
		want   []bool
	}{
		"Waits": {
			reason: "The provider is not ready before its caches are.",
			filled: []bool{false, true}, want: []bool{false, true},
		},
		"Stays": {
			reason: "A cache that comes later, with a controller, does not take readiness back.",
			filled: []bool{true, false}, want: []bool{true, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var now bool
			check := readiness(func(context.Context) bool { return now })
			var got []bool
			for _, now = range tc.filled {
				got = append(got, check(httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)) == nil)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPublished shows which settings of PublishedResources keep the provider from starting, and what the others select.
func TestPublished(t *testing.T) {
	for arg, tc := range map[string]struct{ refused, selectsAll bool }{
		"--poll=1m":                                         {selectsAll: true}, // No selector selects all.
		"--published-resource-selector=team=a":              {},
		"--published-resource-selector=team in":             {refused: true},
		"--state-namespace=":                                {refused: true},
		"--state-namespace=States_1":                        {refused: true},
		"--default-provider-config=":                        {refused: true},
		"--default-provider-config=Services_1":              {refused: true},
		"--default-provider-config=ClusterProviderConfig/c": {refused: true}, // There is one kind, which is not written.
	} {
		f := parse(t, arg)
		if err := f.check(); (err != nil) != tc.refused {
			t.Errorf("%s: want an error %t, got %v", arg, tc.refused, err)
		}
		if tc.refused {
			continue
		}
		o := f.controllers
		if o.StateNamespace != "crossplane-system" || o.PublishedResourceConfig != "default" {
			t.Errorf("%s: got namespace %q and ProviderConfig %q", arg, o.StateNamespace, o.PublishedResourceConfig)
		}
		team := o.PublishedResourceSelector.Matches(labels.Set{"team": "a"})
		if all := o.PublishedResourceSelector.Matches(labels.Set{}); !team || all != tc.selectsAll {
			t.Errorf("%s: got %t for the team and %t for no label", arg, team, all)
		}
	}
}

// TestMetricLabels shows from where the values of all labels come: none is a text that a tenant writes, as there would
// be a series for each. Who adds a metric says here what its labels are.
func TestMetricLabels(t *testing.T) {
	const (
		code   = "a status code of HTTP"
		known  = "a constant"
		name   = "a controller or a queue, as the program names it"
		object = "a PublishedResource, whose series end with it"
		kind   = "a kind of ours"
		host   = "the server of a connection"
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
