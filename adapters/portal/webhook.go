package portal

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/application/webhooks"
	"waybill/domain"
)

const sentPage = 50

type endpointPage struct {
	Notice                                *pages.Notice
	Endpoint                              endpointView
	App                                   domain.Application
	Paused                                *pausedView // nil: it is not paused, or a program paused it
	May, MayResend                        bool
	Filters                               *pages.Filters
	Sent                                  []sentRow
	Filtered                              bool
	Older, Newest                         string
	URL, EventTypes, Description, Overlap pages.Field // for the forms about it
}

// pausedView says who paused an endpoint, and why.
type pausedView struct {
	By, Reason string // no reason: none was given
	At         time.Time
}

// sentRow is a webhook in a list.
type sentRow struct {
	ID, EventType, Status, Tone, Href string
	DeliveryID                        string
	Attempts                          int
	CreatedAt                         time.Time
	NextAt                            *time.Time
}

var sentTones = map[domain.WebhookStatus]string{domain.WebhookSucceeded: "good", domain.WebhookFailed: "bad", domain.WebhookHeld: "over"}

// sentTexts maps statuses of webhooks to texts.
var sentTexts = map[domain.WebhookStatus]string{
	domain.WebhookPending: "pending", domain.WebhookSucceeded: "delivered", domain.WebhookFailed: "failed", domain.WebhookHeld: "held",
}

func rowOfSent(d domain.WebhookDelivery) sentRow {
	return sentRow{ID: string(d.ID), EventType: string(d.EventType), Status: sentTexts[d.Status], Tone: sentTones[d.Status],
		Href: "/webhooks/" + string(d.EndpointID) + "/sent/" + string(d.ID), DeliveryID: string(d.DeliveryID), Attempts: d.Attempts,
		CreatedAt: d.CreatedAt, NextAt: d.DueAt}
}

// oneEndpoint returns the endpoint in the address, with its application.
func (p *Portal) oneEndpoint(c *call) (v endpointPage, shown webhooks.Shown, err error) {
	if shown, err = p.Endpoints.Get(c.Ctx(), c.Business(), domain.ID(c.Param("endpoint"))); err != nil {
		return v, shown, err
	}
	v = endpointPage{Notice: c.Told(), Endpoint: viewOf(shown, p.options.Clock.Now()), May: c.May(domain.ActManageWebhooks),
		MayResend: c.May(domain.ActResendWebhooks)}
	v.App, err = p.Tenants.ApplicationOf(c.Ctx(), c.Business(), shown.Tenant.ApplicationID)
	return v, shown, err
}

func (p *Portal) showEndpoint(c *call) error { return p.endpointPage(c, http.StatusOK, nil) }

func (p *Portal) endpointPage(c *call, status int, n *pages.Notice) error {
	v, shown, err := p.oneEndpoint(c)
	if err != nil {
		return err
	}
	if n != nil {
		v.Notice = n
	}
	switch paused, err := p.Endpoints.PausedBy(c.Ctx(), shown.WebhookEndpoint); {
	case err == nil:
		v.Paused = &pausedView{By: actorName(paused.Actor), Reason: pages.Sentence(paused.Details["reason"]), At: paused.At}
	case !errors.Is(err, domain.ErrNotFound):
		return err
	}
	f, page, err := p.sentFilter(c, &v, shown)
	if err != nil {
		return err
	}
	found, err := p.Endpoints.Deliveries(c.Ctx(), c.Business(), shown.ID, f, page)
	if err != nil {
		return err
	}
	if len(found) > sentPage {
		found = found[:sentPage]
		older := c.Request.URL.Query()
		older.Set("before", string(found[sentPage-1].ID))
		older.Del("done")
		v.Older = v.Endpoint.Href + "?" + older.Encode()
	}
	for _, d := range found {
		v.Sent = append(v.Sent, rowOfSent(d))
	}
	return p.Show(c, status, "webhook", "Webhook endpoint "+shown.Host(), v)
}

