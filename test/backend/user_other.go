//go:build unix && !linux

package backend

import (
	"errors"
	"os"
)

// NotRoot never names another user: only on Linux does root get one.
func NotRoot() (*User, error) {
	if os.Geteuid() == 0 {
		return nil, errors.New("the server refuses to run as root; run the tests as another user")
	}
	return nil, nil
}
