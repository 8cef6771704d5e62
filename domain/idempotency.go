package domain

import "time"

// Answer is the part of a response that is kept and replayed: the same bytes
// for the same request.
type Answer struct {
	Status   int    // 200, 201, 202 or 207: only what happened is remembered
	Location string // empty: none
	Body     []byte
}

// KeyRecord remembers what an idempotency key was used for. It is keyed by
// application, environment and key, so that the API keys of one application share it.
type KeyRecord struct {
	Key         string
	Fingerprint [32]byte // SHA-256 of method, path and canonical body
	ClaimID     string   // 32 hex: which attempt wrote the record; tells a commit of our own from another process's
	Answer      Answer   // the zero Answer: not answered yet
	CreatedAt   time.Time

	// LeaseLeft is, of a record without an answer, the time left until its lease
	// runs out, by the clock of the database. Zero or less: no process works on
	// it, and the request may be resumed.
	LeaseLeft time.Duration
}

// Answered reports whether the request was carried out to its end.
func (r *KeyRecord) Answered() bool { return r.Answer.Status != 0 }

// IdempotencyConflict is the 409 for a key that was used for something else.
func IdempotencyConflict(firstUsed time.Time) *Error {
	return &Error{
		Kind: KindConflict, Code: CodeIdempotencyConflict,
		Message: "The key was used at " + FormatTime(firstUsed) + " for a different request.",
		Details: map[string]any{"first_used_at": FormatTime(firstUsed)},
	}
}

// IdempotencyInProgress is the 409 while the first request with the key runs.
func IdempotencyInProgress(retryAfter time.Duration) *Error {
	return &Error{
		Kind: KindConflict, Code: CodeIdempotencyInProgress,
		Message:    "The first request with the key has not finished.",
		RetryAfter: retryAfter,
	}
}
