package httpapi

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"waybill/adapters/web"
	"waybill/adapters/web/server"
	"waybill/application/idempotency"
	"waybill/domain"
)

// reply is the response of a handler.
type reply struct {
	status      int
	contentType string // empty: JSON
	location    string
	replayed    bool
	tagged      bool // compare with If-None-Match and send an ETag
	body        []byte
}

// ok returns data with status 200. It passes the address of data: a value in an interface would
// be copied again for rendering.
func ok[T any](message string, data T) reply {
	return reply{status: http.StatusOK, body: web.Success(http.StatusOK, message, &data)}
}

func list(message string, data any, m web.Meta) reply {
	return reply{status: http.StatusOK, body: web.List(http.StatusOK, message, data, m)}
}

// answer builds a response in the form that is stored under an Idempotency-Key.
func answer[T any](status int, location, message string, data T) domain.Answer {
	return domain.Answer{Status: status, Location: location, Body: web.Success(status, message, &data)}
}

func replyOf(r idempotency.Result, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return reply{status: r.Answer.Status, location: r.Answer.Location, replayed: r.Replayed, body: r.Answer.Body}, nil
}

func (a *API) write(c *call, r reply) {
	header := c.Writer.Header()
	if r.tagged {
		tag := a.tags.name(c, r.body)
		web.SetTagged(header, tag)
		if held, wild := matches(c.Request.Header.Values("If-None-Match"), tag); held || wild {
			a.notModified(c, held)
			return
		}
	}
	if r.location != "" {
		header.Set("Location", r.location)
	}
	c.outcome.location, c.outcome.replayed = r.location, r.replayed
	if r.replayed {
		header.Set("Idempotent-Replayed", "true")
	}
	if c.key != "" {
		a.Metrics.keyed(r.replayed)
	}
	c.send(r.status, cmp.Or(r.contentType, web.JSONType), r.body)
}

// send writes the response body.
func (c *call) send(status int, contentType string, body []byte) {
	header := c.Writer.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body))) // else a long one would be chunked
	c.Status(status)
	_, _ = c.Writer.Write(body) // a client that disconnected is not an error
}

// notModified responds that the client has the current version. Only a client that sends the
// tag it was given is not charged. * matches everything, so a flood of requests with it would
// be free.
func (a *API) notModified(c *call, tagged bool) {
	if tagged {
		if err := a.Admission.GiveBackUnmodified(c.Request.Context(), &c.grant); err != nil {
			a.Log.WarnContext(c.Request.Context(), "rate limit not given back", c.requestID.LogAttr(), "error", err)
		}
		showAllowance(c, c.grant.Allowance)
	}
	c.Status(http.StatusNotModified)
	c.Writer.WriteHeaderNow()
}

// fail responds with an error. It logs internal errors, once each, and the client learns the
// request ID only.
func (a *API) fail(c *call, err error) {
	e := web.ErrorOf(err)
	forced := errors.Is(err, errForced) // the client asked for it, so it is not a failure
	switch {
	case forced, errors.Is(err, errStopping), errors.Is(err, server.ErrBodiesArriving): // nothing is broken
	case e.Kind == domain.KindInternal:
		a.Log.ErrorContext(c.Request.Context(), "request failed", c.requestID.LogAttr(),
			"route", c.FullPath(), "application_id", string(c.tenant.ApplicationID), "error", err)
		e = internal(c.requestID.Shown(), c.keyed())
	case e.Kind == domain.KindUnavailable:
		a.logUnavailable(c, e.Code, err)
	}
	if !forced {
		a.Metrics.failed(e)
	}
	if !forced {
		e = withRemedies(e)
	}
	e = addRetryAdvice(e, kindOf(c.keyed()))
	if e.RetryAfter > 0 {
		c.Writer.Header().Set("Retry-After", web.Seconds(e.RetryAfter, 1))
	}
	c.outcome.failure = e
	status := web.Status(e.Kind)
	if status == http.StatusUnauthorized {
		c.Writer.Header().Set("WWW-Authenticate", "Bearer")
	}
	c.send(status, web.JSONType, web.Failure(status, e, a.docURL(e.Code)))
}

func (a *API) logUnavailable(c *call, code string, err error) {
	a.Log.WarnContext(c.Request.Context(), "dependency unavailable", c.requestID.LogAttr(),
		"route", c.FullPath(), "code", code, "error", err)
}

// tagBox makes ETags. A tag is a keyed digest of the path, the application and the body. So a
// client that sends a tag was given it for this record, and no state is needed to know that.
type tagBox struct{ key []byte }

func newTagBox(key [32]byte) tagBox {
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte("entity tags")) // cursors use the same key
	return tagBox{key: h.Sum(nil)}
}

func (b tagBox) name(c *call, body []byte) string {
	h := hmac.New(sha256.New, b.key)
	for _, part := range []string{string(c.tenant.ApplicationID), string(c.tenant.Environment), c.Request.URL.Path} {
		h.Write([]byte(part + "\x00"))
	}
	h.Write(body)
	return `"` + hex.EncodeToString(h.Sum(nil)[:12]) + `"`
}

// matches reports whether a tag is in If-None-Match, with the weak comparison of that header,
// and whether * is.
func matches(headers []string, tag string) (held, wild bool) {
	for _, header := range headers {
		for candidate := range strings.SplitSeq(header, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			held = held || candidate == tag
			wild = wild || candidate == "*"
		}
	}
	return held, wild
}
