package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// addAgentFlags adds the flags of api-syncagent, so that a Deployment that sets them does not keep the provider from
// starting. Those that have another name here set the same, and win over its variable. Those that have no effect are
// warned about. None has a variable, as the agent reads none.
func (f *flags) addAgentFlags(app *kingpin.Application) {
	renamed := func(name, now string) *kingpin.FlagClause {
		return app.Flag(name, "Accepted for compatibility: --"+now+".").NoEnvar().Hidden()
	}
	renamed("namespace", "state-namespace").StringVar(&f.published.stateNamespace)
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
