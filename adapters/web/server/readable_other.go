//go:build !unix

package server

import "syscall"

// readable returns false: this system cannot tell.
func readable(syscall.Conn) bool { return false }

// endIfEmpty returns true: this system cannot tell.
func endIfEmpty(socket) bool { return true }
