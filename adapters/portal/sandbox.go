package portal

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"waybill/adapters/pages"
	"waybill/domain"
)

// fromSandbox names a form field. It marks forms of the sandbox page whose paths belong to a
// delivery, so that they return to the sandbox.
const fromSandbox = "sandbox"

type sandboxView struct {
	Notice     *pages.Notice
	App        domain.Application
	MayAct     bool
	Book       *bookView
	Chosen     *chosenView // the delivery in the address; nil: none
	Last       []deliveryRow
	Did        *pages.Code // the last act, as an API call
	DidBook    bool        // the act was a booking, which the call would repeat
	Machine    machineView
	Scenarios  []scenarioView
	Forced     *forcedView
	BookOpen   bool // the form was sent, so it is not folded
	ForcedOpen bool
	Inbox      inboxView
	DocsURL    string
}

// chosenView holds a sandbox delivery and the possible acts.
type chosenView struct {
	Row               deliveryRow
	From              string
	Moves             []callMove
	Scenario, Seconds pages.Field
	Start             *pages.Code
	Simulating        *pages.Simulated
	Stop              *pages.Code
}

// callMove is a manual step and the call that makes it.
type callMove struct {
	To, Text string
	Code     pages.Code
}

// scenarioView is a line of the list of scenarios.
type scenarioView struct{ Name, Steps, Only string }

type forcedView struct {
	Code    pages.Field
	Samples []sample
	Page    string // the documentation of the code
}

func (p *Portal) showSandbox(c *call) error { return p.sandboxPage(c, http.StatusOK, c.Told()) }

// sandboxPage shows the sandbox of an application, and a delivery if one is chosen.
func (p *Portal) sandboxPage(c *call, status int, n *pages.Notice) error {
	v := sandboxView{BookOpen: c.Form.Has("once"), ForcedOpen: c.Query("error") != "", Notice: n, MayAct: c.May(domain.ActSimulate), DocsURL: p.options.DocsURL}
	chosen, err := p.chosenDelivery(c)
	if err != nil {
		return err
	}
	apps, err := p.Tenants.Applications(c.Ctx(), c.Business())
	if err != nil {
		return err
	}
	t, err := p.sandboxOf(c, apps, chosen)
	if err != nil {
		return err
	}
	if t.ApplicationID == "" {
		return p.Show(c, status, "sandbox", "Sandbox", v)
	}
	for _, a := range apps {
		if a.ID == t.ApplicationID {
			v.App = a
		}
	}
	if err := p.addCard(c, t, chosen, &v); err != nil {
		return err
	}
	if v.DidBook = c.Query("done") == "booked"; chosen != nil {
		if v.Did, err = p.didCall(c, chosen); err != nil {
			return err
		}
	}
	if v.MayAct {
		if v.Book, err = p.bookForm(c, t); err != nil {
			return err
		}
	}
	if v.Forced, err = p.forcedView(c); err != nil {
		return err
	}
	v.Inbox, err = p.inboxOf(c, t, sandboxPath(t.ApplicationID, chosen)+"#inbox")
	if err != nil {
		return err
	}
	c.Widen()
	return p.Show(c, status, "sandbox", "Sandbox", v)
}

// addCard adds the data of the delivery card.
func (p *Portal) addCard(c *call, t domain.Tenant, chosen *domain.Delivery, v *sandboxView) (err error) {
	if v.Last, err = p.lastSamples(c, t, chosen); err != nil {
		return err
	}
	next := []domain.Status{}
	var now domain.Status
	if chosen != nil {
		now = chosen.Status()
		if chosen.Simulated() && !chosen.Simulating() {
			next = chosen.Next(domain.ActorHelper)
		}
		if v.Chosen, err = p.chosenView(c, chosen, next); err != nil {
			return err
		}
	}
	v.Machine = drawMachine(now, next)
	for _, s := range domain.Scenarios() {
		v.Scenarios = append(v.Scenarios, newScenarioView(s))
	}
	return nil
}

// showSandboxCard sends only the delivery card. A script replaces the card of the page with it when
// a webhook says that the delivery has moved.
func (p *Portal) showSandboxCard(c *call) error {
	chosen, err := p.chosenDelivery(c)
	if err != nil {
		return err
	}
	if chosen == nil {
		return c.Lead("/sandbox")
	}
	v := sandboxView{MayAct: c.May(domain.ActSimulate)}
	if err := p.addCard(c, chosen.Tenant, chosen, &v); err != nil {
		return err
	}
	return p.ShowPart(c, "sandbox", "machine", v)
}

