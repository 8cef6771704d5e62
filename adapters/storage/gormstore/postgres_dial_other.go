//go:build !linux

package gormstore

import (
	"syscall"
	"time"
)

// limitUnacknowledged does nothing here. Keep-alive and the limit of each wait must be enough.
func limitUnacknowledged(syscall.RawConn, time.Duration) error { return nil }
