package main

import (
	"cmp"
	"context"
	"io"

	"github.com/alecthomas/kingpin/v2"

	"github.com/crossplane-contrib/provider-kcp/internal/commandline"
)

// traceFlags are the flags of the trace command only. Of the provider it uses --kubeconfig.
type traceFlags struct{ which, namespace, output string }

func (f *traceFlags) addTo(app *kingpin.Application) {
	c := app.Command(commandTrace, "Show what a composite resource or an Object consists of, down to the resource on the target, "+
		"as statuses tell, and the first that is not Ready. Exit code: 0 if all is Ready, 1 if something is not, "+
		"2 if something could not be read.")
	c.Arg("resource", "KIND/NAME, with the kind as kubectl takes it.").Required().StringVar(&f.which)
	c.Flag("in-namespace", "Namespace of the resource. Default: that of the kubeconfig.").Short('n').StringVar(&f.namespace)
	c.Flag("output", "Format of the report: text or json.").Short('o').Default(outputText).
		EnumVar(&f.output, outputText, outputJSON)
}

// runTrace writes what a resource consists of, and returns the exit code of the program.
func runTrace(ctx context.Context, w io.Writer, t *traceFlags, f *flags) (int, error) {
	cfg, namespace, err := restConfig(f.kubeconfig)
	if err != nil {
		return commandline.ExitUnknown, err
	}
	trace, err := commandline.TraceOf(ctx, cfg, cmp.Or(t.namespace, namespace), t.which)
	if err != nil {
		return commandline.ExitUnknown, err
	}
	if err := write(w, t.output, trace, trace.WriteText); err != nil {
		return commandline.ExitUnknown, err
	}
	return trace.ExitCode, nil
}
