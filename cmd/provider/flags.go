package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/publishedresource"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/version"
)

// envPrefix is the prefix of the environment variable of each flag that has no name of its own. It is that of
// provider-kubernetes, whose DeploymentRuntimeConfigs keep working.
const envPrefix = "CROSSPLANE_KUBERNETES_PROVIDER_"

// flags are the settings of the provider. Names, short names and environment variables are those of
// provider-kubernetes.
type flags struct {
	kubeconfig           string
	debug                bool
	sync                 time.Duration
	pollStateMetric      time.Duration
	pollJitterPercentage uint
	election             election
	metricsAddress       string
	healthAddress        string
	managementPolicies   bool
	changeLogs           bool
	changeLogsSocket     string
	controllers          object.Options   // what flags set of them
	connections          clusters.Options // what flags set of them
	allowed, denied      []string         // CIDRs
	selector             string           // of PublishedResources
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
		Default("100").IntVar(&f.controllers.MaxConcurrentReconciles)
	f.election.addTo(app)
	f.addOthers(app)
	f.addTenancy(app)
	f.addPublished(app)
	f.addIgnored(app)
	for _, flag := range app.Model().Flags {
		if flag.Envar == "" && flag.Name != "help" && flag.Name != "version" {
			app.GetFlag(flag.Name).Envar(envPrefix + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_")))
		}
	}
	f.addAgentFlags(app)
	return f
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

func (f *flags) addOthers(app *kingpin.Application) {
	app.Flag("sync", "Interval at which caches are resynchronized.").Short('s').Default("1h").DurationVar(&f.sync)
	app.Flag("poll", "Interval at which each resource is compared with the cache of its target.").
		Default("10m").DurationVar(&f.controllers.PollInterval)
	app.Flag("poll-state-metric", "Interval at which metrics of the state of resources are updated.").
		Default("5s").DurationVar(&f.pollStateMetric)
	app.Flag("poll-jitter-percentage",
		"Variation of the poll interval in percent, below 100.").Default("10").UintVar(&f.pollJitterPercentage)
	app.Flag("metrics-bind-address", "Address that serves metrics. 0 serves none.").
		Default(":8080").Envar("METRICS_BIND_ADDRESS").StringVar(&f.metricsAddress)
	app.Flag("health-probe-bind-addr", "Address that serves /healthz and /readyz. 0 serves none.").
		Default(":8081").Envar("HEALTH_PROBE_BIND_ADDRESS").StringVar(&f.healthAddress)
	app.Flag("sanitize-secrets", "Mask the data of Secrets in status.atProvider.manifest.").
		Envar("SANITIZE_SECRETS").BoolVar(&f.controllers.SanitizeSecrets)
	app.Flag("remove-managed-fields", "Omit managed fields from status.atProvider.manifest.").
		Envar("REMOVE_MANAGED_FIELDS").BoolVar(&f.controllers.RemoveManagedFields)
	app.Flag("allow-kubeconfig-exec",
		"Let kubeconfigs from Secrets run credential plugins in the provider, for 15 seconds at most.").
		Envar("ALLOW_KUBECONFIG_EXEC").BoolVar(&f.connections.AllowExec)
	app.Flag("enable-management-policies",
		"Apply spec.managementPolicies.").Default("true").Envar("ENABLE_MANAGEMENT_POLICIES").BoolVar(&f.managementPolicies)
	app.Flag("legacy-csa-field-managers",
		"Additional field manager whose client-side applied fields the provider acquires. "+
			"Repeatable; in the variable, one per line.").
		StringsVar(&f.controllers.LegacyFieldManagers)
	app.Flag("enable-changelogs",
		"Send each create, update and delete by Objects and PublishedResources to the change log service.").
		Envar("ENABLE_CHANGE_LOGS").BoolVar(&f.changeLogs)
	app.Flag("changelogs-socket-path", "Path of the Unix socket of the change log service.").
		Default("/var/run/changelogs/changelogs.sock").Envar("CHANGELOGS_SOCKET_PATH").StringVar(&f.changeLogsSocket)
}

// check refuses intervals with which the provider would look all the time, and names that cannot exist.
func (f *flags) check() (err error) {
	o := &f.controllers
	switch {
	case f.pollJitterPercentage >= 100:
		return errors.New("--poll-jitter-percentage must be below 100")
	case f.pollStateMetric <= 0:
		return errors.New("--poll-state-metric must be above 0")
	case f.sync < 0:
		return errors.New("--sync must not be negative")
	}
	if o.PublishedResourceSelector, err = labels.Parse(f.selector); err != nil {
		return errors.Wrap(err, "--published-resource-selector")
	}
	if wrong := validation.IsDNS1123Label(o.StateNamespace); len(wrong) > 0 {
		return errors.Errorf("--state-namespace: %s", strings.Join(wrong, "; "))
	}
	if wrong := validation.IsDNS1123Subdomain(o.PublishedResourceConfig); len(wrong) > 0 {
		return errors.Errorf("--default-provider-config: %s", strings.Join(wrong, "; "))
	}
	return nil
}

// addTenancy adds what namespaced resources, which tenants write, may use.
func (f *flags) addTenancy(app *kingpin.Application) {
	app.Flag("allow-cross-namespace-references",
		"Let namespaced Objects refer to other namespaces and to cluster-scoped resources, "+
			"and namespaced ProviderConfigs to Secrets of other namespaces.").
		Envar("ALLOW_CROSS_NAMESPACE_REFERENCES").BoolVar(&f.connections.AllowCrossNamespace)
	app.Flag("allow-namespaced-provider-credentials",
		"Let namespaced ProviderConfigs use the environment, files and identities of the provider.").
		Envar("ALLOW_NAMESPACED_PROVIDER_CREDENTIALS").BoolVar(&f.connections.AllowProviderCredentials)
	app.Flag("restrict-cluster-provider-configs",
		"Let no namespace use a ClusterProviderConfig without allowedNamespaces.").
		Envar("RESTRICT_CLUSTER_PROVIDER_CONFIGS").BoolVar(&f.connections.RestrictClusterConfigs)
	app.Flag("allowed-target-cidrs",
		"The only networks that kubeconfigs of namespaced ProviderConfigs may refer to. Repeatable, or separated by commas.").
		Envar("ALLOWED_TARGET_CIDRS").StringsVar(&f.allowed)
	app.Flag("denied-target-cidrs",
		"Networks that kubeconfigs of namespaced ProviderConfigs may not refer to. Metadata servers are always denied. "+
			"Repeatable, or separated by commas.").
		Envar("DENIED_TARGET_CIDRS").StringsVar(&f.denied)
}

// targets returns the options of connections.
func (f *flags) targets() (clusters.Options, error) {
	o := f.connections
	o.UserAgent = version.UserAgent()
	_, err := rest.InClusterConfig()
	o.Addresses.Pod = err == nil
	if o.Addresses.Allowed, err = clusters.ParseNetworks(f.allowed); err != nil {
		return o, errors.Wrap(err, "--allowed-target-cidrs")
	}
	o.Addresses.Denied, err = clusters.ParseNetworks(f.denied)
	return o, errors.Wrap(err, "--denied-target-cidrs")
}

// addPublished adds the settings of PublishedResources.
func (f *flags) addPublished(app *kingpin.Application) {
	app.Flag("published-resource-selector",
		"Label selector of the PublishedResources that this provider reconciles. Default: all.").
		StringVar(&f.selector)
	app.Flag("state-namespace", "Namespace of the sync-state Secrets of PublishedResources without stateNamespace.").
		Default(publishedresource.DefaultStateNamespace).StringVar(&f.controllers.StateNamespace)
	app.Flag("default-provider-config", "ClusterProviderConfig of PublishedResources without providerConfigRef.").
		Default(scope.DefaultPublisherConfig).StringVar(&f.controllers.PublishedResourceConfig)
}

// addAgentFlags adds the flags of api-syncagent, so that a Deployment that sets them does not keep the provider from
// starting. Those that have another name here set the same, and win over its variable. Those that have no effect are
// warned about. None has a variable, as the agent reads none.
func (f *flags) addAgentFlags(app *kingpin.Application) {
	renamed := func(name, now string) *kingpin.FlagClause {
		return app.Flag(name, "Accepted for compatibility: --"+now+".").NoEnvar().Hidden()
	}
	renamed("namespace", "state-namespace").StringVar(&f.controllers.StateNamespace)
	renamed("enable-leader-election", "leader-election").BoolVar(&f.election.enabled)
	renamed("metrics-address", "metrics-bind-address").StringVar(&f.metricsAddress)
	renamed("health-address", "health-probe-bind-addr").StringVar(&f.healthAddress)
	renamed("log-debug", "debug").BoolVar(&f.debug)
	for _, is := range [][2]string{
		{"agent-name", "a ProviderConfig has spec.kcp.agentName"},
		{"apiexport-hostport-override", "URLs of an APIExportEndpointSlice are used as they are"},
		{"apiexport-ref", "a ProviderConfig has spec.kcp.apiExport.name"},
		{"apiexportendpointslice-ref", "a ProviderConfig has spec.kcp.apiExport.endpointSlice"},
		{"disabled-controllers", "a PublishedResource has spec.synchronization.enabled"},
		{"kcp-kubeconfig", "a ProviderConfig has spec.credentials"},
		{"kubeconfig-ca-file-override", "the kubeconfig is used as it is"},
		{"kubeconfig-host-override", "the kubeconfig is used as it is"},
	} {
		f.ignore(app, is[0], is[1]).NoEnvar().Strings()
	}
}

// switches returns a command line in which --name=true and --name=false, as api-syncagent takes them, too, are --name
// and --no-name.
func switches(app *kingpin.Application, args []string) []string {
	out := slices.Clone(args)
	for i, arg := range args {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		flag := app.GetFlag(name)
		on, err := strconv.ParseBool(value)
		switch {
		case err != nil || flag == nil || !flag.Model().IsBoolFlag():
		case on:
			out[i] = "--" + name
		default:
			out[i] = "--no-" + name
		}
	}
	return out
}
