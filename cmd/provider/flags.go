package main

import (
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/version"
)

// envPrefix is the prefix of the environment variable of each flag that has no name of its own. It is that of
// provider-kubernetes, whose DeploymentRuntimeConfigs keep working.
const envPrefix = "CROSSPLANE_KUBERNETES_PROVIDER_"

// Addresses without a flag.
const (
	defaultMetricsAddress = ":8080"
	defaultHealthAddress  = ":8081"
)

// flags are the settings of the provider. Names, short names and environment variables are those of
// provider-kubernetes.
type flags struct {
	kubeconfig           string
	debug                bool
	sync                 time.Duration
	poll                 time.Duration
	pollStateMetric      time.Duration
	pollJitterPercentage uint
	election             election
	maxReconcileRate     int
	sanitizeSecrets      bool
	removeManagedFields  bool
	allowExec            bool
	metricsAddress       string
	healthAddress        string
	managementPolicies   bool
	changeLogs           bool
	changeLogsSocket     string
	legacyFieldManagers  []string
	tenancy              tenancy
	published            published
	logFormat            string
	changed              map[string]string // values of flags that differ from their defaults, by name
	ignored              map[string]*bool  // whether a flag without a meaning is set, by its name
}

func newFlags(app *kingpin.Application) *flags {
	f := &flags{ignored: map[string]*bool{}}
	app.Version(version.Version)
	app.Flag("kubeconfig",
		"Kubeconfig of the control plane. Default: $KUBECONFIG, else ~/.kube/config, else the cluster of the pod.").
		StringVar(&f.kubeconfig)
	app.Flag("debug", "Log at level debug.").Short('d').BoolVar(&f.debug)
	app.Flag("log-format", "Format of the log: json or console, also as JSON or Console.").Default(logJSON).
		EnumVar(&f.logFormat, logJSON, logConsole, "JSON", "Console")
	app.Flag("max-reconcile-rate",
		"Resources of each kind that are reconciled at a time for one target. Collections and applications: a tenth.").
		Default("100").IntVar(&f.maxReconcileRate)
	f.election.addTo(app)
	f.addIntervals(app)
	f.addAddresses(app)
	f.addFeatures(app)
	f.addChangeLogs(app)
	f.tenancy.addTo(app)
	f.published.addTo(app)
	f.addIgnored(app)
	f.nameVariables(app)
	f.addAgentFlags(app)
	return f
}

