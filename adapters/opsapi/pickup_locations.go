package opsapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"waybill/adapters/web"
	"waybill/adapters/web/pickupcsv"
	"waybill/adapters/web/strictjson"
	"waybill/application/directory"
	"waybill/domain"
)

var pickupLocationShape = strictjson.Object{
	"name": strictjson.Leaf, "contact": strictjson.Leaf, "address": strictjson.Leaf,
	"latitude": strictjson.Leaf, "longitude": strictjson.Leaf, "active": strictjson.Leaf,
}

func (m *Management) listPickupLocations(c *call) (reply, error) {
	tenant, err := c.tenant()
	if err != nil {
		return reply{}, err
	}
	filter := domain.PickupLocationFilter{Search: c.query.Text("search", domain.MaxSearch)}
	if sent := c.query.OneOf("active", "true", "false"); sent != "" {
		filter.Active = new(sent == "true")
	}
	p, err := m.page(c, domain.PrefixPickupLocation)
	if err != nil {
		return reply{}, err
	}
	if _, err := m.Tenants.Business(c.Request.Context(), tenant.BusinessID); err != nil {
		return reply{}, err
	}
	found, err := m.PickupLocations.List(c.Request.Context(), tenant, filter, p)
	if err != nil {
		return reply{}, err
	}
	found, shown := cut(m, c, found, p.Limit, func(l domain.PickupLocation) domain.Position {
		return domain.Position{CreatedAt: l.CreatedAt, ID: l.ID}
	})
	return list("Pickup locations listed.", web.Each(found, showPickup), shown), nil
}

func (m *Management) getPickupLocation(c *call) (reply, error) {
	tenant, id, err := c.pickup()
	if err != nil {
		return reply{}, err
	}
	found, err := m.PickupLocations.Get(c.Request.Context(), tenant, id)
	if err != nil {
		return reply{}, err
	}
	return ok("Pickup location found.", showPickup(found)), nil
}

// pickup returns the location in the path.
func (c *call) pickup() (domain.Tenant, domain.ID, error) {
	tenant, err := c.tenant()
	if err != nil {
		return tenant, "", err
	}
	id, err := c.id("pickup_location_id", domain.PrefixPickupLocation)
	return tenant, id, err
}

func (m *Management) createPickupLocation(c *call) (reply, error) {
	tenant, err := c.tenant()
	if err != nil {
		return reply{}, err
	}
	r := strictjson.NewReader(c.body)
	given := m.readPickup(r, strictjson.Required)
	if r.Has("latitude") != r.Has("longitude") {
		lacking := "latitude"
		if r.Has(lacking) {
			lacking = "longitude"
		}
		r.Reject(lacking, strictjson.CodeRequired, "send latitude and longitude together")
	}
	if err := web.Problems(r); err != nil {
		return reply{}, err
	}
	form := directory.PickupLocationForm{Name: *given.Name, Address: *given.Address, Active: given.Active == nil || *given.Active}
	if given.Contact != nil {
		form.Contact = *given.Contact
	}
	if given.Latitude != nil {
		form.Coordinates = &domain.Coordinates{Latitude: *given.Latitude, Longitude: *given.Longitude}
	}
	made, err := m.PickupLocations.Add(c.Request.Context(), c.by, tenant, form)
	if err != nil {
		return reply{}, err
	}
	return created(pathOf(tenant)+"/"+string(made.ID), "Pickup location created.", showPickup(made)), nil
}

func pathOf(t domain.Tenant) string {
	return "/businesses/" + string(t.BusinessID) + "/environments/" + string(t.Environment) + "/pickup-locations"
}

