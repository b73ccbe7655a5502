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
)

// defaults are the settings without a flag.
func defaults() flags {
	return flags{
		sync: time.Hour, poll: 10 * time.Minute, pollStateMetric: 5 * time.Second, pollJitterPercentage: 10, maxReconcileRate: 100,
		webhookPort: 9443, metricsAddress: ":8080", healthAddress: ":8081", managementPolicies: true, serverSideApply: true,
		changeLogsSocket: "/var/run/changelogs/changelogs.sock",
	}
}

// parse returns the settings of a command line.
func parse(t *testing.T, args ...string) flags {
	t.Helper()
	app := kingpin.New("provider", "")
	f := newFlags(app)
	if _, err := app.Parse(args); err != nil {
		t.Fatal(err)
	}
	return *f
}

// TestFlags shows that each flag and each variable of provider-kubernetes, and each of our own, is known and means what it should.
func TestFlags(t *testing.T) {
	const prefix = "CROSSPLANE_KUBERNETES_PROVIDER_"
	for name, tc := range map[string]struct {
		args  []string // each by itself gives the setting
		env   string
		value string // of the variable
		want  func(*flags)
	}{
		"Defaults":          {args: []string{}, want: func(*flags) {}},
		"Kubeconfig":        {[]string{"--kubeconfig=k"}, prefix + "KUBECONFIG", "k", func(f *flags) { f.kubeconfig = "k" }},
		"Debug":             {[]string{"--debug", "-d"}, prefix + "DEBUG", "true", func(f *flags) { f.debug = true }},
		"Sync":              {[]string{"--sync=2h", "-s2h"}, prefix + "SYNC", "2h", func(f *flags) { f.sync = 2 * time.Hour }},
		"Poll":              {[]string{"--poll=1m"}, prefix + "POLL", "1m", func(f *flags) { f.poll = time.Minute }},
		"PollStateMetric":   {[]string{"--poll-state-metric=1m"}, prefix + "POLL_STATE_METRIC", "1m", func(f *flags) { f.pollStateMetric = time.Minute }},
		"PollJitter":        {[]string{"--poll-jitter-percentage=0"}, prefix + "POLL_JITTER_PERCENTAGE", "0", func(f *flags) { f.pollJitterPercentage = 0 }},
		"LeaderElection":    {[]string{"--leader-election", "-l"}, "LEADER_ELECTION", "true", func(f *flags) { f.leaderElection = true }},
		"MaxReconcileRate":  {[]string{"--max-reconcile-rate=7"}, prefix + "MAX_RECONCILE_RATE", "7", func(f *flags) { f.maxReconcileRate = 7 }},
		"SanitizeSecrets":   {[]string{"--sanitize-secrets"}, "SANITIZE_SECRETS", "true", func(f *flags) { f.sanitizeSecrets = true }},
		"WebhookPort":       {[]string{"--webhook-port=1"}, "WEBHOOK_PORT", "1", func(f *flags) { f.webhookPort = 1 }},
		"MetricsAddress":    {[]string{"--metrics-bind-address=:1"}, "METRICS_BIND_ADDRESS", ":1", func(f *flags) { f.metricsAddress = ":1" }},
		"HealthAddress":     {[]string{"--health-probe-bind-addr=:1"}, "HEALTH_PROBE_BIND_ADDRESS", ":1", func(f *flags) { f.healthAddress = ":1" }},
		"ChangeLogsSocket":  {[]string{"--changelogs-socket-path=/s"}, "CHANGELOGS_SOCKET_PATH", "/s", func(f *flags) { f.changeLogsSocket = "/s" }},
		"ChangeLogs":        {[]string{"--enable-changelogs"}, "ENABLE_CHANGE_LOGS", "true", func(f *flags) { f.changeLogs = true }},
		"Policies":          {[]string{"--no-enable-management-policies"}, "ENABLE_MANAGEMENT_POLICIES", "false", func(f *flags) { f.managementPolicies = false }},
		"PoliciesOn":        {[]string{"--enable-management-policies"}, "ENABLE_MANAGEMENT_POLICIES", "true", func(*flags) {}},
		"Watches":           {[]string{"--enable-watches"}, "ENABLE_WATCHES", "true", func(f *flags) { f.watches = true }},
		"NoWatches":         {[]string{"--no-enable-watches"}, "ENABLE_WATCHES", "false", func(*flags) {}},
		"ServerSideApply":   {[]string{"--enable-server-side-apply"}, "ENABLE_SERVER_SIDE_APPLY", "true", func(*flags) {}},
		"NoServerSideApply": {[]string{"--no-enable-server-side-apply"}, "ENABLE_SERVER_SIDE_APPLY", "false", func(f *flags) { f.serverSideApply = false }},
		"ManagedFields":     {[]string{"--remove-managed-fields"}, "REMOVE_MANAGED_FIELDS", "true", func(f *flags) { f.removeManagedFields = true }},
		"AllowExec":         {[]string{"--allow-kubeconfig-exec"}, "ALLOW_KUBECONFIG_EXEC", "true", func(f *flags) { f.allowExec = true }},
		"CrossNamespace":    {[]string{"--allow-cross-namespace-references"}, "ALLOW_CROSS_NAMESPACE_REFERENCES", "true", func(f *flags) { f.tenancy.crossNamespace = true }},
		"ProviderIdentity":  {[]string{"--allow-namespaced-provider-credentials"}, "ALLOW_NAMESPACED_PROVIDER_CREDENTIALS", "true", func(f *flags) { f.tenancy.providerCredentials = true }},
		"AllowedTargets":    {[]string{"--allowed-target-cidrs=10.0.0.0/8"}, "ALLOWED_TARGET_CIDRS", "10.0.0.0/8", func(f *flags) { f.tenancy.allowed = []string{"10.0.0.0/8"} }},
		"DeniedTargets":     {[]string{"--denied-target-cidrs=10.0.0.0/8"}, "DENIED_TARGET_CIDRS", "10.0.0.0/8", func(f *flags) { f.tenancy.denied = []string{"10.0.0.0/8"} }},
		"LegacyManager":     {[]string{"--legacy-csa-field-managers=a"}, prefix + "LEGACY_CSA_FIELD_MANAGERS", "a", func(f *flags) { f.legacyFieldManagers = []string{"a"} }},
		"LegacyManagers":    {nil, prefix + "LEGACY_CSA_FIELD_MANAGERS", "a\nb", func(f *flags) { f.legacyFieldManagers = []string{"a", "b"} }},
		"OldCertificates":   {nil, "WEBHOOK_TLS_CERT_DIR", "/tls", func(*flags) {}},
		"Certificates":      {nil, "TLS_SERVER_CERTS_DIR", "/tls", func(*flags) {}},
	} {
		t.Run(name, func(t *testing.T) {
			want := defaults()
			tc.want(&want)
			for _, arg := range tc.args {
				if diff := cmp.Diff(want, parse(t, arg), cmp.AllowUnexported(flags{}, tenancy{}), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", arg, diff)
				}
			}
			if tc.env == "" {
				return
			}
			t.Setenv(tc.env, tc.value)
			if diff := cmp.Diff(want, parse(t), cmp.AllowUnexported(flags{}, tenancy{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s=%q: -want, +got:\n%s", tc.env, tc.value, diff)
			}
		})
	}
}

func TestRepeatedFlag(t *testing.T) {
	got := parse(t, "--legacy-csa-field-managers=a", "--legacy-csa-field-managers=b").legacyFieldManagers
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("legacy field managers: -want, +got:\n%s", diff)
	}
}

// TestBadNetworks shows that a list of addresses that cannot be read names its flag.
func TestBadNetworks(t *testing.T) {
	for _, flag := range []string{"--allowed-target-cidrs", "--denied-target-cidrs"} {
		f := parse(t, flag+"=10.0.0.0/8,nonsense")
		if _, err := f.tenancy.addresses(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: got %v", flag, err)
		}
	}
}

// TestWarn shows that a flag whose meaning is lost is told of, and no other.
func TestWarn(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want bool
	}{
		"NoServerSideApply": {args: []string{"--no-enable-server-side-apply"}, want: true},
		"ServerSideApply":   {args: []string{"--enable-server-side-apply"}, want: false},
		"NoFlags":           {args: nil, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			f := parse(t, tc.args...)
			f.warn(logging.NewLogrLogger(funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})))
			warned := len(lines) == 1 && strings.Contains(lines[0], "--no-enable-server-side-apply has no effect")
			if warned != tc.want || (!tc.want && len(lines) > 0) {
				t.Errorf("warned: want %t, got %v", tc.want, lines)
			}
		})
	}
}

// TestOptions shows that settings reach the controllers.
func TestOptions(t *testing.T) {
	f := parse(t, "--poll=1m", "--poll-jitter-percentage=20", "--max-reconcile-rate=7", "--poll-state-metric=1s", "--sanitize-secrets",
		"--remove-managed-fields", "--no-enable-management-policies", "--legacy-csa-field-managers=a", "--allow-cross-namespace-references")
	o := options(&f, logging.NewNopLogger(), nil)
	if o.PollInterval != time.Minute || o.PollJitter != 0.2 || o.MaxConcurrentReconciles != 7 || o.MetricOptions.PollStateMetricInterval != time.Second {
		t.Errorf("intervals and rates do not arrive: %+v", o)
	}
	if !o.SanitizeSecrets || !o.RemoveManagedFields || !o.AllowCrossNamespaceReferences || o.Features.Enabled(feature.EnableBetaManagementPolicies) {
		t.Errorf("switches do not arrive: %+v", o)
	}
	if diff := cmp.Diff([]string{"a"}, o.LegacyFieldManagers); diff != "" {
		t.Errorf("legacy field managers: -want, +got:\n%s", diff)
	}
}