// nameVariables gives each flag without a variable one.
func (*flags) nameVariables(app *kingpin.Application) {
	for _, flag := range app.Model().Flags {
		if flag.Envar == "" && flag.Name != "help" && flag.Name != "version" {
			app.GetFlag(flag.Name).Envar(envPrefix + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_")))
		}
	}
}

// addIgnored adds flags of provider-kubernetes that mean nothing here. Each is accepted, as a DeploymentRuntimeConfig
// that sets it must not keep the provider from starting, and is warned about.
func (f *flags) addIgnored(app *kingpin.Application) {
	f.ignore(app, "webhook-port", "there is no webhook").Default("9443").Envar("WEBHOOK_PORT").Int()
	f.ignore(app, "certs-dir", "there is no webhook").Default("/tls/server").Envar("CERTS_DIR").String()
	f.ignore(app, "enable-watches", "targets are always watched").Default("true").Envar("ENABLE_WATCHES").Bool()
	f.ignore(app, "enable-server-side-apply",
		"manifests are always applied by the server").Default("true").Envar("ENABLE_SERVER_SIDE_APPLY").Bool()
	f.ignore(app, "enable-secret-cache", "Secrets of credentials are watched one by one").
		Default("true").Envar("ENABLE_SECRET_CACHE").Bool()
}

// ignore adds a flag that means nothing here.
func (f *flags) ignore(app *kingpin.Application, name, why string) *kingpin.FlagClause {
	set := new(bool)
	f.ignored[name] = set
	return app.Flag(name, "Accepted for compatibility: "+why+".").IsSetByUser(set)
}

// changed returns the values of the flags that differ from their defaults, by name. Hidden flags are other names.
func changed(app *kingpin.Application) map[string]string {
	fresh := kingpin.New("", "")
	newFlags(fresh)
	defaults := map[string]string{}
	for _, flag := range fresh.Model().Flags {
		for _, d := range flag.Default {
			_ = flag.Value.Set(d) // Each default is valid: TestFlags parses them all.
		}
		defaults[flag.Name] = flag.Value.String()
	}
	out := map[string]string{}
	for _, flag := range app.Model().Flags {
		if got := flag.Value.String(); got != defaults[flag.Name] && !flag.Hidden {
			out[flag.Name] = got
		}
	}
	return out
}

func (f *flags) addIntervals(app *kingpin.Application) {
	app.Flag("sync", "Interval at which caches are resynchronized.").Short('s').Default("1h").DurationVar(&f.sync)
	app.Flag("poll", "Interval at which each resource is compared with the cache of its target.").
		Default("10m").DurationVar(&f.poll)
	app.Flag("poll-state-metric", "Interval at which metrics of the state of resources are updated.").
		Default("5s").DurationVar(&f.pollStateMetric)
	app.Flag("poll-jitter-percentage",
		"Variation of the poll interval in percent, below 100.").Default("10").UintVar(&f.pollJitterPercentage)
}

// check refuses intervals with which the provider would look all the time.
func (f *flags) check() error {
	switch {
	case f.pollJitterPercentage >= 100:
		return errors.New("--poll-jitter-percentage must be below 100")
	case f.pollStateMetric <= 0:
		return errors.New("--poll-state-metric must be above 0")
	case f.sync < 0:
		return errors.New("--sync must not be negative")
	}
	return nil
}

func (f *flags) addAddresses(app *kingpin.Application) {
	app.Flag("metrics-bind-address",
		"Address that serves metrics. 0 serves none.").
		Default(defaultMetricsAddress).Envar("METRICS_BIND_ADDRESS").StringVar(&f.metricsAddress)
	app.Flag("health-probe-bind-addr",
		"Address that serves /healthz and /readyz. 0 serves none.").
		Default(defaultHealthAddress).Envar("HEALTH_PROBE_BIND_ADDRESS").StringVar(&f.healthAddress)
}

func (f *flags) addFeatures(app *kingpin.Application) {
	app.Flag("sanitize-secrets", "Mask the data of Secrets in status.atProvider.manifest.").
		Envar("SANITIZE_SECRETS").BoolVar(&f.sanitizeSecrets)
	app.Flag("remove-managed-fields",
		"Omit managed fields from status.atProvider.manifest.").
		Envar("REMOVE_MANAGED_FIELDS").BoolVar(&f.removeManagedFields)
	app.Flag("allow-kubeconfig-exec",
		"Let kubeconfigs from Secrets run credential plugins in the provider, for 15 seconds at most.").
		Envar("ALLOW_KUBECONFIG_EXEC").BoolVar(&f.allowExec)
	app.Flag("enable-management-policies",
		"Apply spec.managementPolicies.").Default("true").Envar("ENABLE_MANAGEMENT_POLICIES").BoolVar(&f.managementPolicies)
	app.Flag("legacy-csa-field-managers",
		"Additional field manager whose client-side applied fields the provider acquires. "+
			"Repeatable; in the variable, one per line.").
		StringsVar(&f.legacyFieldManagers)
}

func (f *flags) addChangeLogs(app *kingpin.Application) {
	app.Flag("enable-changelogs",
		"Send each create, update and delete by Objects and PublishedResources to the change log service.").
		Envar("ENABLE_CHANGE_LOGS").BoolVar(&f.changeLogs)
	app.Flag("changelogs-socket-path",
		"Path of the Unix socket of the change log service.").
		Default("/var/run/changelogs/changelogs.sock").Envar("CHANGELOGS_SOCKET_PATH").StringVar(&f.changeLogsSocket)
}
