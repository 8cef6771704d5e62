package console

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/application/deliveries"
	"waybill/domain"
)

const (
	deliveriesAt   = "/deliveries"
	deliveriesPage = 50
	csvPage        = 500
	anyEnvironment = "any"
	openStatus     = "open"
	oldestFirst    = "oldest"
)

// deliveriesView holds a list of deliveries of all customers.
type deliveriesView struct {
	Notice             *pages.Notice
	Statuses           []statusTab
	Filters            *pages.Filters
	Deliveries         []deliveryRow
	Searched           string // the search text; empty: none
	Customers          string // link to the customers with this text in their names
	NoPhones           bool   // the text is a phone number, and was not searched as one
	NamesRecipients    bool
	At                 *time.Time
	Now                string // the same list with present ages; empty: it has them
	Since              *time.Time
	Newest, Older, CSV string
	Filtered           bool
	Of, OfPage, OfAll  string // the only customer shown, its page, and the list of all
	Many               string // link to the form that moves those shown; empty: none, or not allowed
}

// statusTab leads to the list of one status.
type statusTab struct {
	pages.Link
	Count *int // nil: it is not counted
}

// deliveryRow is a line of a list.
type deliveryRow struct {
	ID, Reference, ExternalID, Environment, Status, Tone, To string
	Recipient                                                string // empty where the reader may not see it
	Business, BusinessID                                     string
	Only                                                     string // link to the same list for this customer only
	Why                                                      string // why it failed; empty: the list does not say
	Since, CreatedAt                                         time.Time
}

func rowOf(d *domain.Delivery, names map[domain.ID]string) deliveryRow {
	id := d.Tenant.BusinessID
	return deliveryRow{
		ID: string(d.ID), Reference: string(d.Reference), ExternalID: d.ExternalID, Environment: string(d.Tenant.Environment),
		Status: pages.Spaced(string(d.Status())), Tone: pages.StatusTones[d.Status()], To: cmp.Or(d.Dropoff.Municipality, "—"),
		Business: cmp.Or(names[id], string(id)), BusinessID: string(id), Since: d.UpdatedAt(), CreatedAt: d.CreatedAt,
	}
}

// asked holds the query of the list.
type asked struct {
	typed  deliveries.Typed
	search domain.DeliverySearch
	age    domain.Age
	at     *time.Time // time of the ages; nil: now

	noPhones bool // the text is a phone number, and the reader may not search for it
}

// ask reads the query from the address. Values that no form sends return domain.ErrNotFound.
func (p *Console) ask(c *call) (a asked, err error) {
	q := c.Query
	a.typed.Text = trackedReference(strings.TrimPrefix(strings.TrimSpace(q("q")), "tel:")) // as links to numbers are copied
	if phone, sound := p.options.Normalizer.PhoneNumber(a.typed.Text); sound {
		// Roles that may not read numbers may not search for them: they could guess one.
		if a.noPhones = !namesRecipients(c); !a.noPhones {
			a.typed.Phone = phone
		}
	}
	s := &a.search
	s.NewestFirst = q("order") != oldestFirst
	s.CreatedAfter, s.CreatedBefore, a.at = pages.MomentOf(q("created_after")), pages.MomentOf(q("created_before")), pages.MomentOf(q("at"))
	for param, id := range map[string]struct {
		prefix domain.Prefix
		into   *domain.ID
	}{"business": {domain.PrefixBusiness, &s.BusinessID}, "application": {domain.PrefixApplication, &s.ApplicationID}} {
		if text := strings.TrimSpace(q(param)); text != "" {
			if *id.into, err = domain.ParseID(id.prefix, text); err != nil {
				return a, err
			}
		}
	}
	switch e := q("environment"); {
	case e == "" && a.typed.Text == "":
		s.Environment = domain.Live
	case e != "" && e != anyEnvironment:
		sound := false
		if s.Environment, sound = domain.ParseEnvironment(e); !sound {
			return a, domain.ErrNotFound
		}
	}
	switch status := domain.Status(q("status")); {
	case status == openStatus:
		s.Open = true
	case status != "":
		if !slices.Contains(domain.Statuses(), status) {
			return a, domain.ErrNotFound
		}
		s.Status, s.Open = status, status.Open()
	}
	if text := q("age"); text != "" {
		sound := false
		if a.age, sound = domain.ParseAge(text); !sound {
			return a, domain.ErrNotFound
		}
		at := p.options.Clock.Now()
		if a.at != nil {
			at = *a.at
		}
		a.age.Bound(s, at)
	}
	return a, nil
}

