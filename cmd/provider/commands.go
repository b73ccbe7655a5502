package main

import (
	"cmp"
	"context"
	"io"
	"os"

	"github.com/alecthomas/kingpin/v2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/crossplane-contrib/provider-kcp/internal/commandline"
	"github.com/crossplane-contrib/provider-kcp/internal/preflight"
)

// Commands. Without one, the provider runs.
const (
	commandRun       = "run"
	commandPreflight = "preflight"
	commandDiff      = "diff"
	commandImport    = "import"
	commandTrace     = "trace"
	commandPlugin    = "plugin" // runs a credential plugin, which follows it; kingpin would take its arguments for ours
)

// Formats of a report.
const (
	outputTable = "table"
	outputText  = "text"
	outputYAML  = "yaml"
	outputJSON  = "json"
)

// reports are what commands other than run and plugin do. Each returns what is written, and the exit code.
var reports = map[string]func(*arguments, context.Context, *flags) (report, int, error){
	commandPreflight: (*arguments).preflight,
	commandDiff:      (*arguments).diff,
	commandImport:    (*arguments).objects,
	commandTrace:     (*arguments).trace,
}

// A report is written for people, or encoded as JSON.
type report interface{ WriteText(w io.Writer) error }

// arguments are the flags and arguments of the commands only. Commands use the flags of the provider, too.
type arguments struct {
	from, target, which, namespace, output string
	files                                  []string
	noTarget                               bool
	imports                                commandline.ImportOptions
}

// newArguments adds the commands. A hidden default command runs the provider, so that no command needs to be given.
func newArguments(app *kingpin.Application) *arguments {
	a := &arguments{}
	output := func(c *kingpin.CmdClause, text string) {
		c.Flag("output", "Format of the report: "+text+" or json.").Short('o').Default(text).
			EnumVar(&a.output, text, outputJSON)
	}
	app.Command(commandRun, "Run the provider.").Default().Hidden()

	c := app.Command(commandPreflight, "Report what a migration from a former provider would do, and write nothing. "+
		"Flags are those that this provider will run with. Exit code: 0 if nothing has to be done, "+
		"1 if something is refused or to be done first, 2 if something could not be read.")
	c.Arg("from", "provider-kubernetes or api-syncagent.").Required().
		EnumVar(&a.from, preflight.ProviderKubernetes, preflight.APISyncAgent)
	output(c, outputTable)

	c = app.Command(commandDiff, "Say what manifests would change, and change nothing. "+
		"Flags are those that the provider runs with. Exit code: 0 if nothing would change, "+
		"1 if something would, 2 if something is invalid or cannot be told.")
	c.Flag("file", "File of manifests, - for the standard input. Repeatable.").Short('f').Required().StringsVar(&a.files)
	c.Arg("file", "More files: -f *.yaml.").StringsVar(&a.files)
	c.Flag("target-kubeconfig", "Kubeconfig of the cluster to compare with, instead of those of ProviderConfigs. "+
		"Manifests that are no Objects need it.").StringVar(&a.target)
	c.Flag("no-target", "Only check fields, queries and paths, without a connection.").BoolVar(&a.noTarget)
	output(c, outputText)

	c = app.Command(commandImport, "Print an Object for each resource of a cluster that has neither a controller "+
		"nor an Object. What is left out is reported on the standard error. "+
		"Exit code: 0, or 2 if something could not be read.")
	c.Arg("kind", "Kinds of resources as kubectl takes them: deploy, deployments.apps, Deployment.").Required().
		StringsVar(&a.imports.Kinds)
	c.Flag("target-kubeconfig", "Kubeconfig of the cluster.").Required().StringVar(&a.target)
	c.Flag("provider-config", "ProviderConfig of the Objects, as KIND/NAME: ClusterProviderConfig/remote, "+
		"ProviderConfig/remote, or ProviderConfig.kubernetes.crossplane.io/remote for cluster-scoped Objects.").Required().
		StringVar(&a.imports.Config)
	c.Flag("in-namespace", "Namespace of the resources. Default: all.").Short('n').StringVar(&a.imports.Namespace)
	c.Flag("selector", "Label selector of the resources. Default: all.").StringVar(&a.imports.Selector)
	c.Flag("adopt", "Let the Objects apply what the authors of the resources have written, and not only observe.").
		BoolVar(&a.imports.Adopt)
	output(c, outputYAML)

	c = app.Command(commandTrace, "Show what a composite resource or an Object consists of, "+
		"down to the resource on the target, as statuses tell, and the first that is not Ready. "+
		"Exit code: 0 if all is Ready, 1 if something is not, 2 if something could not be read.")
	c.Arg("resource", "KIND/NAME, with the kind as kubectl takes it.").Required().StringVar(&a.which)
	c.Flag("in-namespace", "Namespace of the resource. Default: that of the kubeconfig.").Short('n').
		StringVar(&a.namespace)
	output(c, outputText)
	return a
}

// write writes the report of a command, and returns the exit code of the program.
func (a *arguments) write(ctx context.Context, w io.Writer, command string, f *flags) (int, error) {
	r, code, err := reports[command](a, ctx, f)
	switch {
	case err != nil:
	case a.output == outputJSON:
		err = preflight.WriteJSON(w, r)
	default:
		err = r.WriteText(w)
	}
	if err != nil {
		code = commandline.ExitUnknown
	}
	return code, err
}

func (a *arguments) preflight(ctx context.Context, f *flags) (report, int, error) {
	o := preflight.Options{
		StateNamespace: f.controllers.StateNamespace, DefaultConfig: f.controllers.PublishedResourceConfig,
	}
	var err error
	if o.ControlPlane, _, err = restConfig(f.kubeconfig); err != nil {
		return nil, 0, err
	}
	if o.Target, err = f.targets(); err != nil {
		return nil, 0, err
	}
	if o.Selector, err = labels.Parse(f.selector); err != nil {
		return nil, 0, errors.Wrap(err, "--published-resource-selector")
	}
	r, err := preflight.Run(ctx, a.from, o)
	return r, r.ExitCode, errors.Wrap(err, "cannot read the control plane")
}

func (a *arguments) diff(ctx context.Context, f *flags) (report, int, error) {
	o := commandline.Options{Files: a.files, In: os.Stdin, Sanitized: f.controllers.SanitizeSecrets}
	var err error
	if o.Connections, err = f.targets(); err != nil {
		return nil, 0, err
	}
	if !a.noTarget {
		if o.ControlPlane, o.Namespace, err = restConfig(f.kubeconfig); err != nil {
			return nil, 0, err
		}
	}
	if a.target != "" {
		if o.Target, o.TargetNamespace, err = restConfig(a.target); err != nil {
			return nil, 0, errors.Wrap(err, "--target-kubeconfig")
		}
	}
	r, err := commandline.Diff(ctx, o)
	return r, r.ExitCode, err
}

func (a *arguments) objects(ctx context.Context, _ *flags) (_ report, code int, err error) {
	if a.imports.Target, _, err = restConfig(a.target); err != nil {
		return nil, 0, errors.Wrap(err, "--target-kubeconfig")
	}
	return commandline.Import(ctx, os.Stderr, a.imports)
}

func (a *arguments) trace(ctx context.Context, f *flags) (report, int, error) {
	cfg, namespace, err := restConfig(f.kubeconfig)
	if err != nil {
		return nil, 0, err
	}
	r, err := commandline.Trace(ctx, cfg, cmp.Or(a.namespace, namespace), a.which)
	return r, r.ExitCode, err
}
