//go:build !unix

package server

import "syscall"

// readable cannot tell here.
func readable(syscall.Conn) bool { return false }

// endIfEmpty cannot tell here.
func endIfEmpty(socket) bool { return true }
