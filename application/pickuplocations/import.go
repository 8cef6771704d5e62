package pickuplocations

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

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

// Import stores the rows of a table, no two of one name and address, all in one
// transaction. A row whose name and
// address the business has in that environment updates what it has there, the
// oldest where there are several; the others are created. Two imports of a
// business wait for each other, so that none doubles what the other creates; and
// a process runs one at a time, whosever it is: domain.Busy where that takes long.
//
// A dry run finds out what would come of it and changes nothing. each is called
// for every row, and again from the first one where the storage has to start
// over; it may be nil.
func (p *PickupLocations) Import(ctx context.Context, by domain.AuditActor, t domain.Tenant, rows []domain.PickupLocationRow, dryRun bool,
	each func()) (Imported, error) {
	var done Imported
	if dryRun {
		there, err := existing(ctx, p.storage.Read().Tenancy.Business, p.storage.Read().PickupLocations, t)
		if err != nil {
			return done, err
		}
		err = p.merge(ctx, rows, there, nil, t, &done, each)
		return done, err
	}
	end, err := p.begin(ctx)
	if err != nil {
		return done, err
	}
	defer end()
	err = p.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		done = Imported{}
		there, err := existing(ctx, tx.Tenancy.LockBusiness, tx.PickupLocations, t)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if err := p.merge(ctx, rows, there, tx.PickupLocations, t, &done, each); err != nil || done.Created+done.Updated == 0 {
			return domain.AuditRecord{}, err
		}
		d := record(domain.ActionPickupImport, t, t.BusinessID)
		d.Details["created"], d.Details["updated"] = strconv.Itoa(done.Created), strconv.Itoa(done.Updated)
		d.Details["unchanged"], d.Details["incomplete"] = strconv.Itoa(done.Unchanged), strconv.Itoa(len(done.Incomplete))
		return d, nil
	})
	return done, err
}

// importPatience is how long an import waits for the one before it.
const importPatience = 20 * time.Second

// begin waits until no other import is under way in this process: each one keeps
// the database busy for seconds, and SQLite for everybody.
func (p *PickupLocations) begin(ctx context.Context) (end func(), err error) {
	timer := time.NewTimer(importPatience)
	defer timer.Stop()
	select {
	case p.importing <- struct{}{}:
		return func() { <-p.importing }, nil
	case <-timer.C:
		return nil, domain.Busy(errImporting)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errImporting = errors.New("other imports are under way")

// writer is where rows go.
type writer interface {
	LockAll(ctx context.Context, t domain.Tenant, ids []domain.ID) ([]domain.PickupLocation, error)
	InsertAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error
	UpdateAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error
}

// existing finds the locations of the business by name and address.
func existing(ctx context.Context, business func(context.Context, domain.ID) (domain.Business, error), locations ports.PickupLocationReader,
	t domain.Tenant) (map[string]domain.PickupLocation, error) {
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
			there[domain.PickupIdentity(l.Name, l.Address)] = l
		}
		if len(found) <= batch {
			return there, nil
		}
		last := found[batch-1]
		page.After = &domain.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}

// merge finds out what becomes of each row and, unless to is nil, stores it.
func (p *PickupLocations) merge(ctx context.Context, rows []domain.PickupLocationRow, there map[string]domain.PickupLocation, to writer,
	t domain.Tenant, done *Imported, each func()) error {
	if each == nil {
		each = func() {}
	}
	located := make([]domain.PickupLocation, len(rows))
	var fresh []domain.PickupLocation
	var changed []int // rows
	for i, row := range rows {
		location, known := there[row.Identity()]
		if !known {
			location = p.build(Form{
				Name: row.Name, Contact: row.Contact, Address: row.Address, Coordinates: row.Coordinates,
				Active: row.Active == nil || *row.Active,
			})
			fresh = append(fresh, location)
			done.Created++
		} else {
			differs, err := location.Apply(row.Change(), p.clock.Now())
			switch {
			case err != nil:
				return err
			case differs:
				done.Updated++
			default:
				done.Unchanged++
			}
			if differs && to != nil {
				changed = append(changed, i)
			}
		}
		if located[i] = location; len(changed) == 0 || changed[len(changed)-1] != i {
			each()
		}
	}
	if to != nil {
		if err := p.amend(ctx, to, t, rows, located, changed, each); err != nil {
			return err
		}
		if err := to.InsertAll(ctx, t, fresh); err != nil {
			return err
		}
	}
	for i, location := range located {
		if !location.Complete() {
			done.Incomplete = append(done.Incomplete, IncompleteRow{Line: rows[i].Line, Location: location})
		}
	}
	return nil
}

// amend applies the changed rows to what is stored by now: the customer may have
// changed a location since it was listed. It locks in the order of the IDs, as
// another import does.
func (p *PickupLocations) amend(ctx context.Context, to writer, t domain.Tenant, rows []domain.PickupLocationRow,
	located []domain.PickupLocation, changed []int, each func()) error {
	slices.SortFunc(changed, func(a, b int) int { return cmp.Compare(located[a].ID, located[b].ID) })
	for some := range slices.Chunk(changed, ports.LocationsAtOnce) {
		ids := make([]domain.ID, len(some))
		for n, i := range some {
			ids[n] = located[i].ID
		}
		locked, err := to.LockAll(ctx, t, ids)
		if err != nil {
			return err
		}
		if len(locked) != len(some) {
			return domain.ErrNotFound
		}
		var differ []domain.PickupLocation
		for n, i := range some {
			located[i] = locked[n]
			differs, err := located[i].Apply(rows[i].Change(), p.clock.Now())
			if err != nil {
				return err
			}
			if differs {
				differ = append(differ, located[i])
			}
			each()
		}
		if err := to.UpdateAll(ctx, t, differ); err != nil {
			return err
		}
	}
	return nil
}
