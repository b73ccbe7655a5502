// Command provider runs the provider: it parses flags, and starts a manager with all controllers. Its commands report
// what a takeover or a manifest would do, and what there is.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-logr/logr"
	"github.com/pkg/errors"
	_ "golang.org/x/crypto/x509roots/fallback" // The image has no certificates of public authorities.
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/crossplane-contrib/provider-kcp/internal/commandline"
	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == commandPlugin {
		exit(runPlugin(ctrl.SetupSignalHandler(), os.Stdout, os.Args[2:]))
	}
	app := kingpin.New(filepath.Base(os.Args[0]),
		"Keeps Kubernetes resources on clusters and in kcp workspaces, for Crossplane.")
	f := newFlags(app)
	a := newArguments(app)
	command, err := app.Parse(switches(app, os.Args[1:]))
	asksForReport := func(arg string) bool { return reports[arg] != nil }
	if err != nil && slices.ContainsFunc(os.Args[1:], asksForReport) {
		exit(commandline.ExitUnknown, err) // The exit code tells.
	}
	kingpin.MustParse(command, err)
	ctx := ctrl.SetupSignalHandler()
	if command != commandRun {
		ctrl.SetLogger(logr.Discard()) // Libraries do not log beside a report, which says what went wrong.
		klog.SetLogger(logr.Discard())
		exit(a.write(ctx, os.Stdout, command, f))
	}
	f.changed = changed(app)
	app.FatalIfError(run(ctx, f), "cannot run provider")
}

// exit ends the program after a report or a plugin.
func exit(code int, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "provider:", err)
	}
	os.Exit(code)
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
