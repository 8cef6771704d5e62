package term

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
)

// Plainly returns an error as an administrator reads it. For an unreachable server it leaves
// out the rest: drivers repeat the failed dial once per address and layer.
func Plainly(err error) string {
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		return "there is no host " + lookup.Name + " (" + lookup.Err + ")"
	}
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" {
		return OneLine(err)
	}
	where := "the address"
	if dial.Addr != nil {
		where = dial.Addr.String()
	}
	var number syscall.Errno
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "nothing answers at " + where + " (time is up)"
	case errors.As(err, &number):
		return "nothing answers at " + where + " (" + number.Error() + ")"
	default:
		return "nothing answers at " + where + " (" + OneLine(dial.Err) + ")"
	}
}
