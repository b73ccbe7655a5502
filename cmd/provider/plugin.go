package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

// commandPlugin runs a credential plugin, which follows it. It is for the provider itself, and none of kingpin's, which
// would take the arguments of the plugin for ours.
const commandPlugin = "plugin"

// runPlugin runs a command and returns its exit code. When its time is over, or the context ends, the command is killed
// with all that it has started.
func runPlugin(ctx context.Context, stdout io.Writer, args []string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, identity.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // The operator allows it.
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	cmd.Stdout = struct{ io.Writer }{stdout} // What it leaves behind must not hold the pipe to the provider.
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // It may be a script that runs others.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	code := cmd.ProcessState.ExitCode()
	switch {
	case code >= 0:
		return code, nil // Why it fails is for the plugin to say.
	case ctx.Err() != nil:
		return code, errors.Errorf("credential plugin %q did not end within %s", args[0], identity.Timeout)
	}
	return code, errors.Wrapf(err, "cannot run credential plugin %q", args[0])
}
