package webhooksend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"waybill/domain"
)

// failure says why there is no response.
type failure struct {
	class domain.ErrorClass
	cause error
}

func (f *failure) Error() string { return fmt.Sprintf("%s: %v", f.class, f.cause) }
func (f *failure) Unwrap() error { return f.cause }

var (
	errNoTarget = errors.New("the URL is none to send to")
	errReserved = errors.New("the host has an address that is private or reserved")
)

// classOf returns the error class of a failure, by its type or by the error of the connection,
// if there was one.
func classOf(err error, connected bool) domain.ErrorClass {
	var f *failure
	var op *net.OpError
	switch {
	case errors.As(err, &f):
		return f.class
	case timedOut(err) && !connected:
		return domain.ErrorTimeoutConnect
	case timedOut(err):
		return domain.ErrorTimeoutResponse
	case strings.Contains(err.Error(), "server response headers exceeded"): // net/http has no error value for it
		return domain.ErrorBodyTooLarge
	case errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error"):
		return domain.ErrorTLS // an alert: in TLS 1.3 a refusal comes after the handshake
	}
	return domain.ErrorReset
}

func connectClass(err error) domain.ErrorClass {
	switch {
	case timedOut(err):
		return domain.ErrorTimeoutConnect
	case errors.Is(err, syscall.ECONNRESET):
		return domain.ErrorReset
	}
	return domain.ErrorRefused
}

func handshakeClass(err error) domain.ErrorClass {
	switch {
	case timedOut(err):
		return domain.ErrorTimeoutConnect
	case brokeOff(err):
		return domain.ErrorReset
	}
	return domain.ErrorTLS
}

// timedOut reports whether time ran out, or the caller left.
func timedOut(err error) bool {
	var e net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.As(err, &e) && e.Timeout()
}

func brokeOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