// sentFilter returns the webhook filter in the address, and fills in its form.
func (p *Portal) sentFilter(c *call, v *endpointPage, shown webhooks.Shown) (f domain.WebhookDeliveryFilter, page domain.PageRequest,
	err error) {
	f = domain.WebhookDeliveryFilter{Status: domain.WebhookStatus(c.Query("status")), EventType: domain.EventType(c.Query("event_type")),
		CreatedAfter: pages.MomentOf(c.Query("created_after")), CreatedBefore: pages.MomentOf(c.Query("created_before"))}
	page.Limit = sentPage
	if f.Status != "" && !slices.Contains(domain.WebhookStatuses(), f.Status) ||
		f.EventType != "" && !slices.Contains(domain.EventTypes(), f.EventType) {
		return f, page, domain.ErrNotFound
	}
	if at := c.Query("before"); at != "" {
		id, err := domain.ParseID(domain.PrefixWebhookDelivery, at)
		if err != nil {
			return f, page, err
		}
		last, err := p.Endpoints.Sent(c.Ctx(), c.Business(), shown.ID, id)
		if err != nil {
			return f, page, err
		}
		page.After = &domain.Position{CreatedAt: last.CreatedAt, ID: last.ID}
		v.Newest = filled(v.Endpoint.Href, url.Values{"status": {string(f.Status)}, "event_type": {string(f.EventType)},
			"created_after": {c.Query("created_after")}, "created_before": {c.Query("created_before")}})
	}
	v.Filtered = f != (domain.WebhookDeliveryFilter{}) || page.After != nil
	status := pages.Field{ID: "status", Name: "status", Label: "Status", Options: []pages.Option{{Text: "Any"}}}
	for _, s := range domain.WebhookStatuses() {
		status.Options = append(status.Options, pages.Option{Value: string(s), Text: sentTexts[s], Chosen: s == f.Status})
	}
	event := pages.Field{ID: "event_type", Name: "event_type", Label: "Event", Options: []pages.Option{{Text: "Any"}}}
	for _, t := range domain.EventTypes() {
		event.Options = append(event.Options, pages.Option{Value: string(t), Text: string(t), Chosen: t == f.EventType})
	}
	query := c.Request.URL.Query()
	for _, name := range []string{"before", "done"} {
		query.Del(name)
	}
	v.Filters = pages.NewFilters(c.At(v.Endpoint.Href), query, nil, []pages.Field{status, event,
		pages.MinuteField("created_after", "From (UTC)", ""), pages.MinuteField("created_before", "Before (UTC)", "")})
	return f, page, nil
}

// hookChanged returns to the endpoint, or shows it with the reason why nothing changed.
func (p *Portal) hookChanged(c *call, err error, said string) error {
	if n := hookRefusal(err); n != nil {
		c.RetryAfter(err)
		return p.endpointPage(c, pages.StatusOf(err), n)
	}
	if err != nil {
		return err
	}
	return c.Lead("/webhooks/" + c.Param("endpoint") + "?done=" + said)
}

func (p *Portal) setEnabled(c *call, enabled bool, said string) error {
	err := p.Endpoints.Change(c.Ctx(), c.Actor(), domain.ID(c.Param("endpoint")), domain.WebhookEndpointChange{Enabled: &enabled})
	return p.hookChanged(c, err, said)
}

func (p *Portal) pauseEndpoint(c *call) error  { return p.setEnabled(c, false, "webhook-paused") }
func (p *Portal) resumeEndpoint(c *call) error { return p.setEnabled(c, true, "webhook-resumed") }

func (p *Portal) askEdit(c *call) error { return p.editPage(c, http.StatusOK) }

// editPage shows the form. After a conflict it also lists the values that are stored now.
func (p *Portal) editPage(c *call, status int) error {
	v, shown, err := p.oneEndpoint(c)
	if err != nil {
		return err
	}
	v.Endpoint.Version = c.VersionShown(shown.UpdatedAt, status)
	v.URL, v.EventTypes, v.Description = endpointFields(c, shown.WebhookEndpoint)
	if status == http.StatusConflict {
		types := v.EventTypes
		types.Value = strings.Join(c.Form["event_types"], ", ")
		v.Notice = pages.ChangedSince([]pages.Field{v.URL, types, v.Description}, shown.URL, strings.Join(shown.EventTypes, ", "),
			shown.Description)
	}
	return p.Show(c, status, "webhook_edit", "Edit an endpoint", v)
}

func (p *Portal) editEndpoint(c *call) error {
	form, err := endpointForm(c)
	if err == nil {
		err = p.Endpoints.ChangeShown(c.Ctx(), c.Actor(), domain.ID(c.Param("endpoint")), c.VersionSent(), domain.WebhookEndpointChange{
			URL: &form.URL, EventTypes: form.EventTypes, Description: &form.Description})
	}
	if c.Wrong(err) {
		return p.editPage(c, http.StatusUnprocessableEntity)
	}
	if errors.Is(err, webhooks.ErrEndpointChanged) {
		return p.editPage(c, http.StatusConflict)
	}
	return p.hookChanged(c, err, "webhook-saved")
}

