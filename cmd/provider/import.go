package main

import (
	"context"
	"io"
	"os"

	"github.com/alecthomas/kingpin/v2"
	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/commandline"
)

// outputYAML is the format of manifests.
const outputYAML = "yaml"

// importFlags are the flags of the import command only. It uses none of the provider.
type importFlags struct {
	options        commandline.ImportOptions
	target, output string
}

func (f *importFlags) addTo(app *kingpin.Application) {
	c := app.Command(commandImport, "Print an Object for each resource of a cluster that has neither a controller "+
		"nor an Object. What is left out is reported on the standard error. "+
		"Exit code: 0, or 2 if something could not be read.")
	c.Arg("kind", "Kinds of resources as kubectl takes them: deploy, deployments.apps, Deployment.").Required().
		StringsVar(&f.options.Kinds)
	c.Flag("target-kubeconfig", "Kubeconfig of the cluster.").Required().StringVar(&f.target)
	c.Flag("provider-config", "ProviderConfig of the Objects, as KIND/NAME: ClusterProviderConfig/remote, "+
		"ProviderConfig/remote, or ProviderConfig.kubernetes.crossplane.io/remote for cluster-scoped Objects.").Required().
		StringVar(&f.options.Config)
	c.Flag("in-namespace", "Namespace of the resources. Default: all.").Short('n').StringVar(&f.options.Namespace)
	c.Flag("selector", "Label selector of the resources. Default: all.").StringVar(&f.options.Selector)
	c.Flag("adopt", "Let the Objects apply what the authors of the resources have written, and not only observe.").
		BoolVar(&f.options.Adopt)
	c.Flag("output", "Format of the Objects: yaml or json.").Short('o').Default(outputYAML).
		EnumVar(&f.output, outputYAML, outputJSON)
}

// runImport writes Objects, and returns the exit code of the program.
func runImport(ctx context.Context, w io.Writer, f *importFlags) (int, error) {
	var err error
	if f.options.Target, _, err = restConfig(f.target); err != nil {
		return commandline.ExitUnknown, errors.Wrap(err, "--target-kubeconfig")
	}
	list, code, err := commandline.Import(ctx, os.Stderr, f.options)
	if err == nil {
		err = write(w, f.output, list, func(w io.Writer) error { return commandline.WriteYAML(w, list) })
	}
	if err != nil {
		return commandline.ExitUnknown, err
	}
	return code, nil
}