// trackedReference returns the reference at the end of a tracking page's address, which callers
// read from a message. It returns other text unchanged.
func trackedReference(text string) string {
	if !strings.Contains(text, "/") {
		return text
	}
	trimmed, _, _ := strings.Cut(text, "?")
	trimmed = strings.TrimRight(trimmed, "/")
	if reference, sound := domain.ParseReference(strings.ToUpper(trimmed[strings.LastIndexByte(trimmed, '/')+1:])); sound {
		return string(reference)
	}
	return text
}

// workPath returns the list that a number on the board counts.
func workPath(f domain.WorkFilter, at time.Time) string {
	f = f.Bounded()
	q := url.Values{"environment": {string(f.Environment)}, "status": {cmp.Or(string(f.Status), openStatus)}, "order": {oldestFirst}}
	if f.BusinessID != "" {
		q.Set("business", string(f.BusinessID))
	}
	if f.Age != (domain.Age{}) {
		q.Set("age", f.Age.String())
		q.Set("at", domain.FormatTime(at))
	}
	return deliveriesAt + "?" + q.Encode()
}

func (p *Console) listDeliveries(c *call) error {
	a, err := p.ask(c)
	if err != nil {
		return err
	}
	page := domain.PageRequest{Limit: deliveriesPage}
	if text := c.Query("after"); text != "" {
		id, err := domain.ParseID(domain.PrefixDelivery, text)
		if err != nil {
			return err
		}
		page.After = &domain.Position{ID: id}
	}
	found, err := p.Operations.Find(c.Ctx(), a.typed, a.search, page)
	if err != nil {
		return err
	}
	all := found.Deliveries
	if a.typed.Text != "" && page.After == nil && len(all) == 1 {
		return c.Lead(deliveriesAt + "/" + string(all[0].ID))
	}
	query := c.Request.URL.Query()
	v := deliveriesView{
		Searched: a.typed.Text, NoPhones: a.noPhones, NamesRecipients: namesRecipients(c), Since: found.Since, Filtered: len(query) > 0,
	}
	if len(all) > deliveriesPage {
		all = all[:deliveriesPage]
		v.Older = c.At(deliveriesAt) + "?" + with(query, "after", string(all[deliveriesPage-1].ID))
	}
	if page.After != nil {
		v.Newest = c.At(deliveriesAt) + "?" + with(query, "after", "")
	}
	v.CSV = c.At(deliveriesAt+".csv") + "?" + with(query, "after", "")
	if a.at != nil && a.age != (domain.Age{}) {
		v.At, v.Now = a.at, c.At(deliveriesAt)+"?"+with(query, "at", "")
	}
	names, err := p.Operations.BusinessNames(c.Ctx(), all)
	if err != nil {
		return err
	}
	var movable []string
	for _, d := range all {
		row := rowOf(d, names)
		if v.NamesRecipients {
			row.Recipient, row.To = d.Recipient.Name, d.Dropoff.Address
		}
		row.Only = c.At(deliveriesAt) + "?" + with(without(query, "after", "q"), "business", row.BusinessID)
		v.Deliveries = append(v.Deliveries, row)
		if len(d.Next(domain.ActorPlatform)) > 0 {
			movable = append(movable, row.Reference)
		}
	}
	if c.May(domain.ActMoveDeliveries) && len(movable) > 0 {
		v.Many = c.At(namedForm(movable))
	}
	if id := a.search.BusinessID; id != "" {
		if v.Of, err = p.nameOf(c, id); err != nil {
			return err
		}
		v.OfPage, v.OfAll = c.At("/businesses/"+string(id)), c.At(deliveriesAt)+"?"+without(query, "after", "business").Encode()
	}
	v.Filters, v.Statuses = p.filters(c, a), p.statusTabs(c, a.search)
	v.Customers = c.At("/businesses") + "?" + url.Values{"q": {v.Searched}}.Encode()
	c.Widen()
	return p.Show(c, http.StatusOK, "deliveries", "Deliveries", v)
}

