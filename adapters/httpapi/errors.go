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
func internal(requestID string) *domain.Error {
	return &domain.Error{Kind: domain.KindInternal, Code: domain.CodeInternal,
		Message: "Something failed on our side. " + sameAgain + "; if it stays, quote request ID " + requestID + "."}
}

// sameAgain is what a create is told to do after a failure.
const sameAgain = "Try again with the same body and Idempotency-Key"

// inMoment is an error for a call that has no Idempotency-Key to try again with.
// Those that are made without one create nothing.
func inMoment(e *domain.Error) *domain.Error {
	said := *e // an error may be shared
	said.Message = strings.Replace(e.Message, "; nothing was created. "+sameAgain, ". "+sameAgain, 1)
	said.Message = strings.Replace(said.Message, sameAgain+" in a few seconds", "Try again in a few seconds", 1)
	said.Message = strings.Replace(said.Message, sameAgain, "Try again in a moment", 1)
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
