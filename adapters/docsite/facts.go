package docsite

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/brand"
	"waybill/application/access"
	"waybill/domain"
)

// facts holds all that pages say about the program, read from the program itself.
type facts struct {
	Brand                     brand.Brand
	Root, Sandbox, Live       string
	Host, Site                string // public URL of the host, without and with Prefix
	Portal                    string // empty: there is none
	Codes                     []codePage
	Scenarios                 []scenarioRow
	Moves                     []moveRow
	Events                    []eventRow
	Scopes                    []scopeRow
	Limits                    []limitRow
	LiveWaits, SandboxWaits   []waitRow
	Vector                    vector
	Operations                int
	PageDefault, PageMost     int
	KeyLife                   string
	MostBulk, MostSimulations int
	BulksAtWork, BulksWaiting int
	BulkPatience              string
	StepDefault, StepMost     int
	RecoverableFor, WarnAfter string
	Forced                    []string // accepted values of X-Sandbox-Error
	Envelope                  string   // an error as an example
	LiveAttempts              int
	SandboxAttempts           int
	Mails                     []mailRow
	MailWaits, MailKept       string
	MailsAnHour, MailsADay    int
	InvitationsAnHour         int
	AskedADay                 int
	Outcomes                  []outcomeRow // of bulk moves
	DispatchLimits            []limitRow
	EventsKept, MovesKept     string
	limits
}

type scenarioRow struct {
	Name, Steps string
	Total       int
	CODOnly     bool
}

type moveRow struct {
	From   domain.Status
	Helper []domain.Status
}

type eventRow struct{ Type, Means string }

type scopeRow struct {
	Name, Allows string
	Calls        []string
}

type limitRow struct{ What, Most string }

// waitRow is one attempt after a failure.
type waitRow struct {
	Attempt     int
	Wait, InAll string
}

// Contact returns where a reader gets what only the company can give, as the end of a sentence in
// Markdown that begins "You get it".
func (f *facts) Contact() string {
	page, address := f.Brand.SupportURL, f.Brand.SupportEmail
	if page != "" {
		page = "on our [support page](" + page + ")"
	}
	if address != "" {
		address = "at [" + address + "](mailto:" + address + ")"
	}
	switch {
	case page != "" && address != "":
		return page + " or " + address
	case page != "" || address != "":
		return page + address
	}
	return "from the person who gave you the address of this site"
}

func newFacts(o Options, d *description, root string) *facts {
	host := strings.TrimSuffix(o.SandboxBaseURL, "/v1")
	return &facts{
		Brand: o.Brand,
		Root:  root, Sandbox: o.SandboxBaseURL, Live: o.LiveBaseURL, Host: host, Site: host + Prefix,
		Portal: o.PortalURL,
		Codes:  codePages(d), Scenarios: scenarioRows(), Moves: moveRows(), Events: eventRows(), Scopes: scopeRows(d),
		Limits: limitRows(o, d), LiveWaits: waitRows(o.Schedules[domain.Live]), SandboxWaits: waitRows(o.Schedules[domain.Sandbox]),
		Vector: d.vector, Operations: d.operations,
		PageDefault: d.limit.Default, PageMost: d.limit.Maximum, KeyLife: duration(o.IdempotencyRetention),
		MostBulk: domain.MaxBulkItems, MostSimulations: domain.MaxRunningSimulations,
		BulksAtWork: access.MaxBulks, BulksWaiting: access.MaxWaitingBulks, BulkPatience: duration(access.BulkPatience),
		StepDefault: domain.DefaultStepSeconds, StepMost: domain.MaxStepSeconds, RecoverableFor: duration(domain.RecoverableFor),
		WarnAfter: duration(domain.WarnAfter),
		Forced:    d.forced, Envelope: d.exampleOf(domain.CodeValidation), LiveAttempts: len(o.Schedules[domain.Live]) + 1,
		SandboxAttempts: len(o.Schedules[domain.Sandbox]) + 1, Mails: mailRows(), MailWaits: mailWaits(), MailKept: duration(domain.MailKept),
		MailsAnHour: domain.MailsAnHourToOne, MailsADay: domain.MailsADayOfBusiness, InvitationsAnHour: domain.InvitationsAnHour, AskedADay: domain.AskedADayToOne,
		Outcomes: outcomeRows(), DispatchLimits: dispatchLimits(d),
		EventsKept: duration(domain.RecoverableFor), MovesKept: duration(domain.MoveRunKept), limits: newLimits(o),
	}
}

func scenarioRows() []scenarioRow {
	rows := make([]scenarioRow, 0, len(domain.Scenarios()))
	for _, s := range domain.Scenarios() {
		var steps []string
		for _, step := range s.Steps() {
			text := "`" + string(step.To) + "`"
			if step.Reason != "" {
				text += " (" + string(step.Reason) + ")"
			}
			if step.Wait > 1 {
				text = fmt.Sprintf("after %d x `step_seconds` ", step.Wait) + text
			}
			steps = append(steps, text)
		}
		row := scenarioRow{Name: string(s), Steps: strings.Join(steps, ", "), Total: len(steps)}
		if len(steps) == 0 {
			row.Steps = "none; the transition helper moves it"
		}
		row.CODOnly = domain.Plan{Scenario: s}.Fits(domain.DeliveryOnly) != nil
		rows = append(rows, row)
	}
	return rows
}

