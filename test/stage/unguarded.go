package stage

import (
	"context"

	"waybill/ports"
)

// PlainHashes is a hasher of passwords whose hashes are the passwords themselves.
type PlainHashes struct{}

// Hash returns the password with a mark.
func (PlainHashes) Hash(_ context.Context, _ ports.Caller, password string) (string, error) {
	return "h" + password, nil
}

// Verify compares a password with what Hash made.
func (PlainHashes) Verify(_ context.Context, _ ports.Caller, hash, password string) (matches, outdated bool, err error) {
	return hash == "h"+password, false, nil
}

// Unlimited is a limiter that admits all and counts nothing.
type Unlimited struct{}

// Take admits.
func (Unlimited) Take(context.Context, ...ports.Bucket) (ports.Allowance, error) {
	return ports.Allowance{Admitted: true}, nil
}

// Peek admits.
func (Unlimited) Peek(context.Context, ...ports.Bucket) (ports.Allowance, error) {
	return ports.Allowance{Admitted: true}, nil
}

// GiveBack does nothing.
func (Unlimited) GiveBack(context.Context, ...ports.Bucket) error { return nil }
