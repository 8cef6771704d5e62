package portal

import (
	"errors"
	"net/http"
	"time"

	"waybill/adapters/pages"
	"waybill/application/requestlog"
	"waybill/domain"
)

// Operation is a route of the public API.
type Operation struct {
	Route   string // as the request log names it
	Summary string
	Scopes  []domain.Scope
	Sample  string // a body; empty: it takes none
}

// RequestLog is what the portal knows about the log that it shows.
type RequestLog struct {
	Mode    requestlog.Mode
	Keeping domain.RequestLogKeeping
}

func (p *Portal) keeping() keepingView {
	const day = 24 * time.Hour
	return keepingView{
		Off: p.options.RequestLog.Mode == requestlog.Nothing, FailuresOnly: p.options.RequestLog.Mode == requestlog.Failures,
		SuccessDays: int(p.options.RequestLog.Keeping.Successes / day), FailureDays: int(p.options.RequestLog.Keeping.Failures / day),
		FailuresASecond: requestlog.FailuresPerSecond, OneInTen: requestlog.SampleEvery,
	}
}

// logFailed answers a page whose content is the log when that cannot be read. The log
// is beside the API: nothing that calls do depends on it.
func (p *Portal) logFailed(c *call, err error) error {
	if errors.Is(err, domain.ErrNotFound) {
		return err
	}
	p.noteLog(c, err)
	c.Header("Retry-After", "5")
	return p.Show(c, http.StatusServiceUnavailable, "unread", "The request log cannot be read right now", pages.Notice{
		Tone: "bad", Title: "The request log cannot be read right now",
		Lines: []string{
			"Your API calls are not affected: they never wait for the log. What is called meanwhile may be missing here.",
			"Try again in a few seconds. A shorter time or fewer filters may help.",
		},
		Link: &pages.Link{Href: c.Request.URL.RequestURI(), Text: "Try again"},
	})
}

// noteLog writes into the log of the process that the request log could not be read.
func (p *Portal) noteLog(c *call, err error) {
	p.options.Log.WarnContext(c.Ctx(), "the request log cannot be read", "request_id", c.RequestID(), "route", "portal "+c.FullPath(),
		"error", err)
}

// unreadLog stands on pages that tell more than the log does.
const unreadLog = "The request log cannot be read right now, so this page does not tell what was called."

// document is the page of the documentation about an error code; empty: there is none.
func (p *Portal) document(code string) string {
	if code == "" || p.options.DocsURL == "" {
		return ""
	}
	return p.options.DocsURL + "/errors/" + code
}
