//go:build linux || darwin

package settings

import "golang.org/x/sys/unix"

// freeBytes returns how much this user may still write below a path.
func freeBytes(path string) (free int64, known bool) {
	var disk unix.Statfs_t
	if err := unix.Statfs(path, &disk); err != nil {
		return 0, false
	}
	return int64(disk.Bavail) * int64(disk.Bsize), true //nolint:gosec,unconvert // less than an int64 holds; other types on other systems
}