// moveRows lists the transitions that the helper can make from each status.
func moveRows() []moveRow {
	rows := make([]moveRow, 0, len(domain.Statuses()))
	for _, from := range domain.Statuses() {
		row := moveRow{From: from}
		for _, t := range domain.Transitions() {
			for _, by := range t.By {
				if t.From == from && by == domain.ActorHelper {
					row.Helper = append(row.Helper, t.To)
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// eventMeanings explains each type of event.
var eventMeanings = map[domain.EventType]string{
	"delivery.created":    "It is booked; always the first, with `sequence` 1.",
	"delivery.assigned":   "A rider has it; after a failure, the next try.",
	"delivery.picked_up":  "The goods were collected. From here it cannot be cancelled.",
	"delivery.in_transit": "The rider is on the way to the recipient.",
	"delivery.delivered":  "The recipient has it. Nothing follows.",
	"delivery.failed": "A try ended without delivery, `reason_code` says why. The platform may try again; before pickup a cancel " +
		"prevents that.",
	"delivery.cancelled":         "It will not happen, `reason_code` says why. Nothing follows.",
	"delivery.outsourced":        "A partner courier takes it over.",
	domain.EventEndpointTest:     "You asked for a test. Only the endpoint that is tested gets it.",
	domain.EventEndpointDisabled: "We stopped sending to one of your other endpoints: its `id` and `host` say which.",
}

func eventRows() []eventRow {
	rows := make([]eventRow, 0, len(domain.EventTypes()))
	for _, t := range domain.EventTypes() {
		rows = append(rows, eventRow{string(t), eventMeanings[t]})
	}
	return rows
}

func scopeRows(d *description) []scopeRow {
	rows := make([]scopeRow, 0, len(domain.AllScopes()))
	for _, s := range domain.AllScopes() {
		rows = append(rows, scopeRow{string(s), d.scopes[string(s)], d.calls[string(s)]})
	}
	return rows
}

func limitRows(o Options, d *description) []limitRow {
	return []limitRow{
		{"Requests of one key", rate(o.PerKey)},
		{"Requests of one business, in each environment", rate(o.PerBusiness)},
		{"Failed authentications from one address; a valid key still works", rate(o.PerAddress)},
		{"Requests in flight of one application, in each environment", strconv.Itoa(access.MaxInFlight)},
		{"Lists, searches and pages of events among them", fmt.Sprintf("%d; the next one waits, for %s", access.MaxLists,
			duration(access.ListPatience))},
		{"Bulk creates in progress beside them", fmt.Sprintf("%d; %d more wait for their turn, each for up to %s", access.MaxBulks,
			access.MaxWaitingBulks, duration(access.BulkPatience))},
		{"Orders in one bulk create, which counts as one request", strconv.Itoa(domain.MaxBulkItems)},
		{"Rows on one page of a list", fmt.Sprintf("%d, and %d by default", d.limit.Maximum, d.limit.Default)},
		{"Running simulations of one application", strconv.Itoa(domain.MaxRunningSimulations)},
		{"Applications of one business", strconv.Itoa(domain.MaxApplications)},
		{"Usable keys of one application, in each environment", strconv.Itoa(domain.MaxUsableKeys)},
		{"Pickup locations of one business, in each environment", strconv.Itoa(domain.MaxPickupLocations)},
		{"Webhook endpoints of one application, in each environment", strconv.Itoa(domain.MaxWebhookEndpoints)},
		{"Addresses of one recipient", strconv.Itoa(domain.MaxAddressesPerRecipient)},
		{"How long an Idempotency-Key is remembered", duration(o.IdempotencyRetention)},
		{"How far back missed webhooks can be recovered", duration(domain.RecoverableFor)},
	}
}

func waitRows(s domain.RetrySchedule) []waitRow {
	rows := make([]waitRow, 0, len(s))
	var inAll time.Duration
	for i, wait := range s {
		inAll += wait
		rows = append(rows, waitRow{Attempt: i + 2, Wait: duration(wait), InAll: "about " + duration(inAll.Round(coarse(inAll)))})
	}
	return rows
}

// coarse returns the unit to which a duration is rounded, since jitter of a fifth makes more digits
// meaningless.
func coarse(d time.Duration) time.Duration {
	switch {
	case d >= time.Hour:
		return time.Hour
	case d >= 5*time.Minute:
		return time.Minute
	}
	return time.Second
}

func rate(l domain.RateLimit) string {
	return fmt.Sprintf("%d in %s", l.Limit, duration(l.Window))
}

// duration returns a time span in words, such as 3 hours or 2 min 35 s.
func duration(d time.Duration) string {
	unit := func(n time.Duration, one, many string) string {
		if n == 1 {
			return "1 " + one
		}
		return strconv.FormatInt(int64(n), 10) + " " + many
	}
	day := 24 * time.Hour
	switch {
	case d >= 2*day && d%day == 0:
		return unit(d/day, "day", "days")
	case d >= time.Hour && d%time.Hour == 0:
		return unit(d/time.Hour, "hour", "hours")
	case d >= time.Minute && d%time.Minute == 0:
		return unit(d/time.Minute, "minute", "minutes")
	case d > time.Minute && d%time.Second == 0:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d%time.Second == 0:
		return unit(d/time.Second, "second", "seconds")
	}
	return d.String()
}