// overlaps lists how long the previous secret may also sign after a rotation, in seconds.
var overlaps = []pages.Option{
	{Value: "86400", Text: "For a day", Chosen: true}, {Value: "3600", Text: "For an hour"}, {Value: "604800", Text: "For a week"},
	{Value: "0", Text: "Not at all, because others know it"},
}

func (p *Portal) askRotateSecret(c *call) error { return p.rotateSecretPage(c, http.StatusOK, nil) }

func (p *Portal) rotateSecretPage(c *call, status int, n *pages.Notice) error {
	v, _, err := p.oneEndpoint(c)
	if err != nil {
		return err
	}
	v.Notice = n
	if n == nil {
		v.Notice = c.WelcomeBack()
	}
	v.Overlap = c.Field(pages.Field{Name: "overlap_seconds", Label: "Keep the current secret", Options: slices.Clone(overlaps)})
	return p.Show(c, status, "webhook_rotate", "Rotate a signing secret", v)
}

func (p *Portal) rotateSecret(c *call) error {
	version, seconds := pages.MomentOf(c.Form.Get("version")), 0
	seconds, err := strconv.Atoi(c.Form.Get("overlap_seconds"))
	if !slices.ContainsFunc(overlaps, func(o pages.Option) bool { return o.Value == c.Form.Get("overlap_seconds") }) {
		err = domain.Invalid(domain.FieldError{Field: "overlap_seconds", Code: domain.FieldNotAllowed, Message: "Choose one from the list."})
	}
	if err == nil && version == nil {
		version = &time.Time{}
	}
	var made webhooks.Secret
	if err == nil {
		made, err = p.Endpoints.Rotate(c.Ctx(), c.Actor(), domain.ID(c.Param("endpoint")), *version, time.Duration(seconds)*time.Second)
	}
	switch {
	case c.Wrong(err):
		return p.rotateSecretPage(c, http.StatusUnprocessableEntity, nil)
	case domain.HasCode(err, domain.CodeFormAlreadySent):
		return p.rotateSecretPage(c, http.StatusConflict, &pages.Notice{Tone: "bad", Title: "No second secret was created",
			Lines: []string{pages.MessageOf(err)}})
	case err != nil:
		return err
	}
	return p.showSecret(c, made, true)
}

func (p *Portal) testEndpoint(c *call) error {
	var sent domain.WebhookDelivery
	err := p.chargedAtEndpoint(c, func(ctx context.Context, endpoint domain.ID) (err error) {
		sent, err = p.Endpoints.Test(ctx, c.Actor(), endpoint)
		return err
	})
	if err != nil {
		return p.hookChanged(c, err, "")
	}
	return c.Lead("/webhooks/" + c.Param("endpoint") + "/sent/" + string(sent.ID) + "?done=webhook-tested")
}

func (p *Portal) askDeleteEndpoint(c *call) error {
	v, _, err := p.oneEndpoint(c)
	if err != nil {
		return err
	}
	return p.Show(c, http.StatusOK, "webhook_delete", "Delete an endpoint", v)
}

func (p *Portal) deleteEndpoint(c *call) error {
	shown, err := p.Endpoints.Get(c.Ctx(), c.Business(), domain.ID(c.Param("endpoint")))
	if err == nil {
		err = p.Endpoints.Delete(c.Ctx(), c.Actor(), shown.ID)
	}
	if err != nil {
		return err
	}
	return c.Lead("/webhooks?application=" + string(shown.Tenant.ApplicationID) + "&environment=" + string(shown.Tenant.Environment) +
		"&done=webhook-deleted")
}

// sentView holds the page of one webhook.
type sentView struct {
	Application string // its ID
	Bench       bool   // the reader may check the signature; staff may not
	Notice      *pages.Notice
	Endpoint    endpointView
	Row         sentRow
	EventID     string
	Headers     pages.Code
	Body        pages.Code
	Attempts    []attemptRow
	MayResend   bool
}

type attemptRow struct {
	Number                          int
	ID, Trigger, Result, Tone, Took string
	Excerpt                         string
	At                              time.Time
	Next                            *time.Time
}

// triggerTexts says why an attempt was made.
var triggerTexts = map[domain.WebhookTrigger]string{
	domain.TriggerSchedule: "schedule", domain.TriggerProbe: "probe", domain.TriggerManual: "resend",
	domain.TriggerRecover: "recovery", domain.TriggerTest: "test",
}

