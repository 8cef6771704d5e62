package server

import (
	"net"
	"time"
)

// Lent is a listener that stays open when its server closes it.
type Lent struct{ net.Listener }

type deadliner interface{ SetDeadline(time.Time) error }

// Close only ends the Accept in progress.
func (l Lent) Close() error {
	if d, ok := l.Listener.(deadliner); ok {
		return d.SetDeadline(time.Unix(1, 0))
	}
	return l.Listener.Close()
}

// GiveBack lets a listener that was lent accept connections again.
func GiveBack(l net.Listener) {
	if d, ok := l.(deadliner); ok {
		_ = d.SetDeadline(time.Time{})
	}
}
