package domain

import "time"

// Answer is the part of a response that is stored and replayed: the same bytes for the same
// request.
type Answer struct {
	Status   int    // 200, 201, 202 or 207: only successes are stored
	Location string // empty: none
	Body     []byte
}

// KeyRecord stores what an idempotency key was used for. It is keyed by application, environment
// and key, so that the API keys of one application share it.
type KeyRecord struct {
	Key         string
	Fingerprint [32]byte // SHA-256 of method, path and canonical body
	ClaimID     string   // 32 hex: the attempt that wrote the record; distinguishes an own commit from another process's
	Answer      Answer   // the zero Answer: not answered yet
	CreatedAt   time.Time

	// LeaseLeft is the time until the lease of an unanswered record runs out, by the clock of the
	// database. Zero or less means that no process works on it, and the request may be resumed.
	LeaseLeft time.Duration
}

// Answered reports whether the request was carried out completely.
func (r *KeyRecord) Answered() bool { return r.Answer.Status != 0 }

// IdempotencyConflict returns the 409 for a key that was used for another request.
func IdempotencyConflict(firstUsed time.Time) *Error {
	return &Error{
		Kind: KindConflict, Code: CodeIdempotencyConflict,
		Message: "The key was used at " + FormatTime(firstUsed) + " for a different request.",
		Details: map[string]any{"first_used_at": FormatTime(firstUsed)},
	}
}

// IdempotencyInProgress returns the 409 while the first request with the key runs.
func IdempotencyInProgress(retryAfter time.Duration) *Error {
	return &Error{
		Kind: KindConflict, Code: CodeIdempotencyInProgress,
		Message:    "The first request with the key has not finished.",
		RetryAfter: retryAfter,
	}
}
