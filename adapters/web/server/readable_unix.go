//go:build unix

package server

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// readable reports whether bytes, or the end of the stream, wait on a connection.
func readable(s syscall.Conn) (ready bool) {
	look(s, func(_ int, waits bool) { ready = waits })
	return ready
}

// endIfEmpty stops a listener when no connection waits for it, and reports whether it did.
// Check and stop follow each other directly, so that hardly a connection can arrive in between.
func endIfEmpty(s socket) (empty bool) {
	known := look(s, func(fd int, waits bool) {
		if empty = !waits; empty {
			_ = unix.Shutdown(fd, unix.SHUT_RD) // if a listener does not support this, its Close stops it
		}
	})
	return empty || !known
}

// look calls then with a file descriptor and whether reading, or accepting, would not block.
func look(s syscall.Conn, then func(fd int, waits bool)) (known bool) {
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	return raw.Control(func(fd uintptr) {
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // a file descriptor
		then(int(fd), ready > 0 || errors.Is(err, unix.EINTR))
	}) == nil
}
