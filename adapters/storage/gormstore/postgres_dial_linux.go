package gormstore

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// limitUnacknowledged sets TCP_USER_TIMEOUT, for the handshake too. Without it the kernel
// retransmits for a quarter of an hour.
func limitUnacknowledged(c syscall.RawConn, limit time.Duration) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
