package portal

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"waybill/adapters/pages"
	"waybill/adapters/web/pickupcsv"
	"waybill/application/directory"
	"waybill/domain"
)

// pickupsPage sets the page size of the pickup location list.
const pickupsPage = 50

// pickupsAt holds the path of the pickup locations.
const pickupsAt = "/pickup-locations"

// locationAct returns the act for changes. Live locations need a higher one.
func locationAct(c *call) domain.Act { return locationActOf(domain.Environment(c.Param("env"))) }

func locationActOf(e domain.Environment) domain.Act {
	if e == domain.Live {
		return domain.ActManageLiveLocations
	}
	return domain.ActManageSandboxLocations
}

// pickupRow holds a pickup location for pages.
type pickupRow struct {
	ID, Name, Address, Contact string
	Latitude, Longitude        string // empty: missing
	Active                     bool
	Missing                    string // the missing details, as text; empty: none
	UpdatedAt                  time.Time
}

func pickupRowOf(l *domain.PickupLocation) pickupRow {
	row := pickupRow{
		ID: string(l.ID), Name: l.Name, Address: l.Address, Contact: string(l.Contact), Active: l.Active, UpdatedAt: l.UpdatedAt,
		Missing: strings.Join(l.Missing(), ", "),
	}
	if at := l.Coordinates; at != nil {
		row.Latitude, row.Longitude = strconv.FormatFloat(at.Latitude, 'f', -1, 64), strconv.FormatFloat(at.Longitude, 'f', -1, 64)
	}
	return row
}

type pickupsView struct {
	Notice      *pages.Notice
	Environment string
	At          string        // the list of this environment
	Switch      *pages.Switch // for staff, whose frame has none
	Filters     *pages.Filters
	Filtered    bool
	Locations   []pickupRow
	Newest      string
	Older       string
	May         bool
}

// newPickupView holds the form for a pickup location.
type newPickupView struct {
	Notice          *pages.Notice
	Environment, At string
	Form            []pages.Field
	Once            string // ID of the location that the form will create
	May             bool
}

func (p *Portal) askNewPickup(c *call) error {
	return p.newPickupPage(c, http.StatusOK, c.WelcomeBack())
}

func (p *Portal) newPickupPage(c *call, status int, n *pages.Notice) error {
	t, err := p.pickupTenant(c)
	if err != nil {
		return err
	}
	return p.Show(c, status, "pickup_new", "Add a pickup location", newPickupView{
		Notice: n, Environment: string(t.Environment), At: pickupsAt + "/" + string(t.Environment), Form: pickupFields(c, &pickupRow{}),
		Once: p.OnceShown(c, domain.PrefixPickupLocation, status), May: c.May(locationActOf(t.Environment)),
	})
}

// pickupTenant returns the business and the environment in the address, or the chosen one.
func (p *Portal) pickupTenant(c *call) (domain.Tenant, error) {
	t := domain.Tenant{BusinessID: c.Business()}
	if c.Param("env") == "" {
		v, err := p.shown(c)
		t.Environment = v.Environment
		return t, err
	}
	var known bool
	if t.Environment, known = domain.ParseEnvironment(c.Param("env")); !known {
		return domain.Tenant{}, domain.ErrNotFound
	}
	return t, nil
}

func (p *Portal) listPickups(c *call) error {
	if c.WelcomeBack() != nil && c.Param("env") != "" {
		return p.askNewPickup(c) // what was typed belongs there
	}
	n := c.Told()
	if rows := p.Flashed(c, "pickups-imported", 2); rows != nil {
		n = &pages.Notice{Tone: "good", Title: "The table was imported: " + pages.Count(rows[0]) + " created, " + pages.Count(rows[1]) +
			" updated."}
	}
	return p.pickupsPage(c, http.StatusOK, n)
}

