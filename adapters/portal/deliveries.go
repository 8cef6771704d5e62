package portal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/application/handling"
	"waybill/domain"
	"waybill/ports"
)

const deliveriesPage = 50

type deliveriesView struct {
	Notice      *pages.Notice
	Query       pages.Field
	Application pages.Field
	Environment pages.Field
	Status      pages.Field
	After       pages.Field
	Before      pages.Field
	Deliveries  []deliveryRow
	Searched    string // what was searched for; empty: nothing
	Filtered    bool
	Older       string // the next page; empty: there is none
	DocsURL     string
}

// deliveryRow is a line of the list. It names nobody: who may see a recipient's number
// finds it in the delivery.
type deliveryRow struct {
	ID, Reference, ExternalID, Environment, Status, Tone, To string
	Fee                                                      string
	CreatedAt                                                time.Time
}

// statusTones are the colours of those that are more than under way.
var statusTones = map[domain.Status]string{domain.Delivered: "good", domain.Failed: "bad", domain.Cancelled: "over"}

func rowOf(d *domain.Delivery) deliveryRow {
	return deliveryRow{
		ID: string(d.ID), Reference: string(d.Reference), ExternalID: d.ExternalID, Environment: string(d.Tenant.Environment),
		Status: spaced(string(d.Status())), Tone: statusTones[d.Status()],
		To:  cmp.Or(d.Dropoff.Municipality, d.Dropoff.Address),
		Fee: feeOf(d.Quote), CreatedAt: d.CreatedAt,
	}
}

// feeOf is what the delivery costs; empty: a price was to be agreed.
func feeOf(q domain.Quote) string {
	if q.Fee == nil {
		return ""
	}
	return amountOf(*q.Fee)
}

func amountOf(m domain.Money) string {
	return fmt.Sprintf("%d.%02d %s", m.Minor/100, m.Minor%100, m.Currency)
}

// distanceOf is how far the delivery goes.
func distanceOf(d domain.Distance) string {
	return fmt.Sprintf("%.2f km, %s", d.Kilometres, spaced(string(d.Source)))
}

// paymentOf is what the rider collects.
func paymentOf(p domain.Payment) string {
	if p.GoodsValue == nil {
		return string(p.Type)
	}
	return string(p.Type) + ", " + amountOf(*p.GoodsValue) + " to collect for the goods"
}

// spaced is a constant of the API as people read it.
func spaced(constant string) string { return strings.ReplaceAll(constant, "_", " ") }

func (p *Portal) listDeliveries(c *call) error {
	if text := strings.TrimSpace(c.Query("q")); text != "" {
		return p.searchDeliveries(c, text)
	}
	v, t, err := p.deliveriesForm(c)
	if err != nil {
		return err
	}
	if t.ApplicationID == "" {
		return p.show(c, http.StatusOK, "deliveries", "Deliveries", v)
	}
	f := domain.DeliveryFilter{NewestFirst: true, Status: domain.Status(c.Query("status"))}
	f.CreatedAfter, f.CreatedBefore = p.day(c, "created_after"), p.day(c, "created_before")
	page := domain.PageRequest{Limit: deliveriesPage}
	if at := c.Query("before"); at != "" {
		if page.After, err = p.behind(c, t, at); err != nil {
			return err
		}
	}
	v.Filtered = f.Status != "" || f.CreatedAfter != nil || f.CreatedBefore != nil || page.After != nil
	found, err := p.Handling.List(c.ctx(), t, f, page)
	if err != nil {
		return err
	}
	if len(found) > deliveriesPage {
		found = found[:deliveriesPage]
		older := c.Request.URL.Query()
		older.Set("before", string(found[deliveriesPage-1].ID))
		v.Older = "/deliveries?" + older.Encode()
	}
	for _, d := range found {
		v.Deliveries = append(v.Deliveries, rowOf(d))
	}
	return p.show(c, http.StatusOK, "deliveries", "Deliveries", v)
}

