package portal

import (
	"errors"
	"net/http"

	"waybill/adapters/pages"
	"waybill/domain"
)

// API returns the settings of the public API, for pages about its requests.
func (p *Portal) API() pages.API {
	return pages.API{LiveBaseURL: p.options.LiveBaseURL, SandboxBaseURL: p.options.SandboxBaseURL, DocsURL: p.options.DocsURL,
		Operations: p.options.Operations, RequestLog: p.options.RequestLog}
}

func (p *Portal) keeping() pages.KeepingView { return p.options.RequestLog.Kept() }

// logFailed sends the page that says that the request log cannot be read. API calls do not depend
// on the log.
func (p *Portal) logFailed(c *call, err error) error {
	if errors.Is(err, domain.ErrNotFound) {
		return err
	}
	p.noteLog(c, err)
	c.Header("Retry-After", "5")
	return p.Show(c, http.StatusServiceUnavailable, "unread", "The request log cannot be read right now", pages.Notice{
		Tone: "bad", Title: "The request log cannot be read right now",
		Lines: []string{
			"Your API calls are not affected. Calls that you make now may be missing here.",
			"Try again in a few seconds. A shorter time or fewer filters may help.",
		},
		Link: &pages.Link{Href: c.Request.URL.RequestURI(), Text: "Try again"},
	})
}

// noteLog logs that the request log could not be read.
func (p *Portal) noteLog(c *call, err error) {
	p.options.Log.WarnContext(c.Ctx(), "the request log cannot be read", "request_id", c.RequestID(), "route", "portal "+c.FullPath(),
		"error", err)
}

// unreadLog explains missing data on pages that show more than the log.
const unreadLog = "The request log cannot be read right now, so this page does not show calls."

func (p *Portal) document(code string) string { return p.API().Document(code) }
