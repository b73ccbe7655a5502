package local

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pkg/errors"
)

const (
	pollInterval = 100 * time.Millisecond
	stopTimeout  = 20 * time.Second // from asking a server to stop to killing it
	killTimeout  = 10 * time.Second // from killing a server to giving up on it
	tailLines    = 25
	tailBytes    = 8 << 10
)

// A process is a child of ours.
type process struct {
	name   string
	log    string // path of the file with all it prints
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process is gone
}

// spareProcessor has servers collect garbage a third as often as by default. They take up to twice the memory for it,
// and a tenth to a fifth less of the processor, which tests wait for. GOGC of our own environment prevails.
const spareProcessor = "GOGC=300"

// spawn starts a binary on thread t. Its output is appended to <dir>/<name>.log.
func (t thread) spawn(dir, name string, args ...string) (*process, error) {
	return t.spawnWith(nil, dir, name, args...)
}

// spawnWith is spawn with variables, such as A=b, beside those of our own environment.
func (t thread) spawnWith(env []string, dir, name string, args ...string) (*process, error) {
	bin, err := Binary(name)
	if err != nil {
		return nil, err
	}
	out, err := openLog(dir, name)
	if err != nil {
		return nil, err
	}
	defer out.Close() //nolint:errcheck // The child has its own descriptor.

	cmd := exec.Command(bin, args...) //nolint:gosec,noctx // A server of .tools/bin, which only stop ends.
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, out, out, childAttributes()
	cmd.Env = slices.Concat([]string{spareProcessor}, os.Environ(), env) // The last of a name counts.
	if err := t.do(cmd.Start); err != nil {
		return nil, errors.Wrapf(err, "cannot start %s", name)
	}
	p := &process{name: name, log: out.Name(), cmd: cmd, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // How it ended is in cmd.ProcessState.
		close(p.exited)
	}()
	return p, nil
}

// await polls check until it returns nil. It fails when the process ends, at the deadline, or when ctx is done; the
// error then has the tail of the log.
func (p *process) await(ctx context.Context, deadline time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.exited:
			cancel(errors.Errorf("%s ended: %s", p.name, p.cmd.ProcessState))
		case <-ctx.Done():
		}
	}()
	err := poll(ctx, deadline, check)
	if err == nil {
		return nil
	}
	return withTail(errors.Wrapf(err, "%s is not ready", p.name), p.log)
}

// stop returns when the process is gone. It may be called again, and on nil.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	for _, s := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, stopTimeout}, {syscall.SIGKILL, killTimeout}} {
		select {
		case <-p.exited:
			return nil
		default:
			_ = p.cmd.Process.Signal(s.signal)
		}
		select {
		case <-p.exited:
			return nil
		case <-time.After(s.wait):
		}
	}
	return errors.Errorf("%s, process %d, does not end", p.name, p.cmd.Process.Pid)
}

func openLog(dir, name string) (*os.File, error) {
	path := filepath.Join(dir, name+".log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // Callers choose the folder.
	return f, errors.Wrapf(err, "cannot open log of %s", name)
}

// A loggedError carries the last lines of a server's log: the reason why it did not start is only there.
type loggedError struct {
	error

	path, tail string
}

func (e *loggedError) Error() string {
	return e.error.Error() + "; " + e.path + " ends with\n" + e.tail
}

func (e *loggedError) Unwrap() error {
	return e.error
}

func withTail(err error, log string) error {
	b, rerr := os.ReadFile(log) //nolint:gosec // A log of ours.
	if rerr != nil {
		return err
	}
	b = bytes.TrimSpace(b)
	b = b[max(0, len(b)-tailBytes):]
	lines := strings.Split(string(b), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	return &loggedError{error: err, path: log, tail: strings.Join(lines, "\n")}
}
