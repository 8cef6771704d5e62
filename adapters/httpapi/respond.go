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
	"waybill/application/idempotency"
	"waybill/domain"
)

// reply is the answer of a handler.
type reply struct {
	status      int
	contentType string // empty: JSON
	location    string
	replayed    bool
	tagged      bool // compare with If-None-Match and send an ETag
	body        []byte
}

// ok shows data. It goes by its address, as what an interface holds is copied
// once more to be rendered.
func ok[T any](message string, data T) reply {
	return reply{status: http.StatusOK, body: web.Success(http.StatusOK, message, &data)}
}

func list(message string, data any, m web.Meta) reply {
	return reply{status: http.StatusOK, body: web.List(http.StatusOK, message, data, m)}
}

// answer is a reply in the form that is stored under an Idempotency-Key.
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
	c.told.location, c.told.replayed = r.location, r.replayed
	if r.replayed {
		header.Set("Idempotent-Replayed", "true")
	}
	if c.key != "" {
		a.Metrics.keyed(r.replayed)
	}
	c.send(r.status, cmp.Or(r.contentType, web.JSONType), r.body)
}

// send writes a body.
func (c *call) send(status int, contentType string, body []byte) {
	header := c.Writer.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body))) // else a long one would go out in chunks
	c.Status(status)
	_, _ = c.Writer.Write(body) // a client that left is no failure
}

// notModified answers that the client has what it asked for. Only a client that
// shows the tag it was given goes free: * is true of anything, and so would a flood
// of it be.
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

// fail answers with an error. A defect of ours is logged here, once, and the
// caller learns the request ID only.
func (a *API) fail(c *call, err error) {
	e := web.ErrorOf(err)
	forced := errors.Is(err, errForced) // as the client asked, so no failure
	switch {
	case forced, errors.Is(err, errStopping): // nothing is broken
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
		e = worded(e)
	}
	e = again(e, aCall(c.keyed()))
	if e.RetryAfter > 0 {
		c.Writer.Header().Set("Retry-After", web.Seconds(e.RetryAfter, 1))
	}
	c.told.failure = e
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

// tagBox names states of answers. A tag is a code under a key of ours over the
// path, the application and the body: a client that sends it was given it, for this
// record, and nothing has to be remembered to know that.
type tagBox struct{ key []byte }

func newTagBox(key [32]byte) tagBox {
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte("entity tags")) // cursors are made under the same key
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

// matches reports whether a tag is among those of If-None-Match, compared weakly
// as it asks for, and whether * is.
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
