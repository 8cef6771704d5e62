//go:build unix

package server

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// readable tells whether bytes wait on a connection, or its end.
func readable(s syscall.Conn) (ready bool) {
	look(s, func(_ int, waits bool) { ready = waits })
	return ready
}

// endIfEmpty lets no more connections come to a listener for which none waits, and tells whether
// that was so. Nothing stands between the look and the end, so that hardly one can come there.
func endIfEmpty(s socket) (empty bool) {
	known := look(s, func(fd int, waits bool) {
		if empty = !waits; empty {
			_ = unix.Shutdown(fd, unix.SHUT_RD) // where a listener does not know this, its Close does it
		}
	})
	return empty || !known
}

// look tells of a file descriptor whether reading, or accepting, would not have to wait.
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