// chosenDelivery returns the delivery in the address; nil: there is none. It refuses live
// deliveries.
func (p *Portal) chosenDelivery(c *call) (*domain.Delivery, error) {
	text := c.Query("delivery")
	if c.Param("delivery") != "" {
		text = c.Param("delivery")
	}
	if text == "" {
		return nil, nil
	}
	id, err := domain.ParseID(domain.PrefixDelivery, text)
	if err != nil {
		return nil, err
	}
	d, err := p.Handling.Get(c.Ctx(), c.Business(), id)
	if err == nil && d.Tenant.Environment != domain.Sandbox {
		return nil, domain.ErrNotFound
	}
	return d, err
}

// sandboxOf returns the tenant of the page. Its application is that of the delivery, or the one in
// the form or address, or the one that booked last.
func (p *Portal) sandboxOf(c *call, apps []domain.Application, chosen *domain.Delivery) (domain.Tenant, error) {
	t := domain.Tenant{BusinessID: c.Business(), Environment: domain.Sandbox, ApplicationID: domain.ID(c.Query("application"))}
	if asked := c.Form.Get("application"); asked != "" {
		t.ApplicationID = domain.ID(asked)
	}
	if chosen != nil {
		return chosen.Tenant, nil
	}
	if t.ApplicationID == "" {
		choice, err := p.shown(c)
		if err != nil {
			return t, err
		}
		t.ApplicationID = choice.Application
	}
	if t.ApplicationID == "" { // all
		last, err := p.lastToBook(c, t, apps)
		t.ApplicationID = last
		return t, err
	}
	if !slices.ContainsFunc(apps, func(a domain.Application) bool { return a.ID == t.ApplicationID }) {
		return t, domain.ErrNotFound
	}
	return t, nil
}

// sandboxPath returns the address of an application's sandbox, or of a delivery in it.
func sandboxPath(app domain.ID, chosen *domain.Delivery) string {
	q := url.Values{"application": {string(app)}}
	if chosen != nil {
		q.Set("delivery", string(chosen.ID))
	}
	return "/sandbox?" + q.Encode()
}

// samplesShown limits the deliveries to choose from.
const samplesShown = 5

func (p *Portal) lastSamples(c *call, t domain.Tenant, chosen *domain.Delivery) (rows []deliveryRow, err error) {
	found, err := p.Handling.List(c.Ctx(), t, domain.DeliveryFilter{NewestFirst: true}, domain.PageRequest{Limit: samplesShown})
	for _, d := range found[:min(len(found), samplesShown)] {
		if chosen == nil || d.ID != chosen.ID {
			rows = append(rows, rowOf(d))
		}
	}
	return rows, err
}

func (p *Portal) chosenView(c *call, d *domain.Delivery, next []domain.Status) (*chosenView, error) {
	v := &chosenView{Row: rowOf(d), From: string(d.Status())}
	if d.Simulating() {
		v.Simulating = pages.NewSimulated(d)
		v.Stop = &pages.Code{ID: "call-stop", Text: p.helperCall("DELETE", d, "simulation").curl()}
	}
	for _, to := range next {
		call, err := p.moveCall(d, to)
		if err != nil {
			return nil, err
		}
		v.Moves = append(v.Moves, callMove{To: string(to), Text: "Move to " + pages.Spaced(string(to)),
			Code: pages.Code{ID: "call-" + string(to), Text: call.curl()}})
	}
	if d.Simulated() && d.Status() == domain.Booked && !d.Simulating() {
		v.Scenario, v.Seconds = scenarioField(c, d), secondsField(c)
		call, err := p.simulateCall(d, domain.Plan{Scenario: domain.ScenarioDelivered, StepSeconds: 2})
		if err != nil {
			return nil, err
		}
		v.Start = &pages.Code{ID: "call-simulate", Text: call.curl()}
	}
	return v, nil
}

// helperCall returns a call of the test helpers, which move a delivery.
func (p *Portal) helperCall(method string, d *domain.Delivery, what string) apiCall {
	return apiCall{Method: method, URL: p.options.SandboxBaseURL + "/test-helpers/deliveries/" + string(d.ID) + "/" + what}
}