// with returns a query with another value of a parameter. An empty value removes it.
func with(q url.Values, name, value string) string {
	changed := url.Values{}
	for n, values := range q {
		if n != name {
			changed[n] = values
		}
	}
	if value != "" {
		changed.Set(name, value)
	}
	return changed.Encode()
}

// without returns a query without some parameters.
func without(q url.Values, names ...string) url.Values {
	left := maps.Clone(q)
	for _, name := range names {
		left.Del(name)
	}
	return left
}

// nameOf returns a customer's name, or its ID if there is no name.
func (p *Console) nameOf(c *call, id domain.ID) (string, error) {
	names, err := p.Requests.BusinessNames(c.Ctx(), []domain.ID{id})
	return cmp.Or(names[id], string(id)), err
}

// filters returns the line of filters above the list.
func (p *Console) filters(c *call, a asked) *pages.Filters {
	search := &pages.Field{ID: "q", Name: "q", Label: "Reference, phone number, external ID or tracking link", Value: a.typed.Text}
	if !namesRecipients(c) {
		search.Label = "Reference, external ID or tracking link"
	}
	var fields []pages.Field
	choice := func(name, label, chosen string, options ...pages.Option) {
		for i := range options {
			options[i].Chosen = options[i].Value == chosen
		}
		fields = append(fields, pages.Field{ID: name, Name: name, Label: label, Options: options})
	}
	ages := []pages.Option{{Text: "Any time"}}
	for _, edge := range domain.AgeEdges() {
		ages = append(ages, pages.Option{Value: domain.Age{From: edge}.String(), Text: "more than " + span(edge)})
	}
	for _, edge := range domain.AgeEdges() {
		ages = append(ages, pages.Option{Value: domain.Age{Until: edge}.String(), Text: "up to " + span(edge)})
	}
	if a.age.From > 0 && a.age.Until > 0 {
		ages = append(ages, pages.Option{Value: a.age.String(), Text: span(a.age.From) + " to " + span(a.age.Until)})
	}
	choice("age", "In this status for", c.Query("age"), ages...)
	fields = append(fields, p.customerField(c, pages.Field{Name: "business", Value: string(a.search.BusinessID)}))
	choice("environment", "Environment", cmp.Or(c.Query("environment"), string(a.search.Environment), anyEnvironment),
		pages.Option{Value: string(domain.Live), Text: "live"}, pages.Option{Value: string(domain.Sandbox), Text: "sandbox"},
		pages.Option{Value: anyEnvironment, Text: "both"})
	choice("order", "Order", c.Query("order"), pages.Option{Value: "", Text: "Newest first"},
		pages.Option{Value: oldestFirst, Text: "oldest first"})
	typed := func(name, label, kind string) {
		fields = append(fields, pages.Field{ID: name, Name: name, Type: kind, Label: label})
	}
	typed("application", "Application ID", "text")
	typed("created_after", "Booked from (UTC)", "date")
	typed("created_before", "Booked before (UTC)", "date")
	return pages.NewFilters(c.At(deliveriesAt), c.Request.URL.Query(), search, fields, "status")
}