func (p *Portal) pickupsPage(c *call, status int, n *pages.Notice) error {
	t, err := p.pickupTenant(c)
	if err != nil {
		return err
	}
	v := pickupsView{
		Notice: n, Environment: string(t.Environment), At: pickupsAt + "/" + string(t.Environment),
		May: c.May(locationActOf(t.Environment)),
	}
	if v.Switch, err = p.switchForStaff(c); err != nil {
		return err
	}
	search := &pages.Field{ID: "q", Name: "q", Label: "Name or address", Value: strings.TrimSpace(c.Query("q"))}
	f := domain.PickupLocationFilter{Search: search.Value}
	if utf8.RuneCountInString(f.Search) > domain.MaxSearch {
		return domain.ErrNotFound
	}
	if active, err := strconv.ParseBool(c.Query("active")); err == nil {
		f.Active = &active
	}
	page := domain.PageRequest{Limit: pickupsPage}
	filters := url.Values{}
	for _, name := range []string{"q", "active"} {
		if value := c.Query(name); value != "" {
			filters.Set(name, value)
		}
	}
	v.Filtered = len(filters) > 0
	v.Filters = pages.NewFilters(c.At(v.At), maps.Clone(filters), search, []pages.Field{pages.WithChosen(pages.Field{ID: "active", Name: "active",
		Label: "State", Value: c.Query("active"), Options: []pages.Option{
			{Value: "", Text: "Any"}, {Value: "true", Text: "In use"}, {Value: "false", Text: "Archived"},
		}})})
	c.Widen()
	if cursor, err := domain.ParseID(domain.PrefixPickupLocation, c.Query("cursor")); err == nil {
		last, err := p.PickupLocations.Get(c.Ctx(), t, cursor)
		if err != nil {
			return err
		}
		page.After = &domain.Position{CreatedAt: last.CreatedAt, ID: last.ID}
		v.Newest = pages.AddressOf(v.At, filters)
	}
	found, err := p.PickupLocations.List(c.Ctx(), t, f, page)
	if err != nil {
		return err
	}
	if len(found) > pickupsPage {
		found = found[:pickupsPage]
		filters.Set("cursor", string(found[pickupsPage-1].ID))
		v.Older = pages.AddressOf(v.At, filters)
	}
	for i := range found {
		v.Locations = append(v.Locations, pickupRowOf(&found[i]))
	}
	return p.Show(c, status, "pickups", "Pickup locations", v)
}

// pickupFields returns the fields of a location's form, with the values of its row.
func pickupFields(c *call, of *pickupRow) []pages.Field {
	return []pages.Field{
		c.Field(pages.Field{Name: "name", Label: "Name", Hint: "What riders look for, such as Osu branch.", Value: of.Name, Required: true,
			MaxLength: domain.NameRule.Most}),
		c.Field(pages.Field{Name: "address", Label: "Address", Value: of.Address, Required: true, MaxLength: domain.AddressRule.Most}),
		c.Field(pages.Field{Name: "contact", Label: "Phone number", Type: "tel", Hint: "With the country code, such as +233302000001.",
			Value: of.Contact, MaxLength: domain.MaxTypedPhone}),
		c.Field(pages.Field{Name: "latitude", Label: "Latitude", Value: of.Latitude,
			Hint:      "Such as 5.5571. You can paste both numbers from a map.",
			MaxLength: pages.MaxCode}),
		c.Field(pages.Field{Name: "longitude", Label: "Longitude", Hint: "Such as -0.1818.", Value: of.Longitude, MaxLength: pages.MaxCode}),
	}
}

// typedPickup parses the form of a location. An empty field has no meaning, as in a table.
func (p *Portal) typedPickup(c *call) (domain.PickupLocationRow, error) {
	if north, east, both := strings.Cut(c.Form.Get("latitude"), ","); both && c.Form.Get("longitude") == "" { // as maps copy a point
		c.Form.Set("latitude", north)
		c.Form.Set("longitude", east)
	}
	var wrong []domain.FieldError
	row := pickupcsv.Row(func(column string) string { return strings.TrimSpace(c.Form.Get(column)) }, p.options.Normalizer,
		func(field, code, message string) {
			if code == domain.FieldRequired && (field == "name" || field == "address") {
				message = "give the " + field // a form has no cells
			}
			wrong = append(wrong, domain.FieldError{Field: field, Code: code, Message: message})
		})
	if len(wrong) > 0 {
		return row, domain.Invalid(wrong...)
	}
	return row, nil
}

