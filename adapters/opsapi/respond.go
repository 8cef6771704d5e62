package opsapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"waybill/adapters/web"
	"waybill/adapters/web/server"
	"waybill/domain"
	"waybill/ports"
)

// reply is the response of a handler.
type reply struct {
	status      int
	contentType string
	location    string
	replayed    bool // repeats the stored response of the same Idempotency-Key
	body        []byte
}

func ok(message string, data any) reply { return answer(http.StatusOK, message, data) }

func answer(status int, message string, data any) reply {
	return reply{status: status, contentType: web.JSONType, body: web.Success(status, message, data)}
}

// created responds 201 with the location of the new record.
func created(path string, message string, data any) reply {
	r := answer(http.StatusCreated, message, data)
	r.location = base + path
	return r
}

func list(message string, data any, m web.Meta) reply {
	return reply{status: http.StatusOK, contentType: web.JSONType, body: web.List(http.StatusOK, message, data, m)}
}

// page reads limit and cursor. The IDs of the list have the prefix.
func (m *Management) page(c *call, prefix domain.Prefix) (domain.PageRequest, error) {
	return web.NewCursors(m.CursorKeys...).Page(c.query, c.binding(), prefix)
}

// cut removes the record beyond the limit and returns the cursor of the next page.
func cut[T any](m *Management, c *call, records []T, limit int, at func(T) domain.Position) ([]T, web.Meta) {
	return web.Cut(web.NewCursors(m.CursorKeys...), c.binding(), records, limit, at)
}

// binding identifies what a cursor belongs to: a list and its filters. The first line separates
// these cursors from those of the public API.
func (c *call) binding() string {
	return "operations\n" + c.Request.URL.Path + "\n" + c.query.Filters()
}

// refuse responds with an error. Any error but a *domain.Error is internal: it is logged here,
// once, and the response has the request ID only.
func (a *API) refuse(c *call, err error) {
	var e *domain.Error
	switch {
	case errors.Is(c.Request.Context().Err(), context.Canceled) && (!errors.As(err, &e) || e.Kind == domain.KindInternal):
		// The client has disconnected. That is no failure of the server.
		a.options.Log.InfoContext(c.Request.Context(), "the client left", c.requestID.LogAttr(), "route", c.route, "error", err)
		e = &domain.Error{Kind: domain.KindUnavailable, Message: "The client left.", RetryAfter: time.Second}
	case errors.Is(err, ports.ErrTookTooLong) && !errors.As(err, &e):
		a.unavailable(c, err)
		e = &domain.Error{Kind: domain.KindUnavailable, RetryAfter: goneFor,
			Message: "The database took too long; nothing was changed. Send the same request again in a few seconds, or less at once."}
	default:
		if e = web.ErrorOf(err); e.Kind != domain.KindUnavailable || errors.Is(err, server.ErrBodiesArriving) {
			break // no dependency failed; the server counts bodies that it refuses
		}
		a.unavailable(c, err)
		switch {
		case errors.Is(err, ports.ErrOutcomeUnknown):
			e = &domain.Error{Kind: e.Kind, RetryAfter: goneFor,
				Message: "The database did not answer in time, and the change may have been made. Look at the record in a few seconds before you " +
					"send it again."}
		case errors.Is(err, ports.ErrStorageGone), errors.Is(err, context.DeadlineExceeded):
			e = &domain.Error{Kind: e.Kind, RetryAfter: goneFor,
				Message: "The database does not answer right now. Send the same request again in a few seconds; /readyz tells when it is back."}
		}
	}
	switch e.Kind {
	case domain.KindUnavailable:
		e = &domain.Error{Kind: e.Kind, Code: domain.CodeServiceUnavailable, Message: e.Message, RetryAfter: e.RetryAfter}
	case domain.KindInternal:
		a.options.Log.ErrorContext(c.Request.Context(), "operations request failed", c.requestID.LogAttr(), "route", c.route, "error", err)
		e = &domain.Error{Kind: domain.KindInternal, Code: domain.CodeInternal,
			Message: "Something failed on our side. See the log for request ID " + c.requestID.Shown() + "."}
	case domain.KindNotFound:
		e = &domain.Error{Kind: domain.KindNotFound, Code: domain.CodeNotFound,
			Message: "There is no such record. Check the ID in the address, and that it belongs to the business and environment there."}
	case domain.KindUnauthenticated:
		c.Header("WWW-Authenticate", "Bearer")
	}
	e = withRemedy(e)
	if e.RetryAfter > 0 {
		c.Header("Retry-After", web.Seconds(e.RetryAfter, 1))
	}
	fail(c.Context, web.Status(e.Kind), e)
}

// goneFor is the Retry-After for a database that does not respond.
const goneFor = 5 * time.Second

func (a *API) unavailable(c *call, err error) {
	a.options.Log.WarnContext(c.Request.Context(), "dependency unavailable", c.requestID.LogAttr(), "route", c.route, "error", err)
}
