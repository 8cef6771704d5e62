package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// The file system in memory that Linux has, and the room it must have free.
const (
	memory     = "/dev/shm"
	memoryRoom = 4 << 30
	noExec     = 0x8 // ST_NOEXEC of statvfs(3)
)

// memoryDir makes a directory in memory that every user may pass through. The error says why
// there is none.
func memoryDir() (string, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil {
		return "", fmt.Errorf("look at %s: %w", memory, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < memoryRoom {
		return "", fmt.Errorf("%s has %d MB free, and %d are needed", memory, free>>20, memoryRoom>>20)
	}
	if fs.Flags&noExec != 0 {
		return "", fmt.Errorf("%s is mounted noexec, and tests run programs that they build", memory)
	}
	removeStale()
	dir, err := os.MkdirTemp(memory, fmt.Sprintf("waybill-%d-*", os.Getpid()))
	if err != nil {
		return "", fmt.Errorf("make a directory in memory: %w", err)
	}
	return dir, os.Chmod(dir, 0o755) //nolint:gosec // the user that runs Postgres passes through
}

// removeStale removes what runs left behind that were killed.
func removeStale() {
	left, _ := filepath.Glob(filepath.Join(memory, "waybill-*-*")) // fails for a bad pattern alone
	for _, dir := range left {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(dir), "waybill-%d-", &pid); err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			_ = os.RemoveAll(dir) // of another user: stays
		}
	}
}