// behind is the place in the list behind a delivery.
func (p *Portal) behind(c *call, t domain.Tenant, text string) (*domain.Position, error) {
	id, err := domain.ParseID(domain.PrefixDelivery, text)
	if err != nil {
		return nil, err
	}
	d, err := p.Handling.Get(c.ctx(), c.business(), id)
	if err != nil {
		return nil, err
	}
	if d.Tenant != t {
		return nil, domain.ErrNotFound
	}
	return &domain.Position{CreatedAt: d.CreatedAt, ID: d.ID}, nil
}

// day is a parameter that names one, in UTC, from its beginning; nil: it names none.
func (p *Portal) day(c *call, name string) *time.Time {
	at, err := time.Parse(time.DateOnly, c.Query(name))
	if err != nil {
		return nil
	}
	return &at
}

// deliveriesForm is the form above the list as the address says, and whose deliveries it
// asks for: those in the sandbox, of the application that booked there last, where it says nothing.
func (p *Portal) deliveriesForm(c *call) (v deliveriesView, t domain.Tenant, err error) {
	v = deliveriesView{
		Notice: c.told(), DocsURL: p.options.DocsURL,
		Query: pages.Field{ID: "q", Name: "q", Type: "search", Label: "Find a delivery", Value: c.Query("q"),
			Hint: "Its ID, its reference or your external_id, in any application."},
		Application: pages.Field{ID: "application", Name: "application", Label: "Application"},
		Environment: pages.Field{ID: "environment", Name: "environment", Label: "Environment"},
		Status:      pages.Field{ID: "status", Name: "status", Label: "Status", Options: []pages.Option{{Text: "Any"}}},
		After:       pages.Field{ID: "created_after", Name: "created_after", Type: "date", Label: "From, UTC", Value: c.Query("created_after")},
		Before: pages.Field{ID: "created_before", Name: "created_before", Type: "date", Label: "Before, UTC",
			Value: c.Query("created_before")},
	}
	apps, err := p.Tenants.Applications(c.ctx(), c.business())
	if err != nil {
		return v, t, err
	}
	t = domain.Tenant{BusinessID: c.business(), ApplicationID: domain.ID(c.Query("application"))}
	environment, sound := cmp.Or(c.Query("environment"), string(domain.Sandbox)), false
	if t.Environment, sound = domain.ParseEnvironment(environment); !sound {
		return v, t, domain.ErrNotFound
	}
	if t.ApplicationID == "" {
		if t.ApplicationID, err = p.lastToBook(c, t, apps); err != nil {
			return v, t, err
		}
	}
	known := len(apps) == 0 && t.ApplicationID == ""
	for _, a := range apps {
		v.Application.Options = append(v.Application.Options, pages.Option{Value: string(a.ID), Text: a.Name, Chosen: a.ID == t.ApplicationID})
		known = known || a.ID == t.ApplicationID
	}
	for _, e := range []domain.Environment{domain.Sandbox, domain.Live} {
		v.Environment.Options = append(v.Environment.Options, pages.Option{Value: string(e), Text: string(e), Chosen: e == t.Environment})
	}
	status := domain.Status(c.Query("status"))
	known = known && (status == "" || slices.Contains(domain.Statuses(), status))
	for _, s := range domain.Statuses() {
		v.Status.Options = append(v.Status.Options, pages.Option{Value: string(s), Text: spaced(string(s)), Chosen: s == status})
	}
	if !known {
		return v, t, domain.ErrNotFound
	}
	return v, t, nil
}

// askedToBook is how many applications are asked for their last delivery.
const askedToBook = 20

// lastToBook is the application that booked last in the tenant's environment: the first one
// where none has booked there, empty where there is none.
func (p *Portal) lastToBook(c *call, t domain.Tenant, apps []domain.Application) (last domain.ID, err error) {
	var at time.Time
	for i, a := range apps[:min(len(apps), askedToBook)] {
		if i == 0 {
			last = a.ID
		}
		t.ApplicationID = a.ID
		found, err := p.Handling.List(c.ctx(), t, domain.DeliveryFilter{NewestFirst: true}, domain.PageRequest{Limit: 1})
		if err != nil {
			return "", err
		}
		if len(found) > 0 && found[0].CreatedAt.After(at) {
			last, at = a.ID, found[0].CreatedAt
		}
	}
	return last, nil
}

