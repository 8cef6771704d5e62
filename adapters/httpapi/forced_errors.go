package httpapi

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"waybill/domain"
)

// forcedErrorHeader lets an integrator see, in the sandbox, what cannot be
// brought about at will.
const forcedErrorHeader = "X-Sandbox-Error"

var errForced = errors.New("httpapi: asked for by " + forcedErrorHeader)

var forcedErrors = map[string]*domain.Error{
	domain.CodeQuoteUnavailable:      forced(domain.QuoteUnavailable(nil)),
	domain.CodeIdempotencyInProgress: forced(domain.IdempotencyInProgress(time.Second)),
	domain.CodeInternal:              forced(domain.Internal(nil)),
	domain.CodeRateLimitExceeded: forced(&domain.Error{
		Kind: domain.KindLimited, Code: domain.CodeRateLimitExceeded, RetryAfter: time.Second,
		Message: "The requests of this window are used up. Try again in 1 s.",
		Details: map[string]any{"scope": "key", "limit": 600, "window_seconds": 60},
	}),
}

func forced(e *domain.Error) *domain.Error {
	e.Message += " (Forced by " + forcedErrorHeader + ".)"
	e.Err = errForced
	return e
}

// forceError answers the error that a sandbox request asks for. On live the
// header means nothing.
func (a *API) forceError(_ route, c *call) error {
	if a.Environment != domain.Sandbox {
		return nil
	}
	asked := c.Request.Header.Values(forcedErrorHeader)
	if len(asked) == 0 {
		return nil
	}
	if e, known := forcedErrors[asked[0]]; known && len(asked) == 1 {
		return e
	}
	return domain.Invalid(domain.FieldError{Field: forcedErrorHeader, Code: domain.FieldNotAllowed,
		Message: "send it once, as one of " + strings.Join(slices.Sorted(maps.Keys(forcedErrors)), ", ")})
}
