package local

import (
	"os/exec"
	"sync"
	"syscall"
)

// childAttributes puts a child into a process group of its own, away from Ctrl-C, and has it killed with the thread
// that starts it.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// dieWithParent is the command that runs another one so that it is killed with its parent; empty if this system has
// none.
var dieWithParent = sync.OnceValue(func() []string {
	cmd := []string{"setpriv", "--pdeathsig", "KILL", "--"}
	// Busybox has a setpriv without this option.
	if err := exec.Command(cmd[0], append(cmd[1:], "true")...).Run(); err != nil { //nolint:gosec // All constant.
		return nil
	}
	return cmd
})
