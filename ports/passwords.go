package ports

import (
	"context"
	"errors"
)

// ErrPasswordsBusy means that a hash had to wait for others for too long. Nothing
// was checked; the same again may succeed in a moment.
var ErrPasswordsBusy = errors.New("too many passwords are being checked")

// Caller says for whom a password is hashed, so that callers share the turns. Neither
// field has to be proved.
type Caller struct {
	Line   string // the address of the client, or the business of a session; empty: a session of the staff
	Person string // who it is said to be
}

// Passwords hash and verify passwords. Both cost processor and memory on purpose,
// and only so many run at a time. The others wait for their turn: lines take turns, and
// the persons of one line do.
type Passwords interface {
	// Hash makes what is stored of a password. Two hashes of one password differ.
	Hash(ctx context.Context, c Caller, password string) (string, error)
	// Verify reports whether the hash is one of the password, and whether it should be
	// replaced because new ones are made otherwise. An empty hash is one of no password,
	// and takes as long as one that Hash made. A hash that cannot be read is an error.
	Verify(ctx context.Context, c Caller, hash, password string) (matches, outdated bool, err error)
}
