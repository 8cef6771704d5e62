package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

// hooksPage sets the page size of the endpoint list.
const hooksPage = 25

type hooksView struct {
	Notice    *pages.Notice
	Pausing   string // text of the button that leads to the emergency switch; empty: not allowed
	Filters   *pages.Filters
	Endpoints []hookRow
	Known     bool // the list could be read
	Filtered  bool
	Older     string
	Newest    string
}

// pausingView holds the emergency switch for all customers.
type pausingView struct {
	Notice  *pages.Notice
	Sending []sendingView
	Unknown bool // whether sending is paused is unknown
	May     bool
}

// sendingView says whether webhooks of an environment are sent.
type sendingView struct {
	Environment string
	Paused      *domain.SendingPause
	Reason      pages.Field
}

type hookRow struct {
	ID, Href, URL, Business, Application, Environment string
	Tag, Tone, Why, Waiting, Last                     string
	Since, Oldest, LastAt                             time.Time
	BusinessID                                        string
}

// standings maps states of endpoints to texts and tones.
var standings = map[domain.EndpointStanding][2]string{
	domain.StandingFailing: {"Failing", "bad"}, domain.StandingBehind: {"Delayed", "bad"}, domain.StandingDisabled: {"Disabled", "bad"},
	domain.StandingPaused: {"Paused", "over"}, domain.StandingWell: {"Healthy", "good"},
}

func (p *Console) showPausing(c *call) error { return p.pausingPage(c, http.StatusOK, c.Told()) }

func (p *Console) pausingPage(c *call, status int, n *pages.Notice) error {
	v := pausingView{Notice: n, May: c.May(domain.ActRepairQueues)}
	pauses, err := p.Machinery.Pauses(c.Ctx())
	v.Unknown = err != nil
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		s := sendingView{Environment: string(e), Reason: pages.Field{ID: "reason-" + string(e), Name: "reason",
			Label: "Reason for the pause", Hint: "All staff see it.", Required: true, MaxLength: domain.PauseReasonRule.Most}}
		if at := slices.IndexFunc(pauses, func(p domain.SendingPause) bool { return p.Environment == e }); at >= 0 {
			s.Paused = &pauses[at]
		}
		if c.Form.Get("environment") == string(e) {
			s.Reason = c.Field(s.Reason)
		}
		v.Sending = append(v.Sending, s)
	}
	return p.Show(c, status, "webhooks_pause", "Pause sending", v)
}

func (p *Console) listHooks(c *call) error {
	v := hooksView{Notice: c.Told(), Known: true}
	if c.May(domain.ActRepairQueues) {
		v.Pausing = "Pause sending"
		if pauses, err := p.Machinery.Pauses(c.Ctx()); err == nil && len(pauses) > 0 {
			v.Pausing = "Resume sending"
		}
	}
	f, place, values := hookFilter(c)
	v.Filters, v.Filtered = p.hookFilters(c, f, values), len(values) > 0
	c.Widen()
	found, err := p.Machinery.Endpoints(c.Ctx(), f, place, hooksPage)
	if err != nil {
		v.Known = false
	}
	if place != nil {
		v.Newest = c.At("/webhooks") + encoded(values)
	}
	if len(found) > hooksPage {
		found = found[:hooksPage]
		last := found[hooksPage-1]
		values.Set("after", string(last.Standing)+"."+string(last.ID))
		v.Older = c.At("/webhooks") + encoded(values)
	}
	for _, e := range found {
		v.Endpoints = append(v.Endpoints, p.hookRow(c, e))
	}
	return p.Show(c, http.StatusOK, "webhooks", "Webhooks", v)
}