// searchDeliveries leads to the one delivery that is meant, or lists those that it may be.
func (p *Portal) searchDeliveries(c *call, text string) error {
	found, err := p.Handling.Search(c.ctx(), c.business(), text, deliveriesPage)
	if err != nil {
		return err
	}
	if len(found) == 1 {
		return c.lead("/deliveries/" + string(found[0].ID))
	}
	v, _, err := p.deliveriesForm(c)
	if err != nil {
		return err
	}
	v.Searched = text
	for _, d := range found {
		v.Deliveries = append(v.Deliveries, rowOf(d))
	}
	return p.show(c, http.StatusOK, "deliveries", "Deliveries", v)
}

type deliveryView struct {
	Notice            *pages.Notice
	Row               deliveryRow
	Delivery          *domain.Delivery
	App               domain.Application
	Steps             []step
	NoRequests        bool // the log does not answer
	Code              pages.Code
	Cancel            bool
	Moves             []move
	From              string
	Scenario, Seconds pages.Field
	Distance, Payment string
	Tracking          string             // the page for the recipient
	Simulating        *domain.Simulation // that moves it; nil: none
	Plays             string             // its scenario, in words
	MayStop           bool
}

// step is a line of the timeline.
type step struct {
	At                time.Time
	Kind, Title, Tone string
	Lines             []string
	ID, Href          string
	order             int // of those at one moment
}

// move is a status to which the delivery can be moved by hand.
type move struct{ To, Text string }

func (p *Portal) showDelivery(c *call) error { return p.deliveryPage(c, http.StatusOK, c.told()) }

func (p *Portal) deliveryPage(c *call, status int, n *pages.Notice) error {
	story, err := p.Handling.Story(c.ctx(), c.business(), domain.ID(c.Param("delivery")))
	if err != nil {
		return err
	}
	d := story.Delivery
	app, err := p.Tenants.ApplicationOf(c.ctx(), c.business(), d.Tenant.ApplicationID)
	if err != nil {
		return err
	}
	requests, answered, err := p.requestsOf(c, d)
	if err != nil {
		return err
	}
	v := deliveryView{
		Notice: n, Row: rowOf(d), Delivery: d, App: app, From: string(d.Status()), Steps: timeline(story, requests), NoRequests: !answered,
		Cancel: c.may(cancelAct(d.Tenant.Environment)) && cancellable(d),
		Code: pages.Code{ID: "call", Text: `curl -H "Authorization: Bearer $WAYBILL_API_KEY" ` + p.baseURL(d.Tenant.Environment) +
			"/deliveries/" + string(d.ID)},
	}
	v.Distance, v.Payment, v.Tracking = distanceOf(d.Quote.Distance), paymentOf(d.Payment), p.options.TrackingBaseURL+"/"+v.Row.Reference
	if c.may(domain.ActSimulate) {
		v.MayStop = d.Simulating()
		for _, to := range story.Next {
			if to != domain.Cancelled {
				v.Moves = append(v.Moves, move{To: string(to), Text: "Move to " + spaced(string(to))})
			}
		}
		if d.Simulated() && d.Status() == domain.Booked && !d.Simulating() {
			v.Scenario, v.Seconds = c.scenarioField(d), c.secondsField()
		}
	}
	if d.Simulating() {
		v.Simulating, v.Plays = d.Simulation(), spaced(string(d.Simulation().Scenario))
	}
	if len(c.errors) > 0 && v.Scenario.Name == "" { // there is no form to show them in
		v.Notice = &pages.Notice{Tone: "bad", Title: "Nothing was changed", Lines: append(slices.Sorted(maps.Values(c.errors)),
			"A simulation starts from booked, and no other one may run.")}
	}
	return p.show(c, status, "delivery", "Delivery "+string(d.Reference), v)
}

func (p *Portal) baseURL(e domain.Environment) string {
	if e == domain.Live {
		return p.options.LiveBaseURL
	}
	return p.options.SandboxBaseURL
}

