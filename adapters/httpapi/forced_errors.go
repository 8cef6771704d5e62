package httpapi

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"waybill/adapters/web"
	"waybill/domain"
)

// forcedErrorHeader makes the sandbox return an error that integrators cannot cause otherwise.
const forcedErrorHeader = "X-Sandbox-Error"

var errForced = errors.New("asked for by " + forcedErrorHeader)

var forcedErrors = map[string]func(*API, *call) *domain.Error{
	domain.CodeQuoteUnavailable:      func(*API, *call) *domain.Error { return domain.QuoteUnavailable(nil) },
	domain.CodeIdempotencyInProgress: func(*API, *call) *domain.Error { return domain.IdempotencyInProgress(time.Second) },
	domain.CodeInternal:              func(_ *API, c *call) *domain.Error { return internal(c.requestID.Shown(), c.keyed()) },
	domain.CodeRateLimitExceeded: func(a *API, c *call) *domain.Error {
		e := a.Admission.Spent(&c.grant)
		showAllowance(c, c.grant.Allowance)
		return e
	},
}

// forceError returns the error that a sandbox request asks for. Live ignores the header.
func (a *API) forceError(_ route, c *call) error {
	if a.Environment != domain.Sandbox {
		return nil
	}
	asked := c.Request.Header.Values(forcedErrorHeader)
	if len(asked) == 0 {
		return nil
	}
	if force, known := forcedErrors[asked[0]]; known && len(asked) == 1 {
		e := *addRetryAdvice(withRemedies(force(a, c)), kindOf(c.keyed()))
		e.Message += " (Forced by " + forcedErrorHeader + ".)"
		e.Again, e.Err = false, errForced // the message is already complete
		return &e
	}
	return domain.Invalid(domain.FieldError{Field: forcedErrorHeader, Code: domain.FieldNotAllowed,
		Message: "send it once, as one of " + strings.Join(slices.Sorted(maps.Keys(forcedErrors)), ", ") + web.ItIs(strings.Join(asked, ", "))})
}