func (p *Portal) moveCall(d *domain.Delivery, to domain.Status) (apiCall, error) {
	if to == domain.Cancelled {
		return apiCall{Method: "POST", URL: p.options.SandboxBaseURL + "/deliveries/" + string(d.ID) + "/cancel"}, nil
	}
	return p.helperCall("POST", d, "transition").withBody(struct {
		Status domain.Status `json:"status"`
	}{to})
}

func (p *Portal) simulateCall(d *domain.Delivery, plan domain.Plan) (apiCall, error) {
	return p.helperCall("POST", d, "simulation").withBody(planBody{Scenario: string(plan.Scenario), StepSeconds: plan.StepSeconds})
}

// didCall returns the API call of the last act, which the address names; nil: there is none.
func (p *Portal) didCall(c *call, d *domain.Delivery) (*pages.Code, error) {
	var did apiCall
	var err error
	switch c.Query("done") {
	case "booked":
		body, failed := p.bodyLike(c, d)
		if failed != nil {
			return nil, failed
		}
		did, err = p.bookCall("sample-"+string(d.ID), body)
	case "delivery-moved":
		did, err = p.moveCall(d, d.Status())
	case "simulated":
		if d.Simulation() == nil {
			return nil, nil
		}
		did, err = p.simulateCall(d, domain.Plan{Scenario: d.Simulation().Scenario, StepSeconds: d.Simulation().StepSeconds})
	case "simulation-stopped":
		did = p.helperCall("DELETE", d, "simulation")
	default:
		return nil, nil
	}
	return &pages.Code{ID: "did", Text: did.curl()}, err
}

func newScenarioView(s domain.Scenario) scenarioView {
	v := scenarioView{Name: pages.Spaced(string(s))}
	for i, step := range s.Steps() {
		if i > 0 {
			v.Steps += ", "
		}
		v.Steps += pages.Spaced(string(step.To))
		if step.Reason != "" {
			v.Steps += " (" + pages.Spaced(string(step.Reason)) + ")"
		}
	}
	if v.Steps == "" {
		v.Steps = "none, you move it"
	}
	if (domain.Plan{Scenario: s}).Fits(domain.DeliveryOnly) != nil {
		v.Only = "cash on delivery only"
	}
	return v
}

func (p *Portal) forcedView(c *call) (*forcedView, error) {
	v := &forcedView{Code: pages.Field{ID: "error", Name: "error", Label: "Error"}}
	chosen := c.Query("error")
	if !slices.Contains(p.options.ForcedErrors, chosen) && len(p.options.ForcedErrors) > 0 {
		chosen = p.options.ForcedErrors[0]
	}
	for _, code := range p.options.ForcedErrors {
		v.Code.Options = append(v.Code.Options, pages.Option{Value: code, Text: code, Chosen: code == chosen})
	}
	if p.options.DocsURL != "" {
		v.Page = p.options.DocsURL + "/errors/" + chosen
	}
	of := apiCall{Method: "GET", URL: p.options.SandboxBaseURL + "/deliveries?limit=1"}
	if chosen == domain.CodeIdempotencyInProgress || chosen == domain.CodeQuoteUnavailable { // not from a list
		var err error
		if of, err = p.bookCall("forced-1", bodyFrom(defaults)); err != nil {
			return nil, domain.Internal(err)
		}
	}
	of.Headers = append(of.Headers, [2]string{"X-Sandbox-Error", chosen})
	v.Samples = of.samples("forced")
	return v, nil
}

// changedInSandbox does what changed does, for the forms of the sandbox.
func (p *Portal) changedInSandbox(c *call, err error, said string) error {
	var e *domain.Error
	if errors.As(err, &e) && slices.Contains([]domain.Kind{domain.KindConflict, domain.KindLimited, domain.KindInvalid}, e.Kind) {
		return p.sandboxPage(c, pages.StatusOf(err), &pages.Notice{Tone: "bad", Title: "Nothing was changed", Lines: []string{e.Message}})
	}
	if err != nil {
		return err
	}
	return c.Lead("/sandbox?delivery=" + c.Param("delivery") + "&done=" + said + "#machine")
}

// stepSeconds parses the field of the form.
func stepSeconds(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0 // the API's own rule refuses it
	}
	return n
}
