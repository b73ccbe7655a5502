// Command provider runs the provider: it parses flags, and starts a manager with all controllers. Its preflight command
// reports what a takeover would do.
package main

import (
	"os"
	"path/filepath"

	"github.com/alecthomas/kingpin/v2"
	_ "golang.org/x/crypto/x509roots/fallback" // The image has no certificates of public authorities.
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/crossplane-contrib/provider-kcp/internal/preflight"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == commandPlugin {
		exit(runPlugin(ctrl.SetupSignalHandler(), os.Stdout, os.Args[2:]))
	}
	app := kingpin.New(filepath.Base(os.Args[0]),
		"Keeps Kubernetes resources on clusters and in kcp workspaces, for Crossplane.")
	f := newFlags(app)
	p := newCommands(app)
	command, err := app.Parse(switches(app, os.Args[1:]))
	if err != nil && isPreflight(os.Args[1:]) {
		exit(preflight.ExitUnknown, err)
	}
	kingpin.MustParse(command, err)
	ctx := ctrl.SetupSignalHandler()
	if command == commandPreflight {
		exit(runPreflight(ctx, os.Stdout, p, f))
	}
	f.changed = changed(app)
	app.FatalIfError(run(ctx, f), "cannot run provider")
}
