//go:build !linux

package faults

import "syscall"

func mortal() *syscall.SysProcAttr { return nil }
