package portal

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
)

type deliveryView struct {
	Notice            *pages.Notice
	Row               deliveryRow
	Delivery          *domain.Delivery
	App               domain.Application
	Steps             []pages.Step
	NoRequests        bool // the request log does not answer
	Code              pages.Code
	Cancel            bool
	Moves             []move
	From              string
	Scenario, Seconds pages.Field
	Distance, Payment string
	Tracking          string // the recipient's tracking page
	Simulating        *pages.Simulated
	MayStop           bool
}

// move is a status to which a person can move the delivery.
type move struct{ To, Text string }

func (p *Portal) showDelivery(c *call) error { return p.deliveryPage(c, http.StatusOK, c.Told()) }

func (p *Portal) deliveryPage(c *call, status int, n *pages.Notice) error {
	story, err := p.Handling.Story(c.Ctx(), c.Business(), domain.ID(c.Param("delivery")))
	if err != nil {
		return err
	}
	d := story.Delivery
	app, err := p.Tenants.ApplicationOf(c.Ctx(), c.Business(), d.Tenant.ApplicationID)
	if err != nil {
		return err
	}
	requests, answered, err := p.requestsOf(c, d)
	if err != nil {
		return err
	}
	v := deliveryView{
		Notice: n, Row: rowOf(d), Delivery: d, App: app, From: string(d.Status()), Steps: timeline(story, requests), NoRequests: !answered,
		Cancel: c.May(cancelAct(d.Tenant.Environment)) && cancellable(d),
		Code: pages.Code{ID: "call", Text: `curl -H "Authorization: Bearer $WAYBILL_API_KEY" ` + p.baseURL(d.Tenant.Environment) +
			"/deliveries/" + string(d.ID)},
	}
	v.Distance, v.Payment = pages.DistanceOf(d.Quote.Distance), pages.PaymentOf(d.Payment)
	v.Tracking = p.options.TrackingBaseURL + "/" + v.Row.Reference
	if c.May(domain.ActSimulate) {
		v.MayStop = d.Simulating()
		for _, to := range story.Next {
			if to != domain.Cancelled {
				v.Moves = append(v.Moves, move{To: string(to), Text: "Move to " + pages.Spaced(string(to))})
			}
		}
		if d.Simulated() && d.Status() == domain.Booked && !d.Simulating() {
			v.Scenario, v.Seconds = scenarioField(c, d), secondsField(c)
		}
	}
	v.Simulating = pages.NewSimulated(d)
	if len(c.Faults) > 0 && v.Scenario.Name == "" { // no form can show them
		v.Notice = &pages.Notice{Tone: "bad", Title: "Nothing was changed", Lines: append(slices.Sorted(maps.Values(c.Faults)),
			"A simulation starts from booked, and only one can run.")}
	}
	return p.Show(c, status, "delivery", "Delivery "+string(d.Reference), v)
}

func (p *Portal) baseURL(e domain.Environment) string {
	if e == domain.Live {
		return p.options.LiveBaseURL
	}
	return p.options.SandboxBaseURL
}

// cancellable reports whether the delivery can be cancelled now.
func cancellable(d *domain.Delivery) bool {
	return slices.Contains(d.Next(domain.ActorCaller), domain.Cancelled)
}

// cancelAct returns the act for cancelling. Live deliveries need a higher one.
func cancelAct(e domain.Environment) domain.Act {
	if e == domain.Live {
		return domain.ActCancelLiveDeliveries
	}
	return domain.ActSimulate
}

// requestsOf returns the last calls about a delivery. If the log does not answer in time, answered
// is false and the page shows the rest.
func (p *Portal) requestsOf(c *call, d *domain.Delivery) (requests []domain.RequestRecord, answered bool, err error) {
	ctx, cancel := context.WithTimeout(c.Ctx(), logTimeout)
	defer cancel()
	requests, err = p.Requests.List(ctx, c.Business(),
		domain.RequestFilter{DeliveryID: d.ID, CreatedAfter: new(d.CreatedAt.Add(-time.Minute))}, domain.PageRequest{Limit: requestsTold})
	if ports.StorageUnavailable(err) {
		return nil, false, nil
	}
	return requests[:min(len(requests), requestsTold)], true, err
}

// logTimeout limits how long a page with other content waits for the request log.
const logTimeout = time.Second

// requestsTold limits how many calls about a delivery its page shows.
const requestsTold = 50

// timeline returns the whole history of a delivery, in order.
func timeline(s deliveries.BusinessStory, requests []domain.RequestRecord) []pages.Step {
	return pages.Timeline{
		Events: s.Events, Webhooks: s.Webhooks, Requests: requests,
		By: func(e domain.Event) string {
			if who := changedBy(s.Changes, e.Status); who != "" {
				return "by " + who + " in the portal"
			}
			return ""
		},
		OfRequest: func(r domain.RequestRecord) string { return "/requests/" + string(r.ID) },
		OfWebhook: func(w deliveries.SentWebhook) string { return sentPath(w.EndpointID, w.ID) },
	}.Steps()
}

