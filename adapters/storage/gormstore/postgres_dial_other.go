//go:build !linux

package gormstore

import (
	"syscall"
	"time"
)

// limitUnacknowledged does nothing here: keep-alive and the limit of each wait
// have to do.
func limitUnacknowledged(syscall.RawConn, time.Duration) error { return nil }