// How long the page waits for the attempt that its reader asked for, and how often it checks.
const (
	attemptPatience = 2 * time.Second
	attemptPause    = 150 * time.Millisecond
)

// showSent shows a webhook. After a test event or a resend it waits for the response, so that the
// page has it without a reload.
func (p *Portal) showSent(c *call) error {
	if done := c.Query("done"); done == "webhook-tested" || done == "webhook-resent" {
		return p.sentPage(c, http.StatusOK, p.awaitAttempt(c))
	}
	return p.sentPage(c, http.StatusOK, c.Told())
}

// awaitAttempt waits for an attempt that is due, and describes its result.
func (p *Portal) awaitAttempt(c *call) *pages.Notice {
	for until := time.Now().Add(attemptPatience); time.Now().Before(until); {
		sent, err := p.Endpoints.Sent(c.Ctx(), c.Business(), domain.ID(c.Param("endpoint")), domain.ID(c.Param("sent")))
		if err != nil {
			return nil // the page says why
		}
		if due := sent.DueAt; sent.Status != domain.WebhookPending || due == nil || due.After(p.options.Clock.Now()) {
			if n := len(sent.Attempts); n > 0 {
				last := sent.Attempts[n-1].Result
				tone := map[bool]string{true: "good", false: "bad"}[last.Succeeded()]
				return &pages.Notice{Tone: tone, Title: "Sent. Response: " + pages.AttemptText(last)}
			}
			break
		}
		select {
		case <-time.After(attemptPause):
		case <-c.Ctx().Done():
			return nil
		}
	}
	return &pages.Notice{Title: "Sent. No response yet.", Lines: []string{"Reload the page in a moment to see it."}}
}

func (p *Portal) sentPage(c *call, status int, n *pages.Notice) error {
	page, shown, err := p.oneEndpoint(c)
	if err != nil {
		return err
	}
	sent, err := p.Endpoints.Sent(c.Ctx(), c.Business(), shown.ID, domain.ID(c.Param("sent")))
	if err != nil {
		return err
	}
	v := sentView{Notice: n, Bench: ownPages(c),
		Application: string(page.App.ID), Endpoint: page.Endpoint, Row: rowOfSent(sent.WebhookDelivery),
		EventID:   string(sent.EventID),
		MayResend: page.MayResend && shown.Enabled}
	stamp := "(the time of each attempt)"
	for _, a := range slices.Backward(sent.Attempts) {
		row := attemptRow{Number: a.Number, ID: string(a.ID), Trigger: triggerTexts[a.Trigger], Result: pages.AttemptText(a.Result), Tone: "bad",
			Took: pages.Took(a.Result.Duration), Excerpt: a.Result.Excerpt, At: a.Result.StartedAt, Next: a.NextAt}
		if a.Result.Succeeded() {
			row.Tone = "good"
		}
		v.Attempts = append(v.Attempts, row)
	}
	number := "1"
	if len(v.Attempts) > 0 {
		stamp, number = strconv.FormatInt(v.Attempts[0].At.Unix(), 10), strconv.Itoa(v.Attempts[0].Number)
	}
	v.Headers = pages.Code{ID: "headers", Text: "POST " + v.Endpoint.URL + "\nContent-Type: application/json\n" +
		domain.HeaderWebhookID + ": " + v.EventID + "\n" + domain.HeaderWebhookTimestamp + ": " + stamp + "\n" +
		domain.HeaderWebhookSignature + ": v1,… (computed for each attempt and not kept)\n" + domain.HeaderWebhookAttempt + ": " + number}
	v.Body = pages.Code{ID: "body", Text: string(sent.Body)}
	if !namesRecipients(c) {
		v.Body.Text = "Your role cannot see the body, because it names the recipient."
		for i := range v.Attempts {
			v.Attempts[i].Excerpt = "" // programs may return what they were sent
		}
	}
	return p.Show(c, status, "webhook_sent", "Webhook "+v.Row.EventType, v)
}

func (p *Portal) resendWebhook(c *call) error {
	err := p.chargedAtEndpoint(c, func(ctx context.Context, endpoint domain.ID) error {
		return p.Endpoints.Resend(ctx, c.Actor(), endpoint, domain.ID(c.Param("sent")))
	})
	if n := hookRefusal(err); n != nil {
		return p.sentPage(c, pages.StatusOf(err), n)
	}
	if err != nil {
		return err
	}
	return c.Lead("/webhooks/" + c.Param("endpoint") + "/sent/" + c.Param("sent") + "?done=webhook-resent")
}
