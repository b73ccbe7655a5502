package main

import (
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
)

// defaults are the settings without a flag.
func defaults() flags {
	f := flags{
		sync: time.Hour, pollStateMetric: 5 * time.Second, pollJitterPercentage: 10,
		metricsAddress: ":8080", healthAddress: ":8081", managementPolicies: true, logFormat: "json",
		changeLogsSocket: "/var/run/changelogs/changelogs.sock",
		election: election{
			id: "crossplane-leader-election-provider-kubernetes", shards: 1,
			leaseDuration: 15 * time.Second, renewDeadline: 10 * time.Second, retryPeriod: 500 * time.Millisecond,
		},
		controllers: object.Options{StateNamespace: "crossplane-system", PublishedResourceConfig: "default"},
	}
	f.controllers.PollInterval, f.controllers.MaxConcurrentReconciles = 10*time.Minute, 100
	return f
}

// parse returns the settings of a command line.
func parse(t *testing.T, args ...string) flags {
	t.Helper()
	app := kingpin.New("provider", "")
	f := newFlags(app)
	if _, err := app.Parse(args); err != nil {
		t.Fatal(err)
	}
	f.changed = changed(app)
	return *f
}

// TestFlags shows that each flag and each variable of our own is known and means what it should, and that flags of
// api-syncagent that have another name here mean the same. TestFlagsOfPeers shows those of others.
func TestFlags(t *testing.T) {
	const prefix = "CROSSPLANE_KUBERNETES_PROVIDER_"
	for _, tc := range []struct {
		arg        string // none if empty
		env, value string // of a variable; none if empty
		want       func(*flags)
	}{
		{
			arg: "--published-resource-selector=team=a", env: prefix + "PUBLISHED_RESOURCE_SELECTOR", value: "team=a",
			want: func(f *flags) { f.selector = "team=a" },
		},
		{
			arg: "--state-namespace=kcp-system", env: prefix + "STATE_NAMESPACE", value: "kcp-system",
			want: func(f *flags) { f.controllers.StateNamespace = "kcp-system" },
		},
		{
			arg: "--default-provider-config=services", env: prefix + "DEFAULT_PROVIDER_CONFIG", value: "services",
			want: func(f *flags) { f.controllers.PublishedResourceConfig = "services" },
		},
		{
			arg: "--log-format=console", env: prefix + "LOG_FORMAT", value: "console",
			want: func(f *flags) { f.logFormat = "console" },
		},
		{
			arg: "--leader-election-id=team-a", env: prefix + "LEADER_ELECTION_ID", value: "team-a",
			want: func(f *flags) { f.election.id = "team-a" },
		},
		{arg: "--shards=3", env: prefix + "SHARDS", value: "3", want: func(f *flags) { f.election.shards = 3 }},
		{
			arg: "--leader-election-lease-duration=9s", env: prefix + "LEADER_ELECTION_LEASE_DURATION", value: "9s",
			want: func(f *flags) { f.election.leaseDuration = 9 * time.Second },
		},
		{
			arg: "--leader-election-renew-deadline=9s", env: prefix + "LEADER_ELECTION_RENEW_DEADLINE", value: "9s",
			want: func(f *flags) { f.election.renewDeadline = 9 * time.Second },
		},
		{
			arg: "--leader-election-retry-period=9s", env: prefix + "LEADER_ELECTION_RETRY_PERIOD", value: "9s",
			want: func(f *flags) { f.election.retryPeriod = 9 * time.Second },
		},
		{
			arg: "--allow-kubeconfig-exec", env: "ALLOW_KUBECONFIG_EXEC", value: "true",
			want: func(f *flags) { f.connections.AllowExec = true },
		},
		{
			arg: "--allow-cross-namespace-references", env: "ALLOW_CROSS_NAMESPACE_REFERENCES", value: "true",
			want: func(f *flags) { f.connections.AllowCrossNamespace = true },
		},
		{
			arg: "--allow-namespaced-provider-credentials", env: "ALLOW_NAMESPACED_PROVIDER_CREDENTIALS", value: "true",
			want: func(f *flags) { f.connections.AllowProviderCredentials = true },
		},
		{
			arg: "--restrict-cluster-provider-configs", env: "RESTRICT_CLUSTER_PROVIDER_CONFIGS", value: "true",
			want: func(f *flags) { f.connections.RestrictClusterConfigs = true },
		},
		{
			arg: "--allowed-target-cidrs=10.0.0.0/8", env: "ALLOWED_TARGET_CIDRS", value: "10.0.0.0/8",
			want: func(f *flags) { f.allowed = []string{"10.0.0.0/8"} },
		},
		{
			arg: "--denied-target-cidrs=10.0.0.0/8", env: "DENIED_TARGET_CIDRS", value: "10.0.0.0/8",
			want: func(f *flags) { f.denied = []string{"10.0.0.0/8"} },
		},
		{
			env: prefix + "LEGACY_CSA_FIELD_MANAGERS", value: "a\nb",
			want: func(f *flags) { f.controllers.LegacyFieldManagers = []string{"a", "b"} },
		},
		{env: "WEBHOOK_TLS_CERT_DIR", value: "/tls", want: func(*flags) {}},
		{env: "TLS_SERVER_CERTS_DIR", value: "/tls", want: func(*flags) {}},
		// Of api-syncagent.
		{arg: "--log-format=Console", want: func(f *flags) { f.logFormat = "Console" }},
		{arg: "--log-format=JSON", want: func(f *flags) { f.logFormat = "JSON" }},
		{arg: "--log-debug", want: func(f *flags) { f.debug = true }},
		{arg: "--namespace=kcp-system", want: func(f *flags) { f.controllers.StateNamespace = "kcp-system" }},
		{arg: "--enable-leader-election", want: func(f *flags) { f.election.enabled = true }},
		{arg: "--metrics-address=127.0.0.1:8085", want: func(f *flags) { f.metricsAddress = "127.0.0.1:8085" }},
		{arg: "--health-address=:1", want: func(f *flags) { f.healthAddress = ":1" }},
	} {
		t.Run(tc.arg+tc.env, func(t *testing.T) {
			want := defaults()
			tc.want(&want)
			if tc.arg != "" {
				if diff := cmp.Diff(want, parse(t, tc.arg), compareFlags...); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", tc.arg, diff)
				}
			}
			if tc.env != "" {
				t.Setenv(tc.env, tc.value)
				if diff := cmp.Diff(want, parse(t), compareFlags...); diff != "" {
					t.Errorf("%s=%q: -want, +got:\n%s", tc.env, tc.value, diff)
				}
			}
		})
	}
}

