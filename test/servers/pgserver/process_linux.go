package pgserver

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// owner is the user that runs Postgres in place of root.
type owner struct {
	name     string
	uid, gid int
}

// findOwner returns nil where this process may run Postgres itself, and
// otherwise, as root, whom Postgres refuses, the user postgres or nobody.
func findOwner() (*owner, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &owner{name: name, uid: uid, gid: gid}, nil
	}
	return nil, errors.New("Postgres refuses to run as root, and neither user postgres nor user nobody exists; add one or run as another user")
}

func sysProcAttr(own *owner) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Setpgid:   true,
		Pdeathsig: syscall.SIGQUIT, // Postgres's immediate shutdown
	}
	if own != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(own.uid), Gid: uint32(own.gid)}
	}
	return attr
}
