package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/crossplane-contrib/provider-kcp/internal/controller/publishedresource"
)

// agentFlags are the flags of api-syncagent that have another name here. A flag of our own wins if it is set to
// something else than its default.
type agentFlags struct {
	namespace      string
	leaderElection bool
	metricsAddress string
	healthAddress  string
	debug          bool
}

// addAgentFlags adds the flags of api-syncagent, so that a Deployment that sets them does not keep the provider from
// starting. Those that have no effect are warned about. None has a variable, as the agent reads none.
func (f *flags) addAgentFlags(app *kingpin.Application) {
	renamed := func(name, now string) *kingpin.FlagClause {
		return app.Flag(name, "Accepted for compatibility: --"+now+".").NoEnvar()
	}
	renamed("namespace", "state-namespace").StringVar(&f.agent.namespace)
	renamed("enable-leader-election", "leader-election").BoolVar(&f.agent.leaderElection)
	renamed("metrics-address", "metrics-bind-address").StringVar(&f.agent.metricsAddress)
	renamed("health-address", "health-probe-bind-addr").StringVar(&f.agent.healthAddress)
	renamed("log-debug", "debug").BoolVar(&f.agent.debug)
	for name, why := range map[string]string{
		"kcp-kubeconfig":              "a ProviderConfig has spec.credentials",
		"agent-name":                  "a ProviderConfig has spec.kcp.agentName",
		"apiexportendpointslice-ref":  "a ProviderConfig has spec.kcp.apiExport.endpointSlice",
		"apiexport-ref":               "a ProviderConfig has spec.kcp.apiExport.name",
		"apiexport-hostport-override": "URLs of an APIExportEndpointSlice are used as they are",
		"kubeconfig-host-override":    "the kubeconfig is used as it is",
		"kubeconfig-ca-file-override": "the kubeconfig is used as it is",
		"disabled-controllers":        "a PublishedResource has spec.synchronization.enabled",
	} {
		f.ignore(app, name, why).NoEnvar().Strings()
	}
	app.Action(func(*kingpin.ParseContext) error {
		f.apply(f.agent)
		return nil
	})
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

// apply sets what flags of api-syncagent say and flags of our own do not.
func (f *flags) apply(a agentFlags) {
	override := func(setting *string, byDefault, value string) {
		if value != "" && *setting == byDefault {
			*setting = value
		}
	}
	override(&f.published.stateNamespace, publishedresource.DefaultStateNamespace, a.namespace)
	override(&f.metricsAddress, defaultMetricsAddress, a.metricsAddress)
	override(&f.healthAddress, defaultHealthAddress, a.healthAddress)
	f.election.enabled = f.election.enabled || a.leaderElection
	f.debug = f.debug || a.debug
}
