package httpapi

import (
	"strings"

	"waybill/adapters/web"
	"waybill/domain"
)

// noRoute has one text for all addresses: what an anonymous caller guessed is not told apart.
func (a *API) noRoute(*call) *domain.Error {
	message := "There is nothing at this address. GET /v1/openapi.json lists what there is."
	if home := a.home(); home != "" {
		message = "There is nothing at this address. GET /v1/openapi.json lists what there is, and " + home + " explains it."
	}
	return &domain.Error{Kind: domain.KindNotFound, Code: domain.CodeNotFound, Message: message}
}

// noMethod repeats the Allow header, which gin has set by then.
func noMethod(c *call) *domain.Error {
	return web.NoMethod(c.Request.Method, c.Writer.Header().Get("Allow"))
}

// internal is the 500: whose fault it is, and what to do about it.
func internal(requestID string, keyed bool) *domain.Error {
	again := "Try again in a moment"
	if keyed {
		again = sameAgain
	}
	return &domain.Error{Kind: domain.KindInternal, Code: domain.CodeInternal,
		Message: "Something failed on our side. " + again + "; if it stays, quote request ID " + requestID + "."}
}

// sameAgain is what a call with an Idempotency-Key is told to do after a failure.
const sameAgain = "Try again with the same body and Idempotency-Key"

// failures are the messages of what ends by itself: for a call with an Idempotency-Key,
// and for one that has none to try again with and creates nothing.
var failures = map[string]struct{ keyed, plain string }{
	domain.CodeQuoteUnavailable: {
		"No price for this trip can be had right now; nothing was created. " + sameAgain + ".",
		"No price for this trip can be had right now. Try again in a moment.",
	},
	domain.CodeServiceUnavailable: {
		"The service cannot reach its data at the moment. " + sameAgain + " in a few seconds.",
		"The service cannot reach its data at the moment. Try again in a few seconds.",
	},
}

// keyed reports whether the call has an Idempotency-Key that counts.
func (c *call) keyed() bool { return !c.ignoresKey && c.Request.Header.Get("Idempotency-Key") != "" }

// again says of an error that ends by itself how the caller tries again.
func again(e *domain.Error, keyed bool) *domain.Error {
	words, known := failures[e.Code]
	if !e.Again || !known {
		return e
	}
	said := *e // an error may be shared
	if said.Message = words.plain; keyed {
		said.Message = words.keyed
	}
	return &said
}

// docURL is the page about a code, in the documentation that stands beside the
// sandbox API: what applies there applies on live.
func (a *API) docURL(code string) string {
	return docsURL(a.sandboxBaseURL()) + "/errors/" + code
}

// docsURL is where the documentation is, given the address of the sandbox API.
func docsURL(sandboxBaseURL string) string {
	return strings.TrimSuffix(sandboxBaseURL, "/v1") + "/docs"
}

func (a *API) sandboxBaseURL() string {
	if a.Environment == domain.Sandbox {
		return a.BaseURL
	}
	return a.OtherBaseURL
}
