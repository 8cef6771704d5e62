package domain

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// Kind classifies an Error. An edge maps it to its own vocabulary (HTTP status, exit code).
type Kind int

// The kinds, in the order of their HTTP statuses. The zero Kind is Internal, so that an Error
// without a kind is never blamed on the caller.
const (
	KindInternal        Kind = iota // 500
	KindMalformed                   // 400: the request cannot be read
	KindUnauthenticated             // 401
	KindForbidden                   // 403
	KindNotFound                    // 404
	KindConflict                    // 409: the state of a record forbids it
	KindInvalid                     // 422: readable, but not acceptable
	KindLimited                     // 429
	KindGone                        // 410: it existed once
	KindUnavailable                 // 503: a service we need does not answer
)

// Stable codes that programs check. A new code is additive; a changed one breaks programs.
//
//nolint:gosec // names of errors, some about keys, and no credentials
const (
	CodeInvalidRequest           = "INVALID_REQUEST"
	CodeSandboxOnlyField         = "SANDBOX_ONLY_FIELD"
	CodeIdempotencyKeyRequired   = "IDEMPOTENCY_KEY_REQUIRED"
	CodeInvalidAPIKey            = "INVALID_API_KEY"
	CodeEnvironmentMismatch      = "ENVIRONMENT_MISMATCH"
	CodeAPIKeyRevoked            = "API_KEY_REVOKED"
	CodeAPIKeyExpired            = "API_KEY_EXPIRED"
	CodeKeyPepperMismatch        = "KEY_PEPPER_MISMATCH" // only operators get these three
	CodeKeyPepperInUse           = "KEY_PEPPER_IN_USE"
	CodeSecretKeyMismatch        = "SECRET_KEY_MISMATCH"
	CodeInsufficientScope        = "INSUFFICIENT_SCOPE"
	CodeNotFound                 = "NOT_FOUND"
	CodeCursorExpired            = "CURSOR_EXPIRED"
	CodeIdempotencyConflict      = "IDEMPOTENCY_CONFLICT"
	CodeIdempotencyInProgress    = "IDEMPOTENCY_IN_PROGRESS"
	CodeExternalIDConflict       = "EXTERNAL_ID_CONFLICT"
	CodeDeliveryNotCancellable   = "DELIVERY_NOT_CANCELLABLE"
	CodeSandboxTransitionInvalid = "SANDBOX_TRANSITION_INVALID"
	CodeTransitionInvalid        = "TRANSITION_INVALID"
	CodeValidation               = "VALIDATION_ERROR"
	CodeRecipientShapeConflict   = "RECIPIENT_SHAPE_CONFLICT"
	CodePickupShapeConflict      = "PICKUP_SHAPE_CONFLICT"
	CodePickupLocationNotFound   = "PICKUP_LOCATION_NOT_FOUND"
	CodePickupLocationInactive   = "PICKUP_LOCATION_INACTIVE"
	CodePickupLocationIncomplete = "PICKUP_LOCATION_INCOMPLETE"
	CodeCODGoodsValueRequired    = "COD_GOODS_VALUE_REQUIRED"
	CodeBulkValidationFailed     = "BULK_VALIDATION_FAILED"
	CodeDuplicateExternalID      = "DUPLICATE_EXTERNAL_ID"
	CodeSimulationNotApplicable  = "SIMULATION_NOT_APPLICABLE"
	CodeSimulationRunning        = "SIMULATION_RUNNING"
	CodeSimulationLimit          = "SIMULATION_LIMIT"
	CodeWebhookURLNotAllowed     = "WEBHOOK_URL_NOT_ALLOWED"
	CodeWebhookEndpointLimit     = "WEBHOOK_ENDPOINT_LIMIT"
	CodeWebhookEndpointDisabled  = "WEBHOOK_ENDPOINT_DISABLED"
	CodeRecoveryRunning          = "RECOVERY_RUNNING"
	CodeRateLimitExceeded        = "RATE_LIMIT_EXCEEDED"
	CodeQuoteUnavailable         = "QUOTE_UNAVAILABLE"
	CodeServiceUnavailable       = "SERVICE_UNAVAILABLE"
	CodeInternal                 = "INTERNAL_SERVER_ERROR"
)

