//go:build unix

package webhooksend

import (
	"errors"
	"syscall"
)

// alive reports whether a kept connection is open and silent. One with unread
// bytes is not used again.
func (c *conn) alive() bool {
	below, ok := c.raw.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := below.SyscallConn()
	if err != nil {
		return false
	}
	silent := false
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		_, err := syscall.Read(int(fd), one[:])
		silent = errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EWOULDBLOCK)
		return true // do not wait
	})
	return err == nil && silent
}
