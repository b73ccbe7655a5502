package provider

import (
	"syscall"

	"github.com/pkg/errors"
)

// Freeze suspends the provider, as a node does that runs out of memory, or a virtual machine that is moved.
func (p *Process) Freeze() error {
	return errors.Wrap(p.cmd.Process.Signal(syscall.SIGSTOP), "cannot freeze provider")
}

// Thaw resumes the provider after Freeze.
func (p *Process) Thaw() error {
	return errors.Wrap(p.cmd.Process.Signal(syscall.SIGCONT), "cannot thaw provider")
}
