package provider

import "syscall"

// childAttributes puts a child into a process group of its own, away from Ctrl-C, and has it killed with the thread
// that starts it.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