// The codes of FieldError.
const (
	FieldRequired      = "required"
	FieldTooShort      = "too_short"
	FieldTooLong       = "too_long"
	FieldOutOfRange    = "out_of_range"
	FieldInvalidFormat = "invalid_format"
	FieldInvalidType   = "invalid_type"
	FieldNotAllowed    = "not_allowed"
)

// FieldError is one problem with one field of the input.
type FieldError struct {
	Field   string // path in the caller's spelling, such as recipient.address.latitude
	Code    string // one of the Field codes
	Message string
}

// Error is the one error type of all layers. Message is for a reader of the client's log; Details
// is for programs. Err is the cause and never leaves the process.
type Error struct {
	Kind       Kind
	Code       string
	Message    string
	Fields     []FieldError
	Details    map[string]any
	RetryAfter time.Duration // when not zero, how long to wait before the next try
	Again      bool          // the failure ends by itself: the same request works then
	Err        error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return e.Code + ": " + e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// Is matches another Error by its code, so that errors.Is(err, ErrNotFound) holds for every
// not-found error.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// HasCode reports whether err is, or wraps, an Error of that code.
func HasCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// ErrNotFound is the error for an ID that is malformed, unknown or another customer's. The three
// share one text, so that the response does not distinguish them.
var ErrNotFound = &Error{
	Kind:    KindNotFound,
	Code:    CodeNotFound,
	Message: "Nothing with this ID is visible to this key. Check the ID and the environment it was made in.",
}

// Invalid reports every field problem of one input.
func Invalid(fields ...FieldError) *Error {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, f.Field)
	}
	message := fmt.Sprintf("%d fields are invalid: %s.", len(fields), strings.Join(names, ", "))
	if len(fields) == 1 {
		message = fields[0].Field + ": " + fields[0].Message
	}
	return &Error{Kind: KindInvalid, Code: CodeValidation, Message: message, Fields: fields}
}

// busyFor is the retry time for a record that others hold.
const busyFor = 3 * time.Second

// Busy returns the error where another transaction held a record for longer than the wait limit.
// Nothing was changed.
func Busy(cause error) *Error {
	return &Error{
		Kind: KindUnavailable, Code: CodeServiceUnavailable, RetryAfter: busyFor, Err: cause,
		Message: "Another change of the same record has not ended yet. Nothing was changed; send the same request again in a few seconds.",
	}
}

// unavailableFor is the retry time for a database that does not respond. Most failovers and
// restarts take longer, and a shorter wait only adds to the load at their end.
const unavailableFor = 5 * time.Second

// ServiceUnavailable returns the error while the database is down, slow, read-only or full.
// Something may have been created; a retry with the same key finds out.
func ServiceUnavailable(cause error) *Error {
	return &Error{
		Kind: KindUnavailable, Code: CodeServiceUnavailable, RetryAfter: unavailableFor, Err: cause,
		Message: "The service cannot reach its data at the moment.",
		Again:   true,
	}
}

// Refusal reports whether the error is a decision about the request itself. An internal error or an
// unavailable database is none: the same request may still succeed.
func (e *Error) Refusal() bool { return e.Kind != KindInternal && e.Code != CodeServiceUnavailable }

// Internal wraps a failure on our side. The cause is logged, never shown.
func Internal(err error) *Error {
	return &Error{Kind: KindInternal, Code: CodeInternal, Message: "Something failed on our side.", Err: err}
}

// Safely calls f and turns a panic in it into an Internal error. Use it in goroutines outside a
// request's own, where a panic would end the process and with it all requests.
func Safely(f func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = Internal(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	return f()
}
