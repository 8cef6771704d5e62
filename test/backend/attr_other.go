//go:build unix && !linux

package backend

import "syscall"

// Only on Linux does a process learn that its parent is gone, and only there
// does root get another user.
func sysProcAttr(*User, syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