func encoded(values url.Values) string {
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// hookFilter reads the filter and position from the address. values holds the filters that are set.
func hookFilter(c *call) (f domain.EndpointFilter, place *domain.EndpointPlace, values url.Values) {
	values = url.Values{}
	for _, name := range []string{"standing", "environment", "business", "application", "q"} {
		if value := strings.TrimSpace(c.Query(name)); value != "" && len(value) <= domain.NameRule.Most {
			values.Set(name, value)
		}
	}
	f.BusinessID, f.ApplicationID, f.Host = domain.ID(values.Get("business")), domain.ID(values.Get("application")), values.Get("q")
	f.Environment, _ = domain.ParseEnvironment(values.Get("environment"))
	switch standing := domain.EndpointStanding(values.Get("standing")); {
	case standing == "unwell":
		f.Unwell = true
	case slices.Contains(domain.EndpointStandings(), standing):
		f.Standing = standing
	}
	standing, text, _ := strings.Cut(c.Query("after"), ".")
	if id, err := domain.ParseID(domain.PrefixWebhookEndpoint, text); err == nil &&
		slices.Contains(domain.EndpointStandings(), domain.EndpointStanding(standing)) {
		place = &domain.EndpointPlace{Standing: domain.EndpointStanding(standing), ID: id}
	}
	return f, place, values
}

func (p *Console) hookFilters(c *call, f domain.EndpointFilter, values url.Values) *pages.Filters {
	standing := pages.Field{ID: "standing", Name: "standing", Label: "State", Options: []pages.Option{
		{Value: "", Text: "All states"}, {Value: "unwell", Text: "Failing, delayed or disabled", Chosen: f.Unwell}}}
	for _, s := range domain.EndpointStandings() {
		standing.Options = append(standing.Options, pages.Option{Value: string(s), Text: standings[s][0], Chosen: s == f.Standing})
	}
	environment := pages.Field{ID: "environment", Name: "environment", Label: "Environment", Options: []pages.Option{{Text: "Both"}}}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		environment.Options = append(environment.Options, pages.Option{Value: string(e), Text: string(e), Chosen: e == f.Environment})
	}
	search := &pages.Field{ID: "q", Name: "q", Label: "Part of the host name", Value: f.Host}
	return pages.NewFilters(c.At("/webhooks"), values, search, []pages.Field{standing, environment,
		p.customerField(c, pages.Field{Name: "business", Value: string(f.BusinessID)}),
		{ID: "application", Name: "application", Label: "Application ID"}})
}

func (p *Console) hookRow(c *call, e domain.EndpointShown) hookRow {
	row := hookRow{ID: string(e.ID), Href: c.At("/webhooks/" + string(e.ID)), URL: pages.ShownURL(e.URL),
		Business: e.Business, BusinessID: string(e.Tenant.BusinessID), Application: e.Application,
		Environment: string(e.Tenant.Environment), Tag: standings[e.Standing][0], Tone: standings[e.Standing][1]}
	if since := e.Health.FailingSince; since != nil && e.Enabled {
		row.Since = *since
	}
	row.Why = disabledTexts[e.Disabled]
	if e.Waiting > 0 {
		row.Waiting = pages.Count(int64(e.Waiting))
		if e.Waiting == domain.MaxWaitingCounted {
			row.Waiting += " or more"
		}
	}
	if e.Oldest != nil {
		row.Oldest = *e.Oldest
	}
	if e.Last != nil {
		row.Last, row.LastAt = pages.AttemptText(e.Last.Result), e.Last.Result.StartedAt
	}
	return row
}

// disabledTexts says why an endpoint was disabled.
var disabledTexts = map[domain.DisabledReason]string{
	domain.DisabledGone: "answered 410 Gone", domain.DisabledFailing: "failed for days",
}

func (p *Console) pauseSending(c *call) error {
	e, known := domain.ParseEnvironment(c.Form.Get("environment"))
	if !known {
		return domain.ErrNotFound
	}
	return p.sendingChanged(c, p.Machinery.PauseSending(c.Ctx(), c.Actor(), e, c.Form.Get("reason")), "sending-paused")
}

func (p *Console) resumeSending(c *call) error {
	e, known := domain.ParseEnvironment(c.Form.Get("environment"))
	if !known {
		return domain.ErrNotFound
	}
	return p.sendingChanged(c, p.Machinery.ResumeSending(c.Ctx(), c.Actor(), e), "sending-resumed")
}

func (p *Console) sendingChanged(c *call, err error, said string) error {
	if c.Wrong(err) {
		return p.pausingPage(c, http.StatusUnprocessableEntity, nil)
	}
	if domain.HasCode(err, domain.CodeSendingUnchanged) {
		return p.pausingPage(c, http.StatusConflict, &pages.Notice{Tone: "warn", Title: "Nothing was changed",
			Lines: []string{pages.MessageOf(err)}})
	}
	if err != nil {
		return err
	}
	return c.Lead("/webhooks/pause?done=" + said)
}

// pausedBanners returns the banners of every page while sending is paused. If that cannot be read,
// it returns none: pages that need the database report the failure themselves.
func (p *Console) pausedBanners(c *call) (told []pages.Notice) {
	pauses, err := p.Machinery.Pauses(c.Ctx())
	if err != nil {
		return nil
	}
	for _, pause := range pauses {
		told = append(told, pages.Notice{Tone: "bad", Title: "Sending of all " + string(pause.Environment) + " webhooks is paused",
			Lines: []string{pause.By + " paused it at " + pause.Since.UTC().Format("15:04 UTC on 2 January") + ": " + pause.Reason},
			Link:  &pages.Link{Href: c.At("/webhooks/pause"), Text: "Show the pause"}})
	}
	return told
}
