package backend

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// NotRoot returns nil where this process may run a server itself, and otherwise,
// as root, which many servers refuse, the user postgres or "nobody".
func NotRoot() (*User, error) {
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
		return &User{Name: name, UID: uid, GID: gid}, nil
	}
	return nil,
		errors.New("the server refuses to run as root, and neither user postgres nor user nobody exists; add one or run as another user")
}
