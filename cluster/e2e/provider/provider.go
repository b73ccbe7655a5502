package provider

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pkg/errors"
)

// grace is how long a provider that was asked to stop may take.
const grace = 20 * time.Second

// ourCode is in the names of functions of this project.
const ourCode = "provider-kcp/"

// Options say how to run the provider.
type Options struct {
	// Binary is the path of the program.
	Binary string
	// Dir holds the log and the kubeconfig, and is made if it is not there.
	Dir string
	// Kubeconfig is the content of the kubeconfig of the control plane. It is given by flag, or, with KubeconfigByEnv,
	// by the variable KUBECONFIG and no flag.
	Kubeconfig      []byte
	KubeconfigByEnv bool
	// Args are flags beside those for the kubeconfig, the two addresses and the port of the webhook.
	Args []string
	// Env are variables, name=value, beside those of this process.
	Env []string
	// Grace is how long the program may take to end, 20 s if zero.
	Grace time.Duration
	// Container runs the program as a container does, with no kubeconfig and no variables but Env. Only root may.
	Container *Container
}

// A Container is what a program sees of its system.
type Container struct {
	// Root is the folder that holds all files of the program, which its path begins at.
	Root string
	// User is the id of the user and the group the program runs as.
	User uint32
}

// A Process is a provider that has been started. It may have ended.
type Process struct {
	cmd     *exec.Cmd
	log     string
	grace   time.Duration
	health  *port
	metrics *port
	webhook *port
	exited  chan struct{} // closed when the process is gone
}

// Start starts a provider. It does not wait until it is ready.
func Start(o Options) (*Process, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, errors.Wrap(err, "cannot make folder of provider")
	}
	kubeconfig := filepath.Join(o.Dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, o.Kubeconfig, 0o600); err != nil {
		return nil, errors.Wrap(err, "cannot write kubeconfig of provider")
	}
	p := &Process{log: filepath.Join(o.Dir, "provider.log"), grace: cmp.Or(o.Grace, grace), exited: make(chan struct{})}
	if err := p.reserve(); err != nil {
		return nil, err
	}
	args := []string{
		"--metrics-bind-address=" + p.metrics.addr(), "--health-probe-bind-addr=" + p.health.addr(),
		"--webhook-port=" + strconv.Itoa(p.webhook.number),
	}
	env := append(without(os.Environ(), "KUBECONFIG"), o.Env...)
	switch {
	case o.Container != nil:
		env = o.Env
	case o.KubeconfigByEnv:
		env = append(env, "KUBECONFIG="+kubeconfig)
	default:
		args = append(args, "--kubeconfig="+kubeconfig)
	}
	p.cmd = exec.Command(o.Binary, append(args, o.Args...)...) //nolint:gosec,noctx // Callers choose and end the program.
	p.cmd.Env, p.cmd.SysProcAttr = env, childAttributes()
	if o.Container != nil {
		o.Container.hold(p.cmd)
	}
	if err := p.start(); err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// hold keeps a command in the container.
func (c *Container) hold(cmd *exec.Cmd) {
	cmd.Dir, cmd.SysProcAttr.Chroot = "/", c.Root
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: c.User, Gid: c.User}
}

// start runs the command from a thread that lives as long as the command: a child that is to die with its parent dies
// with the thread that started it. See package local.
func (p *Process) start() error {
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Wrap(err, "cannot open log of provider")
	}
	defer out.Close() //nolint:errcheck // The child has its own descriptor.
	p.cmd.Stdout, p.cmd.Stderr = out, out
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // Never unlocked: the thread ends with this goroutine.
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = p.cmd.Wait() // How it ended is in cmd.ProcessState.
		p.release()
		close(p.exited)
	}()
	return errors.Wrap(<-started, "cannot start provider")
}

// Stop asks the provider to end, and returns when it is gone. It is an error if it does not end in time, and is then
// killed, or if it ends with another code than 0.
func (p *Process) Stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // It may be gone already.
	select {
	case <-p.exited:
	case <-time.After(p.grace):
		stacks := p.stacks()
		p.Kill()
		return errors.Errorf("provider has not ended within %s, as these have not:\n%s", p.grace, stacks)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return errors.Errorf("provider has ended with %s", p.cmd.ProcessState)
	}
	return nil
}

// stacks ends the provider, and returns the stacks of its goroutines that run code of this project.
func (p *Process) stacks() string {
	logged := len(p.Log())
	_ = p.cmd.Process.Signal(syscall.SIGQUIT) // It may be gone already.
	select {
	case <-p.exited:
	case <-time.After(time.Second):
	}
	const between = "\n\n"
	ours := slices.DeleteFunc(strings.Split(p.Log()[logged:], between), func(stack string) bool {
		return !strings.Contains(stack, ourCode)
	})
	return strings.Join(ours, between)
}

// Kill kills the provider, and returns when it is gone. It may be called again.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // It may be gone already.
	<-p.exited
}

// Exited is closed when the provider is gone.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitCode returns the code a provider that is gone has ended with, -1 if a signal has ended it.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Log returns what the provider has printed so far.
func (p *Process) Log() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Healthz is the URL of the health probe.
func (p *Process) Healthz() string { return "http://" + p.health.addr() + "/healthz" }

// Readyz is the URL of the readiness probe.
func (p *Process) Readyz() string { return "http://" + p.health.addr() + "/readyz" }

// Metrics is the URL of the metrics.
func (p *Process) Metrics() string { return "http://" + p.metrics.addr() + "/metrics" }

// Webhook is the address, host:port, of the webhook, if the program has one.
func (p *Process) Webhook() string { return p.webhook.addr() }

// without returns an environment without a variable.
func without(env []string, name string) []string {
	return slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
}