// changedBy returns the person who moved a delivery to a status in the portal; empty: nobody did.
func changedBy(changes []domain.AuditEntry, to domain.Status) string {
	for _, change := range changes {
		reached := domain.Status(change.Details["to"])
		switch change.Action {
		case domain.ActionDeliveryBook:
			reached = domain.Booked
		case domain.ActionDeliveryCancel:
			reached = domain.Cancelled
		}
		if change.Actor.Kind() == domain.ActorPerson && reached == to {
			return change.Actor.Name
		}
	}
	return ""
}

func scenarioField(c *call, d *domain.Delivery) pages.Field {
	f := pages.Field{ID: "scenario", Name: "scenario", Label: "Scenario"}
	for _, s := range domain.Scenarios() {
		if s != domain.ScenarioManual && (domain.Plan{Scenario: s}).Fits(d.Payment.Type) == nil {
			f.Options = append(f.Options, pages.Option{Value: string(s), Text: pages.Spaced(string(s))})
		}
	}
	return c.Field(f)
}

func secondsField(c *call) pages.Field {
	return c.Field(pages.Field{Name: "step_seconds", Type: "number", Label: "Seconds between steps", Value: "2"})
}

// cancelDelivery checks the role again, because the delivery's environment is only known once it is
// found.
func (p *Portal) cancelDelivery(c *call) error {
	id := domain.ID(c.Param("delivery"))
	t, err := p.Handling.Tenant(c.Ctx(), c.Business(), id)
	if err != nil {
		return err
	}
	if err := c.Principal.Allows(cancelAct(t.Environment), p.options.Clock.Now()); err != nil {
		return err
	}
	err = p.charged(c, t.Environment, func(ctx context.Context) error { return p.Handling.Cancel(ctx, c.Actor(), id) })
	return p.changed(c, err, "delivery-cancelled")
}

func (p *Portal) askCancel(c *call) error {
	d, err := p.Handling.Get(c.Ctx(), c.Business(), domain.ID(c.Param("delivery")))
	if err != nil {
		return err
	}
	return p.Show(c, http.StatusOK, "cancel", "Cancel a delivery", deliveryView{
		Row: rowOf(d), Delivery: d, Cancel: c.May(cancelAct(d.Tenant.Environment)) && cancellable(d),
	})
}

func (p *Portal) moveDelivery(c *call) error {
	err := p.charged(c, domain.Sandbox, func(ctx context.Context) error {
		return p.Handling.Move(ctx, c.Actor(), domain.ID(c.Param("delivery")), domain.Status(c.Form.Get("from")),
			domain.Status(c.Form.Get("status")))
	})
	return p.changed(c, err, "delivery-moved")
}

func (p *Portal) simulateDelivery(c *call) error {
	plan := domain.Plan{Scenario: domain.Scenario(c.Form.Get("scenario"))}
	var fields []domain.FieldError
	if !slices.Contains(domain.Scenarios(), plan.Scenario) {
		fields = append(fields, domain.FieldError{Field: "scenario", Code: domain.FieldNotAllowed, Message: "Choose one from the list."})
	}
	var err error
	if plan.StepSeconds, err = strconv.Atoi(strings.TrimSpace(c.Form.Get("step_seconds"))); err != nil || plan.StepSeconds < 1 ||
		plan.StepSeconds > domain.MaxStepSeconds {
		fields = append(fields, domain.FieldError{Field: "step_seconds", Code: domain.FieldOutOfRange, Message: "A whole number from 1 to " +
			strconv.Itoa(domain.MaxStepSeconds) + "."})
	}
	if len(fields) > 0 {
		c.Wrong(domain.Invalid(fields...))
		if c.Form.Get(fromSandbox) != "" {
			return p.sandboxPage(c, http.StatusUnprocessableEntity, nil)
		}
		return p.deliveryPage(c, http.StatusUnprocessableEntity, nil)
	}
	err = p.charged(c, domain.Sandbox, func(ctx context.Context) error {
		return p.Handling.Simulate(ctx, c.Actor(), domain.ID(c.Param("delivery")), plan)
	})
	return p.changed(c, err, "simulated")
}

func (p *Portal) stopSimulation(c *call) error {
	err := p.charged(c, domain.Sandbox, func(ctx context.Context) error {
		return p.Handling.StopSimulation(ctx, c.Actor(), domain.ID(c.Param("delivery")))
	})
	return p.changed(c, err, "simulation-stopped")
}

// changed returns to the delivery, or shows it with the reason why nothing changed.
func (p *Portal) changed(c *call, err error, said string) error {
	if c.Form.Get(fromSandbox) != "" {
		return p.changedInSandbox(c, err, said)
	}
	var e *domain.Error
	if errors.As(err, &e) && (e.Kind == domain.KindConflict || e.Kind == domain.KindLimited || e.Kind == domain.KindInvalid) {
		return p.deliveryPage(c, pages.StatusOf(err), &pages.Notice{Tone: "bad", Title: "Nothing was changed", Lines: []string{e.Message}})
	}
	if err != nil {
		return err
	}
	return c.Lead("/deliveries/" + c.Param("delivery") + "?done=" + said)
}
