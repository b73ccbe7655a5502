//go:build !linux

package provider

import "syscall"

// childAttributes puts a child into a process group of its own, away from Ctrl-C.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
