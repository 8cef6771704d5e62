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
	Notice     *pages.Notice
	Filters    *pages.Filters
	Deliveries []deliveryRow
	Several    bool   // the list has deliveries of several applications
	Searched   string // the search text; empty: none
	Filtered   bool
	In         string // the environment
	Elsewhere  string // the list of the other environment
	Newest     string
	Older      string // the next page; empty: there is none
	DocsURL    string
}

// deliveryRow is a line of the list. It omits the recipient: readers who may see the number find it
// in the delivery.
type deliveryRow struct {
	ID, Reference, ExternalID, Environment, Status, Tone, To string
	Application                                              string // its ID, and in lists its name
	Fee                                                      string
	CreatedAt                                                time.Time
}

func rowOf(d *domain.Delivery) deliveryRow {
	return deliveryRow{
		ID: string(d.ID), Reference: string(d.Reference), ExternalID: d.ExternalID, Environment: string(d.Tenant.Environment),
		Application: string(d.Tenant.ApplicationID), Status: pages.Spaced(string(d.Status())), Tone: pages.StatusTones[d.Status()],
		To:  cmp.Or(d.Dropoff.Municipality, d.Dropoff.Address),
		Fee: pages.FeeOf(d.Quote), CreatedAt: d.CreatedAt,
	}
}

func (p *Portal) listDeliveries(c *call) error {
	if text := strings.TrimSpace(c.Query("q")); text != "" {
		return p.searchDeliveries(c, text)
	}
	t, choice, err := p.askedFor(c)
	if err != nil {
		return err
	}
	v, err := p.deliveriesForm(c, choice)
	if err != nil {
		return err
	}
	f := domain.DeliveryFilter{NewestFirst: true, Status: domain.Status(c.Query("status"))}
	f.CreatedAfter, f.CreatedBefore = p.day(c, "created_after"), p.day(c, "created_before")
	page := domain.PageRequest{Limit: deliveriesPage}
	if at := c.Query("before"); at != "" {
		if page.After, err = p.behind(c, t, at); err != nil {
			return err
		}
		v.Newest = withQuery(c, "before", "")
	}
	v.Filtered = f.Status != "" || f.CreatedAfter != nil || f.CreatedBefore != nil || page.After != nil
	var found []*domain.Delivery
	if len(choice.apps) > 0 {
		found, err = p.Handling.ListAny(c.Ctx(), t, f, page)
	}
	if err != nil {
		return err
	}
	if len(found) > deliveriesPage {
		found = found[:deliveriesPage]
		v.Older = withQuery(c, "before", string(found[deliveriesPage-1].ID))
	}
	v.add(found, choice)
	return p.Show(c, http.StatusOK, "deliveries", "Deliveries", v)
}

// add adds rows to the list.
func (v *deliveriesView) add(found []*domain.Delivery, choice shown) {
	for _, d := range found {
		row := rowOf(d)
		row.Application = choice.name(d.Tenant.ApplicationID)
		v.Deliveries = append(v.Deliveries, row)
	}
}

// withQuery returns the address of the page with one parameter changed. An empty value removes it.
func withQuery(c *call, name, value string) string {
	values := c.Request.URL.Query()
	values.Del("done")
	values.Set(name, value)
	return filled(c.Request.URL.Path, values)
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
	if d.Tenant.Environment != t.Environment || t.ApplicationID != "" && d.Tenant != t {
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

// deliveriesForm returns the line above the list.
func (p *Portal) deliveriesForm(c *call, choice shown) (v deliveriesView, err error) {
	status := pages.Field{ID: "status", Name: "status", Label: "Status", Options: []pages.Option{{Text: "Any"}}}
	for _, s := range domain.Statuses() {
		status.Options = append(status.Options, pages.Option{Value: string(s), Text: pages.Spaced(string(s)), Chosen: string(s) == c.Query("status")})
	}
	if s := domain.Status(c.Query("status")); s != "" && !slices.Contains(domain.Statuses(), s) {
		return v, domain.ErrNotFound
	}
	c.Widen()
	search := &pages.Field{ID: "q", Name: "q", Label: "ID, reference or external ID", Value: strings.TrimSpace(c.Query("q"))}
	query := c.Request.URL.Query()
	for _, name := range []string{"before", "done", "environment", "application"} {
		query.Del(name) // the frame has the choice
	}
	other := choice
	other.Environment = domain.Live
	if choice.Environment == domain.Live {
		other.Environment = domain.Sandbox
	}
	return deliveriesView{
		Notice: c.Told(), DocsURL: p.options.DocsURL, In: string(choice.Environment), Several: choice.Application == "",
		Elsewhere: pages.AddressOf("/deliveries", other.asQuery()),
		Filters: pages.NewFilters("/deliveries", query, search, []pages.Field{status,
			{ID: "created_after", Name: "created_after", Type: "date", Label: "From (UTC)"},
			{ID: "created_before", Name: "created_before", Type: "date", Label: "Before (UTC)"},
		}),
	}, nil
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
	_, choice, err := p.askedFor(c)
	if err != nil {
		return err
	}
	v, err := p.deliveriesForm(c, choice)
	if err != nil {
		return err
	}
	v.Searched, v.Several = text, true
	v.add(found, choice)
	return p.Show(c, http.StatusOK, "deliveries", "Deliveries", v)
}