// cancellable reports whether a cancellation would be taken now.
func cancellable(d *domain.Delivery) bool {
	return slices.Contains(d.Next(domain.ActorCaller), domain.Cancelled)
}

// cancelAct is what cancelling takes; a live one takes more.
func cancelAct(e domain.Environment) domain.Act {
	if e == domain.Live {
		return domain.ActCancelLiveDeliveries
	}
	return domain.ActSimulate
}

// requestsOf are the last calls about a delivery. Where the log does not answer soon the
// page has all the rest, and answered is false.
func (p *Portal) requestsOf(c *call, d *domain.Delivery) (requests []domain.RequestRecord, answered bool, err error) {
	ctx, cancel := context.WithTimeout(c.ctx(), logTimeout)
	defer cancel()
	requests, err = p.Requests.List(ctx, c.business(),
		domain.RequestFilter{DeliveryID: d.ID, CreatedAfter: new(d.CreatedAt.Add(-time.Minute))}, domain.PageRequest{Limit: requestsTold})
	if ports.StorageUnavailable(err) {
		return nil, false, nil
	}
	return requests[:min(len(requests), requestsTold)], true, err
}

// logTimeout is how long a page waits for the request log that has more to show.
const logTimeout = time.Second

// requestsTold is how many calls about a delivery its page shows: the last ones.
const requestsTold = 50

// timeline is everything that became of a delivery, in its order.
func timeline(s handling.Story, requests []domain.RequestRecord) (steps []step) {
	for _, r := range requests {
		shown := step{At: r.ID.MadeAt(), Kind: "request", Title: r.Route, ID: string(r.ID), Href: "/requests/" + string(r.ID), order: 0,
			Lines: []string{strconv.Itoa(r.Status) + " after " + took(r.Took)}}
		if r.Failed() {
			shown.Tone, shown.Lines[0] = "bad", strconv.Itoa(r.Status)+" "+r.Code
		}
		if r.Replayed {
			shown.Lines = append(shown.Lines, "the answer of before, by its Idempotency-Key")
		}
		steps = append(steps, shown)
	}
	for _, e := range s.Events {
		shown := step{At: e.OccurredAt, Kind: "event", Title: spaced(string(e.Status)), Tone: statusTones[e.Status], ID: string(e.ID), order: 1,
			Lines: []string{string(e.Type) + ", number " + strconv.Itoa(e.Sequence)}}
		if e.Reason != "" {
			shown.Lines = append(shown.Lines, "reason: "+spaced(string(e.Reason)))
		}
		steps = append(steps, shown)
	}
	for _, w := range s.Webhooks {
		steps = append(steps, webhookSteps(w)...)
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.order, b.order)) })
	return steps
}

// webhookSteps are the attempts of a webhook, or that none was made yet.
func webhookSteps(w handling.Webhook) (steps []step) {
	host := w.URL
	if u, err := url.Parse(w.URL); err == nil {
		host = u.Host
	}
	for _, a := range w.Attempts {
		shown := step{At: a.Result.StartedAt, Kind: "webhook", Title: string(w.EventType) + " sent to " + host, ID: string(a.ID), order: 2}
		switch {
		case a.Result.Succeeded():
			shown.Tone = "good"
			shown.Lines = []string{"answered " + strconv.Itoa(a.Result.StatusCode) + " after " + took(a.Result.Duration)}
		case a.Result.StatusCode != 0:
			shown.Tone, shown.Lines = "bad", []string{"answered " + strconv.Itoa(a.Result.StatusCode)}
		default:
			shown.Tone, shown.Lines = "bad", []string{"no answer: " + spaced(string(a.Result.Error))}
		}
		if a.NextAt != nil {
			shown.Lines = append(shown.Lines, "next try at "+a.NextAt.UTC().Format("15:04:05 UTC"))
		}
		steps = append(steps, shown)
	}
	if len(w.Attempts) == 0 {
		shown := step{At: w.CreatedAt, Kind: "webhook", Title: string(w.EventType) + " to " + host, Lines: []string{spaced(string(w.Status))},
			order: 2}
		steps = append(steps, shown)
	}
	return steps
}