// TestBadLogFormat shows that an unknown format of the log is refused.
func TestBadLogFormat(t *testing.T) {
	if _, err := tryParse("--log-format=xml"); err == nil || !strings.Contains(err.Error(), "json") {
		t.Errorf("want an error that names the formats, got %v", err)
	}
}

// TestBadNetworks shows that a list of addresses that cannot be read names its flag.
func TestBadNetworks(t *testing.T) {
	for _, flag := range []string{"--allowed-target-cidrs", "--denied-target-cidrs"} {
		f := parse(t, flag+"=10.0.0.0/8,nonsense")
		if _, err := f.targets(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: got %v", flag, err)
		}
	}
}

// compareFlags compares settings, without how they are logged.
var compareFlags = cmp.Options{
	cmp.AllowUnexported(flags{}, election{}), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(flags{}, "ignored", "changed"),
}

// TestWarn shows that the flags and variables of provider-kubernetes that have no effect here are accepted, and that
// each that is set is warned about in one line.
func TestWarn(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		env  string
		want []string // flags
	}{
		"NoFlags":     {},
		"NotIgnored":  {args: []string{"--debug"}},
		"WebhookPort": {args: []string{"--webhook-port=1"}, want: []string{"webhook-port"}},
		"NoWebhook":   {args: []string{"--certs-dir="}, want: []string{"certs-dir"}},
		"Watches":     {args: []string{"--enable-watches"}, want: []string{"enable-watches"}},
		"NoServerSideApply": {
			args: []string{"--no-enable-server-side-apply"},
			want: []string{"enable-server-side-apply"},
		},
		"SecretCache":   {args: []string{"--enable-secret-cache"}, want: []string{"enable-secret-cache"}},
		"NoSecretCache": {args: []string{"--no-enable-secret-cache"}, want: []string{"enable-secret-cache"}},
		"Several": {
			args: []string{"--webhook-port=1", "--no-enable-secret-cache"},
			want: []string{"enable-secret-cache", "webhook-port"},
		},
		"OfTheAgent": {
			args: []string{"--kcp-kubeconfig=k", "--agent-name=a", "--namespace=n", "--disabled-controllers=sync"},
			want: []string{"agent-name", "disabled-controllers", "kcp-kubeconfig"},
		},
		"Variable": {env: "ENABLE_SECRET_CACHE", want: []string{"enable-secret-cache"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.env != "" {
				t.Setenv(tc.env, "false")
			}
			var lines []string
			f := parse(t, tc.args...)
			f.warn(logging.NewLogrLogger(funcr.New(func(_, args string) { lines = append(lines, args) },
				funcr.Options{})))
			if len(lines) != len(tc.want) {
				t.Fatalf("want a line for each of %v, got %q", tc.want, lines)
			}
			for i, flag := range tc.want {
				if !strings.Contains(lines[i], `"Flag has no effect" "flag"="`+flag+`"`) {
					t.Errorf("want a line about %s, got %s", flag, lines[i])
				}
			}
		})
	}
}

