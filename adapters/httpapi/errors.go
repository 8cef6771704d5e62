package httpapi

import (
	"errors"
	"strings"
	"time"

	"waybill/adapters/web"
	"waybill/domain"
)

// noRoute has one text for all addresses: it does not help an anonymous caller to guess.
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

// notBegun answers a bulk whose turn had not come when the server was asked to stop.
func notBegun() *domain.Error {
	return &domain.Error{Kind: domain.KindUnavailable, Code: domain.CodeServiceUnavailable, RetryAfter: time.Second, Err: errStopping,
		Message: "This server is about to stop, and did not begin the request; nothing was created. " + sameAgain + "."}
}

var errStopping = errors.New("the server is about to stop")

// sameAgain is what a call with an Idempotency-Key is told to do after a failure.
const sameAgain = "Try again with the same body and Idempotency-Key"

// asker is what an error answers.
type asker int

const (
	plainCall asker = iota // it has no key to try again with, and creates nothing
	keyedCall              // it has an Idempotency-Key
	bulkItem               // one of many: its error is remembered, and the same key would only repeat it
)

// failures are the messages of what ends by itself, by who asked. Where the data cannot
// be reached a whole bulk fails, none of its items.
var failures = map[string]map[asker]string{
	domain.CodeQuoteUnavailable: {
		plainCall: "No price for this trip can be had right now. Try again in a moment.",
		keyedCall: "No price for this trip can be had right now; nothing was created. " + sameAgain + ".",
		bulkItem:  "No price for this trip can be had right now; this item was not booked. Send it again under a new Idempotency-Key.",
	},
	domain.CodeServiceUnavailable: {
		plainCall: "The service cannot reach its data at the moment. Try again in a few seconds.",
		keyedCall: "The service cannot reach its data at the moment. " + sameAgain + " in a few seconds.",
	},
}

// keyed reports whether the call has an Idempotency-Key that counts.
func (c *call) keyed() bool { return !c.ignoresKey && c.Request.Header.Get("Idempotency-Key") != "" }

// aCall is who asks, with an Idempotency-Key or without.
func aCall(keyed bool) asker {
	if keyed {
		return keyedCall
	}
	return plainCall
}

// again adds to an error that ends by itself how its caller tries again.
func again(e *domain.Error, by asker) *domain.Error {
	message, known := failures[e.Code][by]
	if !e.Again || !known {
		return e
	}
	said := *e // an error may be shared
	said.Message = message
	return &said
}

// docURL is the page about a code, in the documentation beside the sandbox API;
// it applies on live too.
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