func (c *call) scenarioField(d *domain.Delivery) pages.Field {
	f := pages.Field{ID: "scenario", Name: "scenario", Label: "Scenario"}
	for _, s := range domain.Scenarios() {
		if s != domain.ScenarioManual && (domain.Plan{Scenario: s}).Fits(d.Payment.Type) == nil {
			f.Options = append(f.Options, pages.Option{Value: string(s), Text: spaced(string(s))})
		}
	}
	return c.field(f)
}

func (c *call) secondsField() pages.Field {
	return c.field(pages.Field{Name: "step_seconds", Type: "number", Label: "Seconds between steps", Value: "2"})
}

// cancelDelivery asks once more what the role may do: the environment of the delivery is
// known only when it was found.
func (p *Portal) cancelDelivery(c *call) error {
	id := domain.ID(c.Param("delivery"))
	t, err := p.Handling.Tenant(c.ctx(), c.business(), id)
	if err != nil {
		return err
	}
	if err := c.principal.Allows(cancelAct(t.Environment), p.options.Clock.Now()); err != nil {
		return err
	}
	return p.changed(c, p.Handling.Cancel(c.ctx(), c.actor(), id), "delivery-cancelled")
}

func (p *Portal) askCancel(c *call) error {
	d, err := p.Handling.Get(c.ctx(), c.business(), domain.ID(c.Param("delivery")))
	if err != nil {
		return err
	}
	return p.show(c, http.StatusOK, "cancel", "Cancel a delivery", deliveryView{
		Row: rowOf(d), Delivery: d, Cancel: c.may(cancelAct(d.Tenant.Environment)) && cancellable(d),
	})
}

func (p *Portal) moveDelivery(c *call) error {
	err := p.Handling.Move(c.ctx(), c.actor(), domain.ID(c.Param("delivery")), domain.Status(c.form.Get("from")),
		domain.Status(c.form.Get("status")))
	return p.changed(c, err, "delivery-moved")
}

func (p *Portal) simulateDelivery(c *call) error {
	plan := domain.Plan{Scenario: domain.Scenario(c.form.Get("scenario"))}
	var fields []domain.FieldError
	if !slices.Contains(domain.Scenarios(), plan.Scenario) {
		fields = append(fields, domain.FieldError{Field: "scenario", Code: domain.FieldNotAllowed, Message: "Choose one of the list."})
	}
	var err error
	if plan.StepSeconds, err = strconv.Atoi(strings.TrimSpace(c.form.Get("step_seconds"))); err != nil || plan.StepSeconds < 1 ||
		plan.StepSeconds > domain.MaxStepSeconds {
		fields = append(fields, domain.FieldError{Field: "step_seconds", Code: domain.FieldOutOfRange, Message: "A whole number from 1 to " +
			strconv.Itoa(domain.MaxStepSeconds) + "."})
	}
	if len(fields) > 0 {
		c.wrong(domain.Invalid(fields...))
		return p.deliveryPage(c, http.StatusUnprocessableEntity, nil)
	}
	return p.changed(c, p.Handling.Simulate(c.ctx(), c.actor(), domain.ID(c.Param("delivery")), plan), "simulated")
}

func (p *Portal) stopSimulation(c *call) error {
	return p.changed(c, p.Handling.StopSimulation(c.ctx(), c.actor(), domain.ID(c.Param("delivery"))), "simulation-stopped")
}

// changed leads back to the delivery, or shows it with what stood in the way.
func (p *Portal) changed(c *call, err error, said string) error {
	var e *domain.Error
	if errors.As(err, &e) && (e.Kind == domain.KindConflict || e.Kind == domain.KindLimited || e.Kind == domain.KindInvalid) {
		return p.deliveryPage(c, statusOf(err), &pages.Notice{Tone: "bad", Title: "Nothing was changed", Lines: []string{e.Message}})
	}
	if err != nil {
		return err
	}
	return c.lead("/deliveries/" + c.Param("delivery") + "?done=" + said)
}