// TestChanged shows that the line at the start names the flags that differ from their defaults, and no other.
func TestChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want map[string]string
	}{
		"Defaults": {want: map[string]string{}},
		"Same":     {args: []string{"--poll=10m", "--enable-management-policies"}, want: map[string]string{}},
		"Changed": {
			args: []string{
				"--poll=1m", "--no-enable-management-policies", "--leader-election", "--legacy-csa-field-managers=a",
			},
			want: map[string]string{
				"poll": "1m0s", "enable-management-policies": "false", "leader-election": "true",
				"legacy-csa-field-managers": "a",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := kingpin.New("provider", "")
			newFlags(app)
			if _, err := app.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, changed(app)); diff != "" {
				t.Errorf("changed flags: -want, +got:\n%s", diff)
			}
		})
	}
}

// TestOptions shows that settings reach the controllers.
func TestOptions(t *testing.T) {
	f := parse(t, "--poll=1m", "--poll-jitter-percentage=20", "--max-reconcile-rate=7", "--poll-state-metric=1s",
		"--sanitize-secrets", "--remove-managed-fields", "--no-enable-management-policies",
		"--legacy-csa-field-managers=a", "--allow-cross-namespace-references")
	o := options(&f, logging.NewNopLogger(), nil)
	if o.PollInterval != time.Minute || o.PollJitter != 0.2 || o.MaxConcurrentReconciles != 7 ||
		o.MetricOptions.PollStateMetricInterval != time.Second {
		t.Errorf("intervals and rates do not arrive: %+v", o)
	}
	if !o.SanitizeSecrets || !o.RemoveManagedFields || !o.AllowCrossNamespaceReferences ||
		o.Features.Enabled(feature.EnableBetaManagementPolicies) {
		t.Errorf("switches do not arrive: %+v", o)
	}
	if diff := cmp.Diff([]string{"a"}, o.LegacyFieldManagers); diff != "" {
		t.Errorf("legacy field managers: -want, +got:\n%s", diff)
	}
}
