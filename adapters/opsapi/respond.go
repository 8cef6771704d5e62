package opsapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"waybill/adapters/web/views"
	"waybill/domain"
	"waybill/ports"
)

// Kinds that only HTTP knows, beyond those of the domain.
const (
	kindTooLarge domain.Kind = 100 + iota
	kindUnsupported
)

const jsonType = "application/json; charset=utf-8"

// reply is what a handler wants to be sent.
type reply struct {
	status      int
	contentType string
	location    string
	body        []byte
}

// answered is the envelope of a success.
type answered struct {
	Success    bool   `json:"success"`
	StatusCode int    `json:"statusCode"`
	Message    string `json:"message"`
	Data       any    `json:"data"`
	Meta       *meta  `json:"meta,omitempty"`
}

type meta struct {
	Limit      int     `json:"limit"`
	HasMore    bool    `json:"has_more"`
	NextCursor *string `json:"next_cursor"`
	// CreatedAfter is since when deliveries were looked for.
	CreatedAfter *string `json:"created_after,omitempty"`
}

func render(status int, message string, data any, m *meta) reply {
	body, err := json.Marshal(answered{true, status, message, data, m}, json.Deterministic(true))
	if err != nil {
		panic(err) // all we show was checked when it came in
	}
	return reply{status: status, contentType: jsonType, body: body}
}

func ok(message string, data any) reply { return render(http.StatusOK, message, data, nil) }

// created answers 201 with where the record is from now on.
func created(path string, message string, data any) reply {
	r := render(http.StatusCreated, message, data, nil)
	r.location = base + path
	return r
}

func list(message string, data any, m meta) reply { return render(http.StatusOK, message, data, &m) }

// refuse answers with an error. What is not a *domain.Error is ours: it is
// logged here, once, and the operator learns the request ID only.
func (a *API) refuse(c *call, err error) {
	var e *domain.Error
	switch {
	case errors.Is(c.Request.Context().Err(), context.Canceled) && (!errors.As(err, &e) || e.Kind == domain.KindInternal):
		// Nobody waits any more; that is no failure of ours.
		a.options.Log.InfoContext(c.Request.Context(), "the client left", c.ids(), "route", c.route, "error", err)
		e = &domain.Error{Kind: domain.KindUnavailable, Message: "The client left.", RetryAfter: time.Second}
	case errors.Is(err, ports.ErrTookTooLong) && !errors.As(err, &e):
		a.unavailable(c, err)
		e = &domain.Error{Kind: domain.KindUnavailable, RetryAfter: goneFor, Message: "The database took too long; nothing was changed. Send the same request again in a few seconds, or less at once."}
	default:
		if e = views.Failure(err); e.Kind != domain.KindUnavailable {
			break
		}
		a.unavailable(c, err)
		switch {
		case errors.Is(err, ports.ErrOutcomeUnknown):
			e = &domain.Error{Kind: e.Kind, RetryAfter: goneFor,
				Message: "The database did not answer in time, and the change may have been made. Look at the record in a few seconds before you send it again."}
		case errors.Is(err, ports.ErrStorageGone), errors.Is(err, context.DeadlineExceeded):
			e = &domain.Error{Kind: e.Kind, RetryAfter: goneFor,
				Message: "The database does not answer right now. Send the same request again in a few seconds; /readyz tells when it is back."}
		}
	}
	switch e.Kind {
	case domain.KindUnavailable:
		e = &domain.Error{Kind: e.Kind, Code: domain.CodeServiceUnavailable, Message: e.Message, RetryAfter: e.RetryAfter}
	case domain.KindInternal:
		a.options.Log.ErrorContext(c.Request.Context(), "operations request failed", c.ids(), "route", c.route, "error", err)
		e = &domain.Error{Kind: domain.KindInternal, Code: domain.CodeInternal,
			Message: "Something failed on our side. See the log for request ID " + c.shownID() + "."}
	case domain.KindNotFound:
		e = &domain.Error{Kind: domain.KindNotFound, Code: domain.CodeNotFound,
			Message: "There is no such record. Check the ID in the address, and that it belongs to the business and environment there."}
	case domain.KindUnauthenticated:
		c.Header("WWW-Authenticate", "Bearer")
	}
	if e.RetryAfter > 0 {
		c.Header("Retry-After", strconv.Itoa(max(1, int((e.RetryAfter+time.Second-1)/time.Second))))
	}
	var details any
	if len(e.Details) > 0 {
		details = e.Details
	}
	if len(e.Fields) > 0 {
		fields := make([]map[string]any, 0, len(e.Fields))
		for _, f := range e.Fields {
			fields = append(fields, map[string]any{"field": f.Field, "code": f.Code, "message": f.Message})
		}
		details = map[string]any{"fields": fields}
	}
	fail(c.Context, statusOf(e.Kind), e.Code, e.Message, details)
}

// goneFor is when to come back for a database that does not answer.
const goneFor = 5 * time.Second

func (a *API) unavailable(c *call, err error) {
	a.options.Log.WarnContext(c.Request.Context(), "dependency unavailable", c.ids(), "route", c.route, "error", err)
}

// statusOf knows the kinds that only HTTP has, beside those of the domain.
func statusOf(k domain.Kind) int {
	switch k {
	case kindTooLarge:
		return http.StatusRequestEntityTooLarge
	case kindUnsupported:
		return http.StatusUnsupportedMediaType
	}
	return views.Status(k)
}
