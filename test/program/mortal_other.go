//go:build !linux

package program

import "syscall"

func mortal() *syscall.SysProcAttr { return nil }
