package httpapi

import (
	"errors"
	"strings"
	"time"

	"waybill/adapters/web"
	"waybill/domain"
)

// noRoute returns the error 404 of an unknown path. It names the path that was probably meant, and
// otherwise all unknown paths have one message.
func (a *API) noRoute(c *call) *domain.Error { return a.nothingAt(c.Request.URL.EscapedPath()) }

func (a *API) nothingAt(path string) *domain.Error {
	message := "There is nothing at this address. GET /v1/openapi.json lists what there is."
	if meant, slip := a.meantPath(path); meant != "" {
		message = "There is nothing at this address: the path has " + slip + ". Use " + meant + "."
	} else if home := a.home(); home != "" {
		message = "There is nothing at this address. GET /v1/openapi.json lists what there is, and " + home + " explains it."
	}
	return &domain.Error{Kind: domain.KindNotFound, Code: domain.CodeNotFound, Message: message}
}

// noMethod returns the error 405. It repeats the Allow header, which gin has already set.
func noMethod(c *call) *domain.Error {
	return web.NoMethod(c.Request.Method, c.Writer.Header().Get("Allow"))
}

// internal returns the error 500. Its message says that the fault is ours and what to do.
func internal(requestID string, keyed bool) *domain.Error {
	addRetryAdvice := "Try again in a moment"
	if keyed {
		addRetryAdvice = sameKeyAdvice
	}
	return &domain.Error{Kind: domain.KindInternal, Code: domain.CodeInternal,
		Message: "Something failed on our side. " + addRetryAdvice + "; if it stays, quote request ID " + requestID + "."}
}

// notStarted returns the error of a bulk request that was still waiting when the server shut
// down.
func notStarted() *domain.Error {
	return &domain.Error{Kind: domain.KindUnavailable, Code: domain.CodeServiceUnavailable, RetryAfter: time.Second, Err: errStopping,
		Message: "This server is about to stop, and did not begin the request; nothing was created. " + sameKeyAdvice + "."}
}

var errStopping = errors.New("the server is about to stop")

// sameKeyAdvice tells a client with an Idempotency-Key what to do after a failure.
const sameKeyAdvice = "Try again with the same body and Idempotency-Key"

// retryKind says how the sender of a request can retry it.
type retryKind int

const (
	plainCall retryKind = iota // has no key to retry with, and creates nothing
	keyedCall                  // it has an Idempotency-Key
	bulkItem                   // one item of a bulk: its error is stored, and the same key would only replay it
)

// failures holds the messages of temporary errors, by code and by kind of request. When the
// database cannot be reached the whole bulk fails, not single items.
var failures = map[string]map[retryKind]string{
	domain.CodeQuoteUnavailable: {
		plainCall: "No price for this trip can be had right now. Try again in a moment.",
		keyedCall: "No price for this trip can be had right now; nothing was created. " + sameKeyAdvice + ".",
		bulkItem:  "No price for this trip can be had right now; this item was not booked. Send it again under a new Idempotency-Key.",
	},
	domain.CodeServiceUnavailable: {
		plainCall: "The service cannot reach its data at the moment. Try again in a few seconds.",
		keyedCall: "The service cannot reach its data at the moment. " + sameKeyAdvice + " in a few seconds.",
	},
}

// keyed reports whether the request has an Idempotency-Key that the route uses.
func (c *call) keyed() bool { return !c.ignoresKey && c.Request.Header.Get("Idempotency-Key") != "" }

// kindOf returns the kind of a single request, with or without an Idempotency-Key.
func kindOf(keyed bool) retryKind {
	if keyed {
		return keyedCall
	}
	return plainCall
}

// addRetryAdvice adds to a temporary error how the client retries.
func addRetryAdvice(e *domain.Error, by retryKind) *domain.Error {
	message, known := failures[e.Code][by]
	if !e.Again || !known {
		return e
	}
	changed := *e // copy: the error may be shared
	changed.Message = message
	return &changed
}

// docURL returns the address of the documentation page about an error code. The page is in the
// sandbox documentation and is valid for live too.
func (a *API) docURL(code string) string {
	return docsURL(a.sandboxBaseURL()) + "/errors/" + code
}

// docsURL returns the address of the documentation, given the base URL of the sandbox API.
func docsURL(sandboxBaseURL string) string {
	return strings.TrimSuffix(sandboxBaseURL, "/v1") + "/docs"
}

func (a *API) sandboxBaseURL() string {
	if a.Environment == domain.Sandbox {
		return a.BaseURL
	}
	return a.OtherBaseURL
}
