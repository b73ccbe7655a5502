// Command provider runs the provider: it parses flags, and starts a manager with all controllers. Its
// preflight command reports what a takeover would do, diff what manifests would change.
package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/pkg/errors"
	_ "golang.org/x/crypto/x509roots/fallback" // The image has no certificates of public authorities.
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
	"github.com/crossplane-contrib/provider-kcp/internal/preflight"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == commandPlugin {
		exit(runPlugin(ctrl.SetupSignalHandler(), os.Stdout, os.Args[2:]))
	}
	app := kingpin.New(filepath.Base(os.Args[0]),
		"Keeps Kubernetes resources on clusters and in kcp workspaces, for Crossplane.")
	f := newFlags(app)
	c := newCommands(app)
	command, err := app.Parse(switches(app, os.Args[1:]))
	if err != nil && asksForReport(os.Args[1:]) {
		exit(preflight.ExitUnknown, err)
	}
	kingpin.MustParse(command, err)
	ctx := ctrl.SetupSignalHandler()
	if command != commandRun {
		silence()
	}
	switch command {
	case commandPreflight:
		exit(runPreflight(ctx, os.Stdout, &c.preflight, f))
	case commandImport:
		exit(runImport(ctx, os.Stdout, &c.imports))
	case commandTrace:
		exit(runTrace(ctx, os.Stdout, &c.trace, f))
	case commandDiff:
		exit(runDiff(ctx, os.Stdout, &c.diff, f))
	}
	f.changed = changed(app)
	app.FatalIfError(run(ctx, f), "cannot run provider")
}

// runPlugin runs a command and returns its exit code. It kills the command, with all that it has started, after
// identity.Timeout or when the context ends.
func runPlugin(ctx context.Context, stdout io.Writer, args []string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, identity.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // The operator allows it.
	// What the command leaves behind must not hold the pipe to the provider: client-go waits for its end.
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = os.Stdin, struct{ io.Writer }{stdout}, os.Stderr, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if ctx.Err() != nil {
		err = errors.Errorf("the plugin did not stop within %s", identity.Timeout)
	}
	return cmd.ProcessState.ExitCode(), errors.Wrapf(err, "credential plugin %q", args[0])
}
