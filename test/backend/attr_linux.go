package backend

import "syscall"

func sysProcAttr(as *User, orphaned syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: orphaned}
	if as != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(as.UID), Gid: uint32(as.GID)}
	}
	return attr
}
