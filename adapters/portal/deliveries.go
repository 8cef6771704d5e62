package portal

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
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
	Searched    string // the search text; empty: none
	Filtered    bool
	In          string // the environment
	Older       string // the next page; empty: there is none
	DocsURL     string
}

// deliveryRow is a line of the list. It omits the recipient: readers who may see the number find it
// in the delivery.
type deliveryRow struct {
	ID, Reference, ExternalID, Environment, Status, Tone, To string
	Fee                                                      string
	CreatedAt                                                time.Time
}

func rowOf(d *domain.Delivery) deliveryRow {
	return deliveryRow{
		ID: string(d.ID), Reference: string(d.Reference), ExternalID: d.ExternalID, Environment: string(d.Tenant.Environment),
		Status: pages.Spaced(string(d.Status())), Tone: pages.StatusTones[d.Status()],
		To:  cmp.Or(d.Dropoff.Municipality, d.Dropoff.Address),
		Fee: pages.FeeOf(d.Quote), CreatedAt: d.CreatedAt,
	}
}

func (p *Portal) listDeliveries(c *call) error {
	if text := strings.TrimSpace(c.Query("q")); text != "" {
		return p.searchDeliveries(c, text)
	}
	v, t, err := p.deliveriesForm(c)
	if err != nil {
		return err
	}
	if t.ApplicationID == "" {
		return p.Show(c, http.StatusOK, "deliveries", "Deliveries", v)
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
	found, err := p.Handling.List(c.Ctx(), t, f, page)
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
	return p.Show(c, http.StatusOK, "deliveries", "Deliveries", v)
}

// behind returns the list position after a delivery.
func (p *Portal) behind(c *call, t domain.Tenant, text string) (*domain.Position, error) {
	id, err := domain.ParseID(domain.PrefixDelivery, text)
	if err != nil {
		return nil, err
	}
	d, err := p.Handling.Get(c.Ctx(), c.Business(), id)
	if err != nil {
		return nil, err
	}
	if d.Tenant != t {
		return nil, domain.ErrNotFound
	}
	return &domain.Position{CreatedAt: d.CreatedAt, ID: d.ID}, nil
}

// day returns the start of the day in a parameter, in UTC; nil: it has no valid day.
func (p *Portal) day(c *call, name string) *time.Time {
	at, err := time.Parse(time.DateOnly, c.Query(name))
	if err != nil {
		return nil
	}
	return &at
}

// deliveriesForm returns the form above the list and the tenant whose deliveries it lists. The
// default is the sandbox, and the application that booked there last.
func (p *Portal) deliveriesForm(c *call) (v deliveriesView, t domain.Tenant, err error) {
	v = deliveriesView{
		Notice: c.Told(), DocsURL: p.options.DocsURL,
		Query: pages.Field{ID: "q", Name: "q", Type: "search", Label: "Find a delivery", Value: c.Query("q"),
			Hint: "Its ID, its reference or your external_id, in any application."},
		Application: pages.Field{ID: "application", Name: "application", Label: "Application"},
		Environment: pages.Field{ID: "environment", Name: "environment", Label: "Environment"},
		Status:      pages.Field{ID: "status", Name: "status", Label: "Status", Options: []pages.Option{{Text: "Any"}}},
		After:       pages.Field{ID: "created_after", Name: "created_after", Type: "date", Label: "From, UTC", Value: c.Query("created_after")},
		Before: pages.Field{ID: "created_before", Name: "created_before", Type: "date", Label: "Before, UTC",
			Value: c.Query("created_before")},
	}
	apps, err := p.Tenants.Applications(c.Ctx(), c.Business())
	if err != nil {
		return v, t, err
	}
	t = domain.Tenant{BusinessID: c.Business(), ApplicationID: domain.ID(c.Query("application"))}
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
	v.In = string(t.Environment)
	status := domain.Status(c.Query("status"))
	known = known && (status == "" || slices.Contains(domain.Statuses(), status))
	for _, s := range domain.Statuses() {
		v.Status.Options = append(v.Status.Options, pages.Option{Value: string(s), Text: pages.Spaced(string(s)), Chosen: s == status})
	}
	if !known {
		return v, t, domain.ErrNotFound
	}
	return v, t, nil
}

// askedToBook limits how many applications are checked for their last delivery.
const askedToBook = 20

// lastToBook returns the application that booked last in the tenant's environment. If none has
// booked, it returns the first one; without applications, an empty ID.
func (p *Portal) lastToBook(c *call, t domain.Tenant, apps []domain.Application) (last domain.ID, err error) {
	var at time.Time
	for i, a := range apps[:min(len(apps), askedToBook)] {
		if i == 0 {
			last = a.ID
		}
		t.ApplicationID = a.ID
		found, err := p.Handling.List(c.Ctx(), t, domain.DeliveryFilter{NewestFirst: true}, domain.PageRequest{Limit: 1})
		if err != nil {
			return "", err
		}
		if len(found) > 0 && found[0].CreatedAt.After(at) {
			last, at = a.ID, found[0].CreatedAt
		}
	}
	return last, nil
}

// searchDeliveries opens the only match, or lists all matches.
func (p *Portal) searchDeliveries(c *call, text string) error {
	found, err := p.Handling.Search(c.Ctx(), c.Business(), text, deliveriesPage)
	if err != nil {
		return err
	}
	if len(found) == 1 {
		return c.Lead("/deliveries/" + string(found[0].ID))
	}
	v, _, err := p.deliveriesForm(c)
	if err != nil {
		return err
	}
	v.Searched = text
	for _, d := range found {
		v.Deliveries = append(v.Deliveries, rowOf(d))
	}
	return p.Show(c, http.StatusOK, "deliveries", "Deliveries", v)
}
