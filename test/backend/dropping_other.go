//go:build !linux

package backend

import "testing"

// Dropping is a network whose packets the kernel drops; only Linux has it.
type Dropping struct{}

// NewDropping skips the test.
func NewDropping(t testing.TB, _ string) *Dropping {
	t.Helper()
	t.Skip("NOT TESTED: packets are dropped in a network namespace of Linux")
	return nil
}

// URL is never asked.
func (*Dropping) URL(_ testing.TB, address string) string { return address }

// Cut is never asked.
func (*Dropping) Cut(Direction) {}

// Heal is never asked.
func (*Dropping) Heal() {}
