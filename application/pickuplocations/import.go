package pickuplocations

import (
	"context"
	"strconv"

	"waybill/domain"
	"waybill/ports"
)

// Imported is what came of a table.
type Imported struct {
	Created, Updated, Unchanged int
	// Incomplete are the locations of the table that cannot be used yet, in its
	// order, with the line they came from.
	Incomplete []IncompleteRow
}

// IncompleteRow is a location that still lacks something.
type IncompleteRow struct {
	Line     int
	Location domain.PickupLocation
}

// Import stores the rows of a table, all in one transaction. A row whose name and
// address the business has in that environment updates what it has there, the
// oldest where there are several; the others are created. Two imports of a
// business wait for each other, so that none doubles what the other creates.
//
// A dry run finds out what would come of it and changes nothing. each is called
// for every row, and again from the first one where the storage has to start
// over; it may be nil.
func (p *PickupLocations) Import(ctx context.Context, by domain.Operator, t domain.Tenant, rows []Row, dryRun bool, each func()) (Imported, error) {
	var done Imported
	if dryRun {
		there, err := existing(ctx, p.storage.Read().Tenancy.Business, p.storage.Read().PickupLocations, t)
		if err != nil {
			return done, err
		}
		err = p.merge(ctx, rows, there, nowhere{}, t, &done, each)
		return done, err
	}
	err := p.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.Deed, error) {
		done = Imported{}
		there, err := existing(ctx, tx.Tenancy.LockBusiness, tx.PickupLocations, t)
		if err != nil {
			return domain.Deed{}, err
		}
		if err := p.merge(ctx, rows, there, tx.PickupLocations, t, &done, each); err != nil || done.Created+done.Updated == 0 {
			return domain.Deed{}, err
		}
		d := deed(domain.ActionPickupImport, t, t.BusinessID)
		d.Details["created"], d.Details["updated"] = strconv.Itoa(done.Created), strconv.Itoa(done.Updated)
		d.Details["unchanged"], d.Details["incomplete"] = strconv.Itoa(done.Unchanged), strconv.Itoa(len(done.Incomplete))
		return d, nil
	})
	return done, err
}

// writer is where rows go.
type writer interface {
	Lock(ctx context.Context, t domain.Tenant, id domain.ID) (domain.PickupLocation, error)
	InsertAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error
	Update(ctx context.Context, t domain.Tenant, p domain.PickupLocation) error
}

// nowhere is the writer of a dry run, which never locks.
type nowhere struct{}

func (nowhere) Lock(context.Context, domain.Tenant, domain.ID) (domain.PickupLocation, error) {
	return domain.PickupLocation{}, domain.ErrNotFound
}
func (nowhere) InsertAll(context.Context, domain.Tenant, []domain.PickupLocation) error { return nil }
func (nowhere) Update(context.Context, domain.Tenant, domain.PickupLocation) error      { return nil }

// existing finds the locations of the business by name and address.
func existing(ctx context.Context, business func(context.Context, domain.ID) (domain.Business, error), locations ports.PickupLocationReader, t domain.Tenant) (map[string]domain.PickupLocation, error) {
	const batch = 1000
	if _, err := business(ctx, t.BusinessID); err != nil {
		return nil, err
	}
	there := map[string]domain.PickupLocation{}
	page := domain.PageRequest{Limit: batch}
	for {
		found, err := locations.List(ctx, t, domain.PickupLocationFilter{}, page)
		if err != nil {
			return nil, err
		}
		for _, l := range found { // newest first, so that the oldest one stands
			there[identity(l.Name, l.Address)] = l
		}
		if len(found) <= batch {
			return there, nil
		}
		last := found[batch-1]
		page.After = &domain.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}

func (p *PickupLocations) merge(ctx context.Context, rows []Row, there map[string]domain.PickupLocation, to writer, t domain.Tenant, done *Imported, each func()) error {
	var fresh []domain.PickupLocation
	for _, row := range rows {
		location, known := there[identity(row.Name, row.Address)]
		changed := false
		var err error
		if known {
			changed, err = location.Apply(row.change(), p.clock.Now())
		}
		switch {
		case err != nil:
		case !known:
			location = p.build(Form{
				Name: row.Name, Contact: row.Contact, Address: row.Address, Coordinates: row.Coordinates,
				Active: row.Active == nil || *row.Active,
			})
			fresh = append(fresh, location)
			done.Created++
		case changed:
			location, err = p.amend(ctx, to, t, location, row)
			done.Updated++
		default:
			done.Unchanged++
		}
		if err != nil {
			return err
		}
		if !location.Complete() {
			done.Incomplete = append(done.Incomplete, IncompleteRow{Line: row.Line, Location: location})
		}
		if each != nil {
			each()
		}
	}
	return to.InsertAll(ctx, t, fresh)
}

// amend applies the row to what is stored by now: the customer may have changed
// the location since it was listed.
func (p *PickupLocations) amend(ctx context.Context, to writer, t domain.Tenant, listed domain.PickupLocation, row Row) (domain.PickupLocation, error) {
	if to == (nowhere{}) {
		return listed, nil
	}
	location, err := to.Lock(ctx, t, listed.ID)
	if err != nil {
		return location, err
	}
	changed, err := location.Apply(row.change(), p.clock.Now())
	if err != nil || !changed {
		return location, err
	}
	return location, to.Update(ctx, t, location)
}

// change leaves alone what the row says nothing about.
func (r *Row) change() domain.PickupLocationChange {
	c := domain.PickupLocationChange{Active: r.Active}
	if r.Contact != "" {
		c.Contact = &r.Contact
	}
	if r.Coordinates != nil {
		c.Latitude, c.Longitude = &r.Coordinates.Latitude, &r.Coordinates.Longitude
	}
	return c
}
