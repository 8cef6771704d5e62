//go:build unix && !solaris && !aix

package settings

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Lock keeps a second dev out of the directory until the process ends or release is called. The
// kernel drops the lock with the process, so that a crash leaves nothing to clean up.
func (d DataDir) Lock() (release func(), err error) {
	file, err := os.OpenFile(d.lockFile(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(file, 20)) // only for the message
		_ = file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, err
		}
		return nil, d.taken(strings.TrimSpace(string(holder)))
	}
	if err := file.Truncate(0); err == nil {
		_, _ = file.WriteString(strconv.Itoa(os.Getpid()) + "\n") // only for the message
	}
	return func() { _ = file.Close() }, nil
}
