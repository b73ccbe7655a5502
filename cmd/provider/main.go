// Command provider runs the provider: it parses flags, and starts a manager with all controllers.
package main

import (
	"os"
	"path/filepath"

	"github.com/alecthomas/kingpin/v2"
	_ "golang.org/x/crypto/x509roots/fallback" // The image has no certificates of public authorities.
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	app := kingpin.New(filepath.Base(os.Args[0]),
		"Keeps Kubernetes resources on clusters and in kcp workspaces, for Crossplane.")
	f := newFlags(app)
	kingpin.MustParse(app.Parse(os.Args[1:]))
	f.changed = changed(app)
	app.FatalIfError(run(ctrl.SetupSignalHandler(), f), "cannot run provider")
}