func (p *Portal) createPickup(c *call) error {
	t, err := p.pickupTenant(c)
	if err != nil {
		return err
	}
	row, err := p.typedPickup(c)
	if c.Wrong(err) {
		return p.newPickupPage(c, http.StatusUnprocessableEntity, nil)
	}
	made, err := p.PickupLocations.AddOnce(c.Ctx(), c.Actor(), p.OnceSent(c, domain.PrefixPickupLocation), t, directory.PickupLocationForm{
		Name: row.Name, Contact: row.Contact, Address: row.Address, Coordinates: row.Coordinates, Active: row.Active == nil || *row.Active,
	})
	if domain.HasCode(err, domain.CodePickupLocationLimit) {
		return p.newPickupPage(c, http.StatusConflict, &pages.Notice{Tone: "bad", Title: "No pickup location was created",
			Lines: []string{pages.MessageOf(err)}})
	}
	if domain.HasCode(err, domain.CodeFormAlreadySent) {
		return p.newPickupPage(c, http.StatusConflict, &pages.Notice{Tone: "bad", Title: "No second pickup location was created",
			Lines: []string{pages.MessageOf(err)}})
	}
	if err != nil {
		return err
	}
	return c.Lead(pickupsAt + "/" + string(t.Environment) + "/" + string(made.ID) + "?done=pickup-created")
}

type pickupView struct {
	Notice      *pages.Notice
	Location    pickupRow
	Environment string
	List        string
	May         bool
	Form        []pages.Field
	Version     string     // the location's last change when the form was made
	Code        pages.Code // how an order names it
}

func (p *Portal) showPickup(c *call) error { return p.pickupPage(c, http.StatusOK, c.Told()) }

func (p *Portal) pickupPage(c *call, status int, n *pages.Notice) error {
	t, err := p.pickupTenant(c)
	if err != nil {
		return err
	}
	l, err := p.PickupLocations.Get(c.Ctx(), t, domain.ID(c.Param("location")))
	if err != nil {
		return err
	}
	v := pickupView{Notice: n, Location: pickupRowOf(&l), Environment: string(t.Environment), List: pickupsAt + "/" + string(t.Environment),
		May: c.May(locationAct(c)), Code: pages.Code{ID: "call", Text: `"pickup_location_id": "` + string(l.ID) + `"`}}
	v.Form, v.Version = pickupFields(c, &v.Location), c.VersionShown(l.UpdatedAt, status)
	return p.Show(c, status, "pickup", l.Name, v)
}

// changePickup changes the fields that the form has, like a PATCH of the API.
func (p *Portal) changePickup(c *call) error {
	t, err := p.pickupTenant(c)
	if err != nil {
		return err
	}
	var change domain.PickupLocationChange
	said := "pickup-saved"
	if c.Form.Has("name") || c.Form.Has("address") {
		row, err := p.typedPickup(c)
		if c.Wrong(err) {
			return p.pickupPage(c, http.StatusUnprocessableEntity, nil)
		}
		change = row.Change()
		change.Name, change.Address = &row.Name, &row.Address
	} else if active, err := strconv.ParseBool(c.Form.Get("active")); err == nil {
		change.Active = &active
		said = map[bool]string{true: "pickup-restored", false: "pickup-archived"}[active]
	}
	id := domain.ID(c.Param("location"))
	var l domain.PickupLocation
	if change.Name == nil { // to archive or restore it
		l, err = p.PickupLocations.Amend(c.Ctx(), c.Actor(), t, id, change)
	} else {
		l, err = p.PickupLocations.AmendShown(c.Ctx(), c.Actor(), t, id, c.VersionSent(), change)
	}
	if errors.Is(err, directory.ErrPickupLocationChanged) {
		if l, err = p.PickupLocations.Get(c.Ctx(), t, id); err != nil {
			return err
		}
		now := pickupFields(c, &pickupRow{})
		row := pickupRowOf(&l)
		return p.pickupPage(c, http.StatusConflict, pages.ChangedSince(now, row.Name, row.Address, row.Contact, row.Latitude, row.Longitude))
	}
	if c.Wrong(err) {
		return p.pickupPage(c, http.StatusUnprocessableEntity, nil)
	}
	if err != nil {
		return err
	}
	return c.Lead(pickupsAt + "/" + string(t.Environment) + "/" + string(l.ID) + "?done=" + said)
}
