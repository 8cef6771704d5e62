package console

import (
	"errors"
	"net/http"
	"time"

	"waybill/adapters/pages"
	"waybill/application/webhooks"
	"waybill/domain"
)

// hookSent limits the webhooks on an endpoint's page. It shows the newest.
const hookSent = 50

type hookView struct {
	Notice   *pages.Notice
	Row      hookRow
	Enabled  bool
	May      bool
	Reason   pages.Field        // why staff pause it
	Paused   *domain.AuditEntry // of the person who paused it; nil: nobody, or not known
	Events   []string
	Sent     []hookSentRow
	Attempts []hookAttempt // of the webhook in the address
	Of       string
}

type hookSentRow struct {
	ID, Event, Status, Tone, Href, Resend string
	Delivery                              string
	Tries                                 int
	CreatedAt                             time.Time
	NextAt                                *time.Time
}

type hookAttempt struct {
	Number int
	Said   string
	At     time.Time
	NextAt *time.Time
}

var hookStatuses = map[domain.WebhookStatus][2]string{
	domain.WebhookPending: {"pending", ""}, domain.WebhookSucceeded: {"succeeded", "good"}, domain.WebhookFailed: {"failed", "bad"},
	domain.WebhookHeld: {"held", "over"},
}

func (p *Console) showHook(c *call) error { return p.hookPage(c, http.StatusOK, c.Told()) }

func (p *Console) hookPage(c *call, status int, n *pages.Notice) error {
	e, err := p.Machinery.Endpoint(c.Ctx(), domain.ID(c.Param("endpoint")))
	if err != nil {
		return err
	}
	found, err := p.Machinery.Endpoints(c.Ctx(), domain.EndpointFilter{ApplicationID: e.Tenant.ApplicationID,
		Environment: e.Tenant.Environment}, nil, domain.MaxWebhookEndpoints)
	if err != nil {
		return err
	}
	v := hookView{Notice: n, May: c.May(domain.ActRepairQueues), Enabled: e.Enabled, Events: e.EventTypes,
		Reason: c.Field(pages.Field{Name: "reason", Label: "Reason for the pause", Hint: "The customer sees it in the portal.", Required: true,
			MaxLength: domain.PauseReasonRule.Most})}
	switch paused, err := p.Endpoints.PausedBy(c.Ctx(), e); {
	case err == nil:
		v.Paused = &paused
	case !errors.Is(err, domain.ErrNotFound):
		return err
	}
	for _, shown := range found {
		if shown.ID == e.ID {
			v.Row = p.hookRow(c, shown)
		}
	}
	business := e.Tenant.BusinessID
	sent, err := p.Endpoints.Deliveries(c.Ctx(), business, e.ID, domain.WebhookDeliveryFilter{}, domain.PageRequest{Limit: hookSent})
	if err != nil {
		return err
	}
	for _, d := range sent[:min(len(sent), hookSent)] {
		of := hookStatuses[d.Status]
		v.Sent = append(v.Sent, hookSentRow{ID: string(d.ID), Event: string(d.EventType), Status: of[0], Tone: of[1],
			Href:   v.Row.Href + "?sent=" + string(d.ID) + "#attempts",
			Resend: v.Row.Href + "/sent/" + string(d.ID) + "/resend", Delivery: string(d.DeliveryID), Tries: d.Attempts,
			CreatedAt: d.CreatedAt, NextAt: d.DueAt})
	}
	if id, err := domain.ParseID(domain.PrefixWebhookDelivery, c.Query("sent")); err == nil {
		one, err := p.Endpoints.Sent(c.Ctx(), business, e.ID, id)
		if err != nil {
			return err
		}
		v.Of = string(id)
		for _, a := range one.Attempts {
			v.Attempts = append(v.Attempts, hookAttempt{a.Number, pages.AttemptText(a.Result), a.Result.StartedAt, a.NextAt})
		}
	}
	return p.Show(c, status, "webhook", "Webhook endpoint "+e.Host(), v)
}

func (p *Console) pauseHook(c *call) error {
	err := p.Endpoints.Pause(c.Ctx(), c.Actor(), domain.ID(c.Param("endpoint")), c.Form.Get("reason"))
	if c.Wrong(err) {
		return p.hookPage(c, http.StatusUnprocessableEntity, nil)
	}
	return p.hookChanged(c, err, "hook-paused")
}

func (p *Console) resumeHook(c *call) error {
	err := p.Endpoints.Change(c.Ctx(), c.Actor(), domain.ID(c.Param("endpoint")), domain.WebhookEndpointChange{Enabled: new(true)})
	return p.hookChanged(c, err, "hook-resumed")
}

func (p *Console) resendHook(c *call) error {
	return p.hookChanged(c, p.Endpoints.Resend(c.Ctx(), c.Actor(), domain.ID(c.Param("endpoint")), domain.ID(c.Param("sent"))), "hook-resent")
}

// hookChanged returns to the endpoint, or shows it with the reason why nothing changed.
func (p *Console) hookChanged(c *call, err error, said string) error {
	if e, refused := errors.AsType[*domain.Error](err); refused && e.Kind == domain.KindConflict {
		return p.hookPage(c, http.StatusConflict, &pages.Notice{Tone: "warn", Title: "Nothing was changed",
			Lines: []string{pages.MessageOf(err)}})
	}
	if err != nil {
		return err
	}
	return c.Lead("/webhooks/" + c.Param("endpoint") + "?done=" + said)
}

// recovery returns the data of a recovery of the endpoint in the address.
func (p *Console) recovery(c *call) (pages.Recovery, error) {
	e, err := p.Machinery.Endpoint(c.Ctx(), domain.ID(c.Param("endpoint")))
	return pages.Recovery{Endpoints: p.Endpoints, Endpoint: e, Href: c.At("/webhooks/" + string(e.ID)), List: c.At("/webhooks"),
		May: c.May(domain.ActRepairQueues), Now: p.options.Clock.Now()}, err
}

func (p *Console) askRecoverHook(c *call) error {
	r, err := p.recovery(c)
	if err != nil {
		return err
	}
	return p.RecoverPage(c, r, http.StatusOK, c.Told())
}

// recoverHook resends as many webhooks as the form showed, or nothing.
func (p *Console) recoverHook(c *call) error {
	r, err := p.recovery(c)
	if err != nil {
		return err
	}
	span, count, answered, err := p.RecoverAsked(c, r)
	if answered {
		return err
	}
	var queued webhooks.Recovered
	if err == nil {
		queued, err = p.Endpoints.Recover(c.Ctx(), c.Actor(), r.Endpoint.ID, span, count)
	}
	if e, refused := errors.AsType[*domain.Error](err); refused && (e.Kind == domain.KindConflict || e.Kind == domain.KindInvalid) {
		return p.RecoverPage(c, r, pages.StatusOf(err), &pages.Notice{Tone: "bad", Title: "Nothing was sent",
			Lines: []string{pages.MessageOf(err)}})
	}
	if err != nil {
		return err
	}
	p.Flash(c, "webhooks-recovered", queued.Queued)
	return c.Lead("/webhooks/" + string(r.Endpoint.ID) + "/recover?done=webhooks-recovered")
}
