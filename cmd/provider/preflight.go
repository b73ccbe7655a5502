package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-logr/logr"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

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
	outputJSON  = "json"
)

// preflightFlags are the flags of the preflight command only. It also uses all flags of the provider.
type preflightFlags struct{ from, output string }

// commands are the flags of the commands.
type commands struct {
	preflight preflightFlags
	diff      diffFlags
	imports   importFlags
	trace     traceFlags
}

// newCommands adds the commands. A hidden default command runs the provider, so that no command needs to be given.
func newCommands(app *kingpin.Application) *commands {
	c := &commands{}
	app.Command(commandRun, "Run the provider.").Default().Hidden()
	c.preflight.addTo(app)
	c.diff.addTo(app)
	c.imports.addTo(app)
	c.trace.addTo(app)
	return c
}

func (f *preflightFlags) addTo(app *kingpin.Application) {
	c := app.Command(commandPreflight, "Report what a migration from a former provider would do, and write nothing. "+
		"Flags are those that this provider will run with. Exit code: 0 if nothing has to be done, "+
		"1 if something is refused or to be done first, 2 if something could not be read.")
	c.Arg("from", "provider-kubernetes or api-syncagent.").Required().
		EnumVar(&f.from, preflight.ProviderKubernetes, preflight.APISyncAgent)
	c.Flag("output", "Format of the report: table or json.").Short('o').Default(outputTable).
		EnumVar(&f.output, outputTable, outputJSON)
}

// asksForReport reports whether a command line that cannot be parsed is that of a command whose exit code tells.
func asksForReport(args []string) bool {
	all := []string{commandPreflight, commandDiff, commandImport, commandTrace}
	return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(all, a) })
}

// silence keeps libraries from logging beside a report, which says what went wrong.
func silence() {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
}

// runPreflight writes a report, and returns the exit code of the program.
func runPreflight(ctx context.Context, w io.Writer, p *preflightFlags, f *flags) (int, error) {
	o, err := f.preflightOptions()
	if err != nil {
		return preflight.ExitUnknown, err
	}
	r, err := preflight.Run(ctx, p.from, o)
	if err != nil {
		return preflight.ExitUnknown, errors.Wrap(err, "cannot read the control plane")
	}
	if err := write(w, p.output, r, r.WriteTable); err != nil {
		return preflight.ExitUnknown, err
	}
	return r.ExitCode, nil
}

// write writes a report as JSON if that is the format, and else as a function does.
func write(w io.Writer, format string, report any, text func(io.Writer) error) error {
	if format == outputJSON {
		return preflight.WriteJSON(w, report)
	}
	return text(w)
}

// preflightOptions are what the provider would run with.
func (f *flags) preflightOptions() (preflight.Options, error) {
	o := preflight.Options{
		StateNamespace: f.published.stateNamespace, DefaultConfig: f.published.defaultConfig,
	}
	cfg, _, err := restConfig(f.kubeconfig)
	if err != nil {
		return o, err
	}
	o.ControlPlane = cfg
	if o.Target, err = f.targets(); err != nil {
		return o, err
	}
	o.Selector, err = labels.Parse(f.published.selector)
	return o, errors.Wrap(err, "--published-resource-selector")
}

// exit ends the program after a preflight or a plugin.
func exit(code int, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "provider:", err)
	}
	os.Exit(code)
}
