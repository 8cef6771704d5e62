//go:build unix && !linux

package pgserver

import (
	"errors"
	"os"
	"syscall"
)

// owner is never used here: only on Linux does root get another user.
type owner struct {
	name     string
	uid, gid int
}

func findOwner() (*owner, error) {
	if os.Geteuid() == 0 {
		return nil, errors.New("Postgres refuses to run as root; run the tests as another user")
	}
	return nil, nil
}

func sysProcAttr(*owner) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
