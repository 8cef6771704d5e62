package pages

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
)

// Recovery holds the input of the page that resends a period of webhooks.
type Recovery struct {
	Endpoints *webhooks.Endpoints
	Endpoint  domain.WebhookEndpoint
	Href      string // the endpoint's page
	List      string // the list of all endpoints
	May       bool   // the person may resend
	Now       time.Time
}

// recoverView holds the data of webhook_recover.html.
type recoverView struct {
	Notice             *Notice
	Endpoint           domain.WebhookEndpoint
	Host, URL          string
	Href, List         string
	May                bool
	Since, Until, Only Field
	Asked              bool // the period is valid and counted
	Count              int
	Total              int64 // the same, for display
	HasMore            bool
	From, To           time.Time
	// FromText and ToText hold the values that the form sends back, with milliseconds.
	FromText, ToText, OnlyText string
}

// usualPeriod sets the default period of a recovery. An endpoint that fails longer extends it.
const usualPeriod = 24 * time.Hour

// spanOf returns the period from the form, or else from the address. The default ends now. It
// begins a day ago, or earlier if the endpoint has been failing for longer.
func (r Recovery) spanOf(c *Call) (span webhooks.Span, err error) {
	asked := func(name string) string { return cmp.Or(c.Form.Get(name), c.Query(name)) }
	now := r.Now
	span.Since = now.Add(-usualPeriod).Truncate(time.Minute)
	if since := r.Endpoint.Health.FailingSince; since != nil && since.Before(span.Since) {
		span.Since = since.Truncate(time.Minute)
	}
	oldest := now.Add(-domain.RecoverableFor)
	if span.Since.Before(oldest) {
		span.Since = oldest
	}
	var wrong []domain.FieldError
	for name, set := range map[string]func(time.Time){
		"since": func(t time.Time) { span.Since = t }, "until": func(t time.Time) { span.Until = &t },
	} {
		text := asked(name)
		if text == "" {
			continue
		}
		at := MomentOf(text)
		if at == nil {
			wrong = append(wrong, domain.FieldError{Field: name, Code: domain.FieldInvalidFormat, Message: "Enter a day and a time."})
			continue
		}
		set(*at)
	}
	span.Only = domain.WebhookStatus(asked("only"))
	if !slices.Contains([]domain.WebhookStatus{"", domain.WebhookFailed, domain.WebhookHeld}, span.Only) {
		wrong = append(wrong, domain.FieldError{Field: "only", Code: domain.FieldNotAllowed, Message: "Choose one from the list."})
	}
	if len(wrong) > 0 {
		err = domain.Invalid(wrong...)
	}
	return span, err
}

// RecoverPage shows how many webhooks a recovery of the period would resend. A notice may come
// first.
func (s *Site) RecoverPage(c *Call, r Recovery, status int, n *Notice) error {
	if sent := s.Flashed(c, "webhooks-recovered", 1); sent != nil {
		n = &Notice{Tone: "good", Title: Count(sent[0]) + " webhooks are on their way again"}
	}
	v := recoverView{Notice: n, Endpoint: r.Endpoint, Host: r.Endpoint.Host(), URL: ShownURL(r.Endpoint.URL), Href: r.Href, List: r.List,
		May: r.May}
	span, err := r.spanOf(c)
	var counted webhooks.Recoverable
	if err == nil {
		counted, err = r.Endpoints.Recoverable(c.Ctx(), r.Endpoint.Tenant.BusinessID, r.Endpoint.ID, span)
	}
	switch {
	case c.Wrong(err):
		status = max(status, http.StatusUnprocessableEntity)
	case err != nil:
		return err
	default:
		v.Asked, v.Count, v.Total, v.HasMore = true, counted.Count, int64(counted.Count), counted.HasMore
		v.From, v.To = counted.Since, counted.Until
		v.FromText, v.ToText, v.OnlyText = domain.FormatTime(counted.Since), domain.FormatTime(counted.Until), string(counted.Only)
	}
	v.Since = MinuteField("since", "From, UTC", span.Since.Format(OfMinute))
	v.Until = MinuteField("until", "Before, UTC (or now)", "")
	if span.Until != nil {
		v.Until.Value = span.Until.Format(OfMinute)
	}
	v.Since.Error, v.Until.Error = c.Fault(v.Since.ID, "since", v.Since.Label), c.Fault(v.Until.ID, "until", v.Until.Label)
	v.Only = Field{ID: "only", Name: "only", Label: "What", Error: c.Fault("only", "only", "Webhooks"), Options: []Option{
		{Value: "", Text: "Failed and held", Chosen: span.Only == ""},
		{Value: string(domain.WebhookFailed), Text: "Failed only", Chosen: span.Only == domain.WebhookFailed},
		{Value: string(domain.WebhookHeld), Text: "Held only", Chosen: span.Only == domain.WebhookHeld},
	}}
	return s.Show(c, status, "webhook_recover", "Recover webhooks", v)
}

// RecoverAsked returns the period and count of RecoverPage's form. If the form has no count, it
// shows the page and returns answered.
func (s *Site) RecoverAsked(c *Call, r Recovery) (span webhooks.Span, count int, answered bool, err error) {
	count, wrong := strconv.Atoi(c.Form.Get("count"))
	if wrong != nil || c.Form.Get("until") == "" { // not from this page: it shows the count first
		return span, 0, true, s.RecoverPage(c, r, http.StatusUnprocessableEntity, &Notice{Tone: "warn", Title: "Nothing was sent yet",
			Lines: []string{"Below is what would be sent. Check it, then send it."}})
	}
	span, err = r.spanOf(c)
	return span, count, false, err
}

// ShownURL returns an address without its query, which may be secret.
func ShownURL(address string) string {
	shown, query, _ := strings.Cut(address, "?")
	if query != "" {
		shown += "?…"
	}
	return shown
}
