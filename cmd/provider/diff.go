package main

import (
	"cmp"
	"context"
	"io"
	"os"

	"github.com/alecthomas/kingpin/v2"
	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/commandline"
)

// outputText is the format of a report for people that is no table.
const outputText = "text"

// diffFlags are the flags of the diff command only. It also uses all flags of the provider.
type diffFlags struct {
	files          []string
	target, output string
	noTarget       bool
}

func (f *diffFlags) addTo(app *kingpin.Application) {
	c := app.Command(commandDiff, "Say what manifests would change, and change nothing. "+
		"Flags are those that the provider runs with. Exit code: 0 if nothing would change, "+
		"1 if something would, 2 if something is invalid or cannot be told.")
	c.Flag("file", "File of manifests, - for the standard input. Repeatable.").Short('f').Required().StringsVar(&f.files)
	c.Flag("target-kubeconfig",
		"Kubeconfig of the cluster to compare with, instead of those of ProviderConfigs. Manifests that are no Objects need it.").
		StringVar(&f.target)
	c.Flag("no-target", "Only check fields, queries and paths, without a connection.").BoolVar(&f.noTarget)
	c.Flag("output", "Format of the report: text or json.").Short('o').Default(outputText).
		EnumVar(&f.output, outputText, outputJSON)
}

// runDiff writes what manifests would change, and returns the exit code of the program.
func runDiff(ctx context.Context, w io.Writer, d *diffFlags, f *flags) (int, error) {
	o := commandline.Options{In: os.Stdin, Sanitized: f.sanitizeSecrets}
	for _, file := range d.files {
		o.Files = append(o.Files, cmp.Or(file, "-")) // kingpin makes "" of it.
	}
	var err error
	if o.Connections, err = f.targets(); err != nil {
		return commandline.ExitUnknown, err
	}
	if !d.noTarget {
		if o.ControlPlane, o.Namespace, err = restConfig(f.kubeconfig); err != nil {
			return commandline.ExitUnknown, err
		}
	}
	if d.target != "" {
		if o.Target, o.TargetNamespace, err = restConfig(d.target); err != nil {
			return commandline.ExitUnknown, errors.Wrap(err, "--target-kubeconfig")
		}
	}
	r, err := commandline.Diff(ctx, o)
	if err != nil {
		return commandline.ExitUnknown, err
	}
	if err := write(w, d.output, r, r.WriteText); err != nil {
		return commandline.ExitUnknown, err
	}
	return r.ExitCode, nil
}
