package portal

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"waybill/adapters/pages"
	"waybill/adapters/site"
	"waybill/application/endpoints"
	"waybill/application/webhooks"
	"waybill/domain"
)

type recoverView struct {
	Notice             *pages.Notice
	Endpoint           endpointView
	May                bool
	Since, Until, Only pages.Field
	Asked              bool // the period is sound, and counted
	Count              int
	Total              int64 // the same, to be written out
	HasMore            bool
	From, To           time.Time
	// FromText and ToText are what the form sends back: to the millisecond.
	FromText, ToText, OnlyText string
}

// usualPeriod is what a recovery is of where the endpoint does not fail now.
const usualPeriod = 24 * time.Hour

// spanOf is the period that the form, or else the address, names; without one from when the
// endpoint began to fail, or the last day, until now.
func (p *Portal) spanOf(c *call, shown endpoints.Shown) (span webhooks.Span, err error) {
	asked := func(name string) string { return cmp.Or(c.Form.Get(name), c.Query(name)) }
	now := p.options.Clock.Now()
	span.Since = now.Add(-usualPeriod).Truncate(time.Minute)
	if since := shown.Health.FailingSince; since != nil && since.Before(span.Since) {
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
		at := site.MomentOf(text)
		if at == nil {
			wrong = append(wrong, domain.FieldError{Field: name, Code: domain.FieldInvalidFormat, Message: "Enter a day and a time."})
			continue
		}
		set(*at)
	}
	span.Only = domain.WebhookStatus(asked("only"))
	if !slices.Contains([]domain.WebhookStatus{"", domain.WebhookFailed, domain.WebhookHeld}, span.Only) {
		wrong = append(wrong, domain.FieldError{Field: "only", Code: domain.FieldNotAllowed, Message: "Choose one of the list."})
	}
	if len(wrong) > 0 {
		err = domain.Invalid(wrong...)
	}
	return span, err
}

func (p *Portal) askRecover(c *call) error {
	n := c.Told()
	if sent := p.Flashed(c, "webhooks-recovered", 1); sent != nil {
		n = &pages.Notice{Tone: "good", Title: pages.Count(sent[0]) + " webhooks are on their way again"}
	}
	return p.recoverPage(c, http.StatusOK, n)
}

func (p *Portal) recoverPage(c *call, status int, n *pages.Notice) error {
	page, shown, err := p.oneEndpoint(c)
	if err != nil {
		return err
	}
	v := recoverView{Notice: n, Endpoint: page.Endpoint, May: page.MayResend}
	span, err := p.spanOf(c, shown)
	var counted endpoints.Recoverable
	if err == nil {
		counted, err = p.Endpoints.Recoverable(c.Ctx(), c.Business(), shown.ID, span)
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
	v.Since = minuteField("since", "From, UTC", span.Since.Format(site.OfMinute))
	v.Until = minuteField("until", "Before, UTC (or now)", "")
	if span.Until != nil {
		v.Until.Value = span.Until.Format(site.OfMinute)
	}
	v.Since.Error, v.Until.Error = c.Faults["since"], c.Faults["until"]
	v.Only = pages.Field{ID: "only", Name: "only", Label: "What", Error: c.Faults["only"], Options: []pages.Option{
		{Value: "", Text: "Failed and held", Chosen: span.Only == ""},
		{Value: string(domain.WebhookFailed), Text: "Failed only", Chosen: span.Only == domain.WebhookFailed},
		{Value: string(domain.WebhookHeld), Text: "Held only", Chosen: span.Only == domain.WebhookHeld},
	}}
	return p.Show(c, status, "webhook_recover", "Recover webhooks", v)
}

// recoverWebhooks sends the number that the form was shown, or nothing.
func (p *Portal) recoverWebhooks(c *call) error {
	shown, err := p.Endpoints.Get(c.Ctx(), c.Business(), domain.ID(c.Param("endpoint")))
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(c.Form.Get("count"))
	if err != nil || c.Form.Get("until") == "" { // not of this page: it shows the number first
		return p.recoverPage(c, http.StatusUnprocessableEntity, &pages.Notice{Tone: "warn", Title: "Nothing was sent yet",
			Lines: []string{"This is what would be sent. Send it from here."}})
	}
	span, err := p.spanOf(c, shown)
	var queued webhooks.Recovered
	if err == nil {
		err = p.charged(c, shown.Tenant.Environment, func(ctx context.Context) error {
			queued, err = p.Endpoints.Recover(ctx, c.Actor(), shown.ID, span, count)
			return err
		})
	}
	if domain.HasCode(err, endpoints.CodeCountChanged) {
		return p.recoverPage(c, http.StatusConflict, &pages.Notice{Tone: "bad", Title: "The number has changed",
			Lines: []string{site.MessageOf(err)}})
	}
	if n := hookRefusal(err); n != nil {
		n.Title = "Nothing was sent"
		return p.recoverPage(c, site.StatusOf(err), n)
	}
	if err != nil {
		return err
	}
	p.Flash(c, "webhooks-recovered", queued.Queued)
	return c.Lead("/webhooks/" + string(shown.ID) + "/recover?done=webhooks-recovered")
}
