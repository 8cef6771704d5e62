package backend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// MakeDir creates a temporary directory with a name such as waybill-NAME-123
// and gives it to the user (nil: this one).
func MakeDir(name string, as *User) (string, error) {
	parent := os.TempDir()
	if as != nil && !Traversable(parent) {
		parent = "/tmp" // root's TMPDIR may be closed to the other user
	}
	dir, err := os.MkdirTemp(parent, "waybill-"+name+"-*")
	if err != nil {
		return "", fmt.Errorf("make a directory for %s: %w; point TMPDIR at a writable one", name, err)
	}
	// Servers report where they are with links resolved.
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	if as != nil {
		if err := os.Chown(dir, as.UID, as.GID); err != nil {
			return "", errors.Join(fmt.Errorf("give %s to user %s: %w", dir, as.Name, err), os.Remove(dir))
		}
	}
	return dir, nil
}

// Traversable reports whether every user may pass through dir.
func Traversable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}
