//go:build !linux

package local

import (
	"syscall"
)

// childAttributes puts a child into a process group of its own, away from Ctrl-C.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// dieWithParent is empty: only Linux has a signal for that.
func dieWithParent() []string {
	return nil
}
