package pages

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"waybill/domain"
	"waybill/ports"
)

// ErrAnswered reports that the response was already sent.
var ErrAnswered = errors.New("answered already")

// Fail sends a page that says what happened and what to do next.
func (s *Site) Fail(c *Call, err error) {
	var e *domain.Error
	switch {
	case errors.Is(err, ErrAnswered):
		return
	case domain.HasCode(err, domain.CodeSessionEnded):
		s.askToSignIn(c)
		return
	case ports.StorageUnavailable(err):
		if c.Request.Context().Err() == nil || errors.Is(c.Request.Context().Err(), context.DeadlineExceeded) {
			s.o.Log.WarnContext(c.Ctx(), "dependency unavailable", "request_id", c.RequestID(), "route", s.named(c.Context),
				"error", err)
		}
		c.Header("Retry-After", "5")
		lines := []string{"The database is not available at the moment. Nothing is lost. Try again in a few seconds."}
		if errors.Is(err, ports.ErrOutcomeUnknown) {
			lines = []string{"The database is not available at the moment. Your change may have been saved. Check the list before you send it " +
				"again."}
		}
		s.Notice(c, http.StatusServiceUnavailable, Notice{Tone: "bad", Title: "This page is not available right now", Lines: lines})
		return
	case !errors.As(err, &e) || e.Kind == domain.KindInternal:
		if errors.Is(c.Request.Context().Err(), context.Canceled) { // the client has disconnected
			c.Status(http.StatusServiceUnavailable)
			return
		}
		s.o.Log.ErrorContext(c.Ctx(), "a page failed", "request_id", c.RequestID(), "route", s.named(c.Context),
			"error", err)
		s.Notice(c, http.StatusInternalServerError, s.failed(c.RequestID()))
		return
	}
	s.noteRefusal(c, err)
	c.RetryAfter(err)
	n := Notice{Tone: "bad", Title: "That did not work", Lines: []string{e.Message},
		Link: &Link{Href: c.At("/"), Text: "Go to the start page"}}
	switch {
	case errors.Is(err, domain.ErrNotFound):
		n.Title, n.Lines = "Page not found",
			[]string{"The address may be mistyped, or the record " + s.o.Words.Foreign + "no longer exists."}
	case domain.HasCode(err, domain.CodeRoleRefused):
		n.Title, n.Lines = "Your role does not allow this",
			[]string{"You are " + article(string(c.Principal.Role)) + ". Ask " + s.o.Words.Ask + " to do it, or to change your role."}
	case domain.HasCode(err, domain.CodeViewReadOnly):
		n.Title = "You cannot change anything in this view"
	case domain.HasCode(err, domain.CodeOwnSignInNeeded):
		n.Title, n.Link = "This needs your own sign-in", &Link{Href: c.At("/signin"), Text: "Sign in"}
	case domain.HasCode(err, domain.CodeTooManyPages):
		n.Title = "Too many pages at once"
	case e.Kind == domain.KindLimited:
		n.Title = "Too many attempts"
	}
	s.Notice(c, StatusOf(err), n)
}

func (s *Site) failed(requestID string) Notice {
	return Notice{Tone: "bad", Title: "Something failed on our side",
		Lines: []string{"We recorded the error. If it happens again, give " + s.o.Words.Tell + " this ID: " + requestID}}
}

// article puts "a" or "an" before a word.
func article(word string) string {
	if strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}

// statuses maps kinds of errors to HTTP statuses.
var statuses = map[domain.Kind]int{
	domain.KindMalformed: http.StatusBadRequest, domain.KindUnauthenticated: http.StatusUnauthorized,
	domain.KindForbidden: http.StatusForbidden,
	domain.KindNotFound:  http.StatusNotFound, domain.KindConflict: http.StatusConflict, domain.KindInvalid: http.StatusUnprocessableEntity,
	domain.KindLimited: http.StatusTooManyRequests, domain.KindGone: http.StatusGone, domain.KindUnavailable: http.StatusServiceUnavailable,
}

// StatusOf returns the HTTP status of an error.
func StatusOf(err error) int {
	var e *domain.Error
	if errors.As(err, &e) && statuses[e.Kind] != 0 {
		return statuses[e.Kind]
	}
	return http.StatusInternalServerError
}

// MessageOf returns the text that a form shows for an error.
func MessageOf(err error) string {
	var e *domain.Error
	if errors.As(err, &e) && e.Kind != domain.KindInternal {
		return e.Message
	}
	return "Something failed on our side. Try again."
}