// readPickup reads the fields that were sent. need applies to the required fields of a new
// location.
func (m *Management) readPickup(r *strictjson.Reader, need strictjson.Need) (c domain.PickupLocationChange) {
	c.Name = strictjson.Ptr(web.Text(r, "name", need, domain.NameRule))
	c.Address = strictjson.Ptr(web.Text(r, "address", need, domain.AddressRule))
	if typed, there := r.Text("contact", strictjson.Optional); there {
		contact, sound := m.Normalizer.PhoneNumber(typed)
		if !sound {
			r.Reject("contact", strictjson.CodeInvalidFormat, "no valid phone number; write it with its country code, such as +233302000001")
		}
		c.Contact = &contact
	}
	c.Latitude = strictjson.Ptr(web.Latitude(r, strictjson.Optional))
	c.Longitude = strictjson.Ptr(web.Longitude(r, strictjson.Optional))
	c.Active = strictjson.Ptr(r.Bool("active", strictjson.Optional))
	return c
}

func (m *Management) changePickupLocation(c *call) (reply, error) {
	tenant, id, err := c.pickup()
	if err != nil {
		return reply{}, err
	}
	r := strictjson.NewReader(c.body)
	web.NeedOne(r, pickupcsv.Columns()...)
	change := m.readPickup(r, strictjson.Optional)
	if err := web.Problems(r); err != nil {
		return reply{}, err
	}
	stored, err := m.PickupLocations.Amend(c.Request.Context(), c.by, tenant, id, change)
	if err != nil {
		return reply{}, err
	}
	return ok("Pickup location updated.", showPickup(stored)), nil
}

type importView struct {
	DryRun     bool             `json:"dry_run"`
	Created    int              `json:"created"`
	Updated    int              `json:"updated"`
	Unchanged  int              `json:"unchanged"`
	Incomplete []incompleteView `json:"incomplete"`
}

// incompleteView has no ID in a dry run: there is none yet.
type incompleteView struct {
	Line    int      `json:"line"`
	ID      string   `json:"id,omitempty"`
	Name    string   `json:"name"`
	Missing []string `json:"missing"`
}

func (m *Management) importPickupLocations(c *call) (reply, error) {
	tenant, err := c.tenant()
	if err != nil {
		return reply{}, err
	}
	dryRun := c.query.OneOf("dry_run", "true", "false") == "true"
	if err := c.query.Err(); err != nil {
		return reply{}, err
	}
	rows, err := pickupcsv.Read(c.table, m.Normalizer)
	if err != nil {
		return reply{}, refusedTable(err)
	}
	done, err := m.PickupLocations.Import(c.Request.Context(), c.by, tenant, rows, dryRun, nil)
	if err != nil {
		return reply{}, err
	}
	v := importView{
		DryRun: dryRun, Created: done.Created, Updated: done.Updated, Unchanged: done.Unchanged,
		Incomplete: web.Each(done.Incomplete, func(r directory.IncompleteRow) incompleteView {
			shown := showPickup(r.Location)
			if dryRun {
				shown.ID = ""
			}
			return incompleteView{Line: r.Line, ID: shown.ID, Name: shown.Name, Missing: shown.Missing}
		}),
	}
	verb := "Imported"
	if dryRun {
		verb = "Nothing was stored; an import would come to this"
	}
	return answer(http.StatusOK, fmt.Sprintf("%s: %d created, %d updated, %d unchanged; %d cannot be used until completed.",
		verb, v.Created, v.Updated, v.Unchanged, len(v.Incomplete)), v), nil
}

// refusedTable lists everything that is wrong with a table.
func refusedTable(err error) error {
	var wrong pickupcsv.Errors
	if !errors.As(err, &wrong) {
		return err
	}
	errs := web.Each(wrong.Shown(), func(e pickupcsv.RowError) map[string]any {
		shown := map[string]any{"line": e.Line, "code": e.Code, "message": e.Message}
		if e.Field != "" {
			shown["field"] = e.Field
		}
		return shown
	})
	return &domain.Error{Kind: domain.KindInvalid, Code: domain.CodeImportInvalid,
		Message: fmt.Sprintf("%s in the table, the first one in line %d: %s. Nothing was stored.", wrong.Count(), wrong[0].Line,
			strings.TrimSpace(wrong[0].Field+" "+wrong[0].Message)),
		Details: map[string]any{"errors": errs}}
}
