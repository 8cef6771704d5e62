package ports

import (
	"context"
	"errors"
)

// ErrPasswordsBusy means that a hash waited too long for others. Nothing was checked; a retry may
// succeed in a moment.
var ErrPasswordsBusy = errors.New("too many passwords are being checked")

// Caller identifies for whom a password is hashed, so that callers share the turns.
type Caller struct {
	Known  bool   // a session, or a browser in which the person has signed in before
	Line   string // the business of who is known, or the staff; the network of a stranger
	Member string // the person who is known; the address of a stranger
}

// Passwords hashes and verifies passwords. Both cost processor and memory on purpose, so only a
// limited number run at a time. The others wait for their turn: lines take turns, and so do the
// members of one line. Who is known waits for no stranger.
type Passwords interface {
	// Hash returns what is stored of a password. Two hashes of one password differ.
	Hash(ctx context.Context, c Caller, password string) (string, error)
	// Verify reports whether the hash is one of the password, and whether it should be replaced
	// because new hashes are made differently. An empty hash matches no password, and takes as long
	// to check as a real one. It returns an error for an unreadable hash.
	Verify(ctx context.Context, c Caller, hash, password string) (matches, outdated bool, err error)
}
