//go:build unix

package server

import (
	"math"
	"syscall"
)

// OpenFiles returns how many files, including connections, this process may open. Go has raised
// the soft limit to the hard one by the time main runs.
func OpenFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
