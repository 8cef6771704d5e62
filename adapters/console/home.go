package console

import (
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

// Default ages from which a delivery needs attention.
const (
	unassignedFor = 15 * time.Minute
	withoutNews   = 4 * time.Hour
	firstOfQueue  = 5 // deliveries of each kind on the page itself
)

// homeView holds the attention queue.
type homeView struct {
	Notice    *pages.Notice
	Name      string
	At        time.Time
	Filters   *pages.Filters
	Queues    []queueView // with deliveries, the most urgent first
	None      []queueView // without any
	Down      []string
	Endpoints []endpointView
	More      bool   // there are more endpoints than shown
	Unknown   bool   // the state of endpoints or services is unknown
	Again     string // the address of the page, to count again
	Stream    string // address of the board's event stream
	NoWayBack bool   // the reader came by a link, and has neither password nor passkey
	Quiet     bool   // nothing needs attention
}

// queueView is one kind of deliveries that need attention, oldest first.
type queueView struct {
	ID, Title, Href string
	N               int64
	Cells           string // keys of board cells whose sum is N; empty: no columns do
	Deliveries      []deliveryRow
}

type endpointView struct {
	ID, URL, Business, BusinessID, Environment, Why string
	Since                                           time.Time
}

// edgeOf returns an age from the address, or the default.
func edgeOf(c *call, name string, otherwise time.Duration) (time.Duration, error) {
	text := c.Query(name)
	if text == "" {
		return otherwise, nil
	}
	a, sound := domain.ParseAge(text + "-")
	if !sound {
		return 0, domain.ErrNotFound
	}
	return a.From, nil
}

// edges returns the field that chooses when something needs attention.
func edges(name, label string, chosen time.Duration) pages.Field {
	f := pages.Field{ID: name, Name: name, Label: label}
	for _, edge := range domain.AgeEdges() {
		text := domain.Age{From: edge}.String()
		f.Options = append(f.Options, pages.Option{Value: text[:len(text)-1], Text: span(edge), Chosen: edge == chosen})
	}
	return f
}

// home shows the attention queue of live.
func (p *Console) home(c *call) error {
	unassigned, err := edgeOf(c, "unassigned", unassignedFor)
	if err != nil {
		return err
	}
	quiet, err := edgeOf(c, "quiet", withoutNews)
	if err != nil {
		return err
	}
	w, err := p.Board.Work(c.Ctx(), domain.Live)
	if err != nil && w.At.IsZero() {
		return err
	}
	v := homeView{Notice: c.Told(), Name: c.Principal.Person.Name, At: w.At, Quiet: true,
		Stream: c.At(boardAt+"/events") + "?" + looked{environment: domain.Live}.query(),
		Again:  c.At("/") + "?" + with(c.Request.URL.Query(), "done", ""),
		Filters: pages.NewFilters(c.At("/"), without(c.Request.URL.Query(), "done"), nil, []pages.Field{
			edges("unassigned", "Booked and not assigned for", unassigned), edges("quiet", "Outsourced without news for", quiet),
		})}
	if err != nil {
		v.Notice = staleBoard(w.At)
	}
	for _, q := range []struct {
		id, title string
		f         domain.WorkFilter
	}{
		{"unassigned", "Booked and not assigned for more than " + span(unassigned),
			domain.WorkFilter{Status: domain.Booked, Age: domain.Age{From: unassigned}}},
		{"failed", "Failed in the last " + span(domain.FailedWindow), domain.WorkFilter{Status: domain.Failed}},
		{"quiet", "Outsourced without news for more than " + span(quiet),
			domain.WorkFilter{Status: domain.Outsourced, Age: domain.Age{From: quiet}}},
	} {
		q.f.Environment = domain.Live
		shown := queueView{ID: q.id, Title: q.title, Href: c.At(workPath(q.f, w.At)), N: int64(w.Count(q.f)),
			Cells: strings.Join(cellsSince(q.f.Status, q.f.Age.From), " ")}
		if shown.N == 0 {
			v.None = append(v.None, shown)
			continue
		}
		v.Quiet = false
		if shown.Deliveries, err = p.firstOf(c, q.f, w.At); err != nil {
			return err
		}
		v.Queues = append(v.Queues, shown)
	}
	p.alarms(c, &v)
	if v.NoWayBack, err = p.noWayBack(c); err != nil {
		return err
	}
	return p.Show(c, http.StatusOK, "home", "Attention", v)
}

// noWayBack reports whether the reader signed in by a link and has neither password nor passkey for
// the next sign-in.
func (p *Console) noWayBack(c *call) (bool, error) {
	if c.Principal.Session.Method != domain.SignInByLink || c.Principal.Person.PasswordHash != "" {
		return false, nil
	}
	known, err := p.Passkeys.List(c.Ctx(), c.Principal)
	return len(known) == 0, err
}

func (p *Console) firstOf(c *call, f domain.WorkFilter, at time.Time) (rows []deliveryRow, err error) {
	found, err := p.Operations.Search(c.Ctx(), f.Search(at), domain.PageRequest{Limit: firstOfQueue})
	if err != nil {
		return nil, err
	}
	all := found.Deliveries[:min(len(found.Deliveries), firstOfQueue)]
	names, err := p.Operations.BusinessNames(c.Ctx(), all)
	if err != nil {
		return nil, err
	}
	why := map[domain.ID]domain.ReasonCode{}
	if f.Status == domain.Failed {
		if why, err = p.Operations.Reasons(c.Ctx(), all); err != nil {
			return nil, err
		}
	}
	for _, d := range all {
		row := rowOf(d, names)
		row.Why = pages.Spaced(string(why[d.ID]))
		rows = append(rows, row)
	}
	return rows, nil
}

// alarms adds endpoints and services with problems. If they cannot be read, the page says so.
func (p *Console) alarms(c *call, v *homeView) {
	a, err := p.Board.Alarms(c.Ctx())
	v.Unknown = err != nil && a.At.IsZero()
	v.Down, v.More = a.Down, a.More
	for _, e := range a.Endpoints {
		shown := endpointView{ID: string(e.ID), URL: pages.ShownURL(e.URL), Business: a.Names[e.Tenant.BusinessID],
			BusinessID:  string(e.Tenant.BusinessID),
			Environment: string(e.Tenant.Environment), Since: e.UpdatedAt, Why: "disabled: failed for days"}
		switch {
		case e.Enabled:
			shown.Why, shown.Since = "failing: "+strconv.Itoa(e.Health.Failures)+" attempts in a row", *e.Health.FailingSince
		case e.Disabled == domain.DisabledGone:
			shown.Why = "disabled: answered 410 Gone"
		}
		v.Endpoints = append(v.Endpoints, shown)
	}
	sort.SliceStable(v.Endpoints, func(i, j int) bool { return v.Endpoints[i].Since.Before(v.Endpoints[j].Since) })
	pauses, err := p.Machinery.Pauses(c.Ctx()) // the frame shows them on every page
	v.Unknown = v.Unknown || err != nil
	v.Quiet = v.Quiet && len(pauses) == 0 && len(v.Down) == 0 && len(v.Endpoints) == 0 && !v.Unknown
}
