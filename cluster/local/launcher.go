package local

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pkg/errors"
)

// A launcher is what envtest runs in place of a server: a script that notes its process id, which envtest keeps to
// itself, asks to die with its parent, which envtest does not, and becomes the server.
type launcher struct {
	name    string // of the server
	path    string // of the script
	pidFile string
	log     *os.File // all that the server prints
}

// newLauncher writes the launcher of a binary to <dir>/launch. The log is <dir>/<name>.log. Callers close it.
func newLauncher(dir, name string) (*launcher, error) {
	bin, err := Binary(name)
	if err != nil {
		return nil, err
	}
	scripts := filepath.Join(dir, "launch")
	if err := os.MkdirAll(scripts, 0o700); err != nil {
		return nil, errors.Wrap(err, "cannot make folder of launchers")
	}
	l := &launcher{name: name, path: filepath.Join(scripts, name), pidFile: filepath.Join(scripts, name+".pid")}

	script := "#!/bin/sh\necho $$ > " + quote(l.pidFile) + "\n[ -n \"$GOGC\" ] || export " + spareProcessor + "\n" +
		"exec " + strings.Join(append(dieWithParent(), quote(bin)), " ") + ` "$@"` + "\n"
	if err := os.WriteFile(l.path, []byte(script), 0o700); err != nil { //nolint:gosec // It is run.
		return nil, errors.Wrapf(err, "cannot write launcher of %s", name)
	}
	l.log, err = openLog(dir, name)
	return l, err
}

// start calls envtest's start on thread t. If that fails or ctx ends first, no process is left.
func (l *launcher) start(ctx context.Context, t thread, start func() error) error {
	// What an earlier start left there may by now be the id of someone else's process.
	if err := os.RemoveAll(l.pidFile); err != nil {
		return errors.Wrap(err, "cannot remove old process id")
	}
	// envtest takes no context. It notices when the process ends.
	unhook := context.AfterFunc(ctx, l.kill)
	defer unhook()
	err := t.do(start)
	if ctx.Err() != nil {
		err = errors.Wrapf(ctx.Err(), "cannot wait for %s", l.name)
	}
	if err == nil {
		return nil
	}
	l.kill()
	_ = l.awaitGone()
	return withTail(errors.Wrapf(err, "cannot start %s", l.name), l.log.Name())
}

// stop calls envtest's stop, and returns when the process is gone. envtest kills after a deadline but does not wait
// after that.
func (l *launcher) stop(stop func() error) error {
	err := stop()
	if err != nil {
		l.kill()
	}
	if gerr := l.awaitGone(); gerr != nil {
		return gerr
	}
	// A server that had to be killed is stopped nonetheless.
	return nil
}

// close may be called on nil.
func (l *launcher) close() error {
	if l == nil {
		return nil
	}
	return errors.Wrapf(l.log.Close(), "cannot close log of %s", l.name)
}

// kill ends the process if there is one.
func (l *launcher) kill() {
	if pid, ok := l.pid(); ok {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func (l *launcher) awaitGone() error {
	for end := time.Now().Add(killTimeout); time.Now().Before(end); time.Sleep(pollInterval) {
		pid, ok := l.pid()
		if !ok || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			// The id is worth nothing from now on.
			return errors.Wrap(os.RemoveAll(l.pidFile), "cannot remove process id")
		}
	}
	return errors.Errorf("%s does not end", l.name)
}

func (l *launcher) pid() (int, bool) {
	b, err := os.ReadFile(l.pidFile)
	if err != nil {
		return 0, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	return pid, err == nil && pid > 1
}

// quote makes one word of s for a shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