// statusTabs returns a tab for each status, with the counts of the board for statuses that wait for
// work.
func (p *Console) statusTabs(c *call, s domain.DeliverySearch) []statusTab {
	counts := map[domain.Status]int{}
	counted := false
	if s.Environment != "" {
		work, err := p.Board.Work(c.Ctx(), s.Environment)
		counted = err == nil // without counts the tabs still lead to the lists
		for business, of := range work.ByStatus() {
			for status, n := range of {
				if s.BusinessID == "" || s.BusinessID == business {
					counts[status] += n
				}
			}
		}
	}
	query := without(c.Request.URL.Query(), "after", "at")
	tab := func(value, text string, current bool) statusTab {
		t := statusTab{Link: pages.Link{Text: text, Href: c.At(deliveriesAt)}}
		if q := with(query, "status", value); q != "" {
			t.Href += "?" + q
		}
		if current {
			t.Current = "page"
		}
		return t
	}
	chosen := c.Query("status")
	tabs := []statusTab{tab("", "All", chosen == ""), tab(openStatus, "Open", chosen == openStatus)}
	if n := counts[""]; counted {
		tabs[1].Count = &n
	}
	for _, status := range domain.Statuses() {
		t := tab(string(status), pages.Sentence(pages.Spaced(string(status))), chosen == string(status))
		t.Text = strings.TrimSuffix(t.Text, ".")
		if n := counts[status]; counted && slices.Contains(boardStatuses(), status) {
			t.Count = &n
		}
		tabs = append(tabs, t)
	}
	return tabs
}

// customerField returns a filter for one customer. It offers names, or asks for an ID if there are
// too many customers or their names cannot be read.
func (p *Console) customerField(c *call, f pages.Field, others ...pages.Option) pages.Field {
	f.ID = f.Name
	customers, err := p.Reports.Customers(c.Ctx())
	if err != nil || len(customers) > customersOffered {
		f.Label, f.Hint = "Customer ID", ""
		return f
	}
	f.Label, f.Hint, f.Options = "Customer", "", append([]pages.Option{{Text: "All customers"}}, others...)
	for _, b := range customers {
		f.Options = append(f.Options, pages.Option{Value: string(b.ID), Text: b.Name})
	}
	return pages.WithChosen(f)
}

// span formats a time for people.
func span(d time.Duration) string {
	switch {
	case d < time.Hour:
		return plural(int(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return plural(int(d.Hours()), "hour")
	}
	return plural(int(d.Hours()/24), "day")
}

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return pages.Count(int64(n)) + " " + unit + "s"
}

// csvDeliveries sends the whole list while it reads it. A delivery that stays in the list meanwhile
// is in the file exactly once. An unfinished file shows as a failed download.
func (p *Console) csvDeliveries(c *call) error {
	a, err := p.ask(c)
	if err != nil {
		return err
	}
	page := domain.PageRequest{Limit: csvPage}
	return p.StreamCSV(c, "deliveries.csv", func(ctx context.Context, write func(cells ...string) error) (more bool, err error) {
		if page.After == nil {
			if err := write("id", "reference", "external_id", "environment", "status", "in_status_since", "business_id", "business",
				"application_id", "vehicle_type", "municipality", "fee", "created_at"); err != nil {
				return false, err
			}
		}
		found, err := p.Operations.Find(ctx, a.typed, a.search, page)
		if err != nil {
			return false, err
		}
		all := found.Deliveries[:min(len(found.Deliveries), csvPage)]
		names, err := p.Operations.BusinessNames(ctx, all)
		if err != nil {
			return false, err
		}
		for _, d := range all {
			if err := write(string(d.ID), string(d.Reference), d.ExternalID, string(d.Tenant.Environment), string(d.Status()),
				domain.FormatTime(d.UpdatedAt()), string(d.Tenant.BusinessID), names[d.Tenant.BusinessID], string(d.Tenant.ApplicationID),
				string(d.VehicleType), d.Dropoff.Municipality, pages.FeeOf(d.Quote), domain.FormatTime(d.CreatedAt)); err != nil {
				return false, err
			}
			page.After = &domain.Position{ID: d.ID}
		}
		return len(found.Deliveries) > csvPage, nil
	})
}
