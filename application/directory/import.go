package directory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"waybill/domain"
	"waybill/ports"
)

// Imported is the result of an import.
type Imported struct {
	Created, Updated, Unchanged int
	// Incomplete lists the locations of the table that cannot be used yet, in its order, with their
	// lines.
	Incomplete []IncompleteRow
	Fates      []Fate // one per row, in their order
}

// Outcome is the result of a row.
type Outcome string

// The outcomes.
const (
	RowCreated   Outcome = "created"
	RowUpdated   Outcome = "updated"
	RowUnchanged Outcome = "unchanged"
)

// Fate is a row with its outcome.
type Fate struct {
	Line     int
	Outcome  Outcome
	Location domain.PickupLocation // as it is afterwards; its ID has no meaning where a dry run would create it
	Changed  []string              // the fields that an update changes
	// Mark is the same for the same row with the same outcome for the same record, as long as the
	// record was not changed in between.
	Mark string
}

// IncompleteRow is a location that still lacks something.
type IncompleteRow struct {
	Line     int
	Location domain.PickupLocation
}

// Import stores the rows of a table, no two of one name and address, all in one transaction. A row
// whose name and address the business has in that environment updates that location, the oldest
// where there are several. The other rows are created. Two imports of a business wait for each
// other, so that none creates a location twice. A process runs one import in live and one in the
// sandbox at a time, for all businesses. It returns domain.Busy where the wait takes long, or where
// another import of the business waits already.
//
// A dry run finds out what would happen and changes nothing. each is called for every row, and
// again from the first one where the storage starts over; it may be nil.
func (p *PickupLocations) Import(ctx context.Context, by domain.AuditActor, t domain.Tenant, rows []domain.PickupLocationRow, dryRun bool,
	each func()) (Imported, error) {
	return p.load(ctx, by, t, rows, dryRun, nil, each)
}

// ImportPreviewed imports exactly what the dry run showed, or nothing. marks are those of the fates
// that it showed. Where one of them has changed, it returns ErrPreviewOutdated and the fates of a
// dry run now.
func (p *PickupLocations) ImportPreviewed(ctx context.Context, by domain.AuditActor, t domain.Tenant, rows []domain.PickupLocationRow,
	marks []string) (Imported, error) {
	return p.load(ctx, by, t, rows, false, func(fates []Fate) error {
		if slices.EqualFunc(fates, marks, func(f Fate, mark string) bool { return f.Mark == mark }) {
			return nil
		}
		return ErrPreviewOutdated
	}, nil)
}

// ErrPreviewOutdated means that the import would do something else than its preview showed.
var ErrPreviewOutdated = errors.New("the pickup locations have changed since the preview")

// load imports, but does nothing where the fates do not pass the check; nil: all do.
func (p *PickupLocations) load(ctx context.Context, by domain.AuditActor, t domain.Tenant, rows []domain.PickupLocationRow, dryRun bool,
	check func([]Fate) error, each func()) (Imported, error) {
	var done Imported
	if dryRun {
		err := p.preview(ctx, by, t, rows, &done, each)
		return done, err
	}
	end, err := p.turns.begin(ctx, t)
	if err != nil {
		return done, err
	}
	defer end()
	if check != nil { // on SQLite a transaction blocks all writers
		if err := p.preview(ctx, by, t, rows, &done, nil); err != nil {
			return done, err
		}
		if err := check(done.Fates); err != nil {
			return done, err
		}
	}
	err = p.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		done = Imported{}
		there, err := existing(ctx, tx.Tenancy.LockBusiness, tx.PickupLocations, t)
		if err != nil {
			return domain.AuditRecord{}, err
		}
		if by.BusinessID != "" {
			if err := room(ctx, tx.PickupLocations, t, added(rows, there)); err != nil {
				return domain.AuditRecord{}, err
			}
		}
		if err := p.merge(ctx, rows, there, tx.PickupLocations, t, &done, check, each); err != nil {
			return domain.AuditRecord{}, err
		}
		if done.Created+done.Updated == 0 {
			return domain.AuditRecord{}, nil
		}
		d := record(domain.ActionPickupImport, t, t.BusinessID)
		d.Details["created"], d.Details["updated"] = strconv.Itoa(done.Created), strconv.Itoa(done.Updated)
		d.Details["unchanged"], d.Details["incomplete"] = strconv.Itoa(done.Unchanged), strconv.Itoa(len(done.Incomplete))
		return d, nil
	})
	return done, err
}

// preview finds out what would happen to each row.
func (p *PickupLocations) preview(ctx context.Context, by domain.AuditActor, t domain.Tenant, rows []domain.PickupLocationRow,
	done *Imported, each func()) error {
	there, err := existing(ctx, p.storage.Read().Tenancy.Business, p.storage.Read().PickupLocations, t)
	if err != nil {
		return err
	}
	if by.BusinessID != "" {
		if err := room(ctx, p.storage.Read().PickupLocations, t, added(rows, there)); err != nil {
			return err
		}
	}
	return p.merge(ctx, rows, there, nil, t, done, nil, each)
}

// writer is where rows are stored.
type writer interface {
	LockAll(ctx context.Context, t domain.Tenant, ids []domain.ID) ([]domain.PickupLocation, error)
	InsertAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error
	UpdateAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error
}

// existing returns the locations of the business by name and address.
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
		for _, l := range found { // newest first, so that the oldest one wins
			there[domain.PickupIdentity(l.Name, l.Address)] = l
		}
		if len(found) <= batch {
			return there, nil
		}
		last := found[batch-1]
		page.After = &domain.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}

// added returns how many rows are locations that the business does not have.
func added(rows []domain.PickupLocationRow, there map[string]domain.PickupLocation) (n int) {
	for _, row := range rows {
		if _, known := there[row.Identity()]; !known {
			n++
		}
	}
	return n
}

// merge finds out what happens to each row and, unless to is nil, stores it where the fates pass
// the check.
func (p *PickupLocations) merge(ctx context.Context, rows []domain.PickupLocationRow, there map[string]domain.PickupLocation, to writer,
	t domain.Tenant, done *Imported, check func([]Fate) error, each func()) error {
	if each == nil {
		each = func() {}
	}
	if check == nil {
		check = func([]Fate) error { return nil }
	}
	done.Fates = make([]Fate, len(rows))
	var fresh []domain.PickupLocation
	var changed []int // rows
	for i, row := range rows {
		fate := &done.Fates[i]
		location, known := there[row.Identity()]
		if !known {
			location = p.build(PickupLocationForm{
				Name: row.Name, Contact: row.Contact, Address: row.Address, Coordinates: row.Coordinates,
				Active: row.Active == nil || *row.Active,
			})
			fresh = append(fresh, location)
			*fate = Fate{Line: row.Line, Outcome: RowCreated, Location: location}
			fate.mark(&row, nil)
		} else if err := p.update(fate, &row, location); err != nil {
			return err
		}
		if fate.Outcome == RowUpdated && to != nil {
			changed = append(changed, i)
		} else {
			each()
		}
	}
	if to != nil {
		if err := check(done.Fates); err != nil { // before the database has work
			return err
		}
		if err := p.amend(ctx, to, t, rows, done.Fates, changed, each); err != nil {
			return err
		}
		if err := check(done.Fates); err != nil { // some may have changed until they were locked
			return err
		}
		if err := to.InsertAll(ctx, t, fresh); err != nil {
			return err
		}
	}
	for i := range done.Fates {
		fate := &done.Fates[i]
		switch fate.Outcome {
		case RowCreated:
			done.Created++
		case RowUpdated:
			done.Updated++
		case RowUnchanged:
			done.Unchanged++
		}
		if !fate.Location.Complete() {
			done.Incomplete = append(done.Incomplete, IncompleteRow{Line: fate.Line, Location: fate.Location})
		}
	}
	return nil
}

// update determines the fate of a row for an existing location.
func (p *PickupLocations) update(f *Fate, row *domain.PickupLocationRow, there domain.PickupLocation) error {
	before := there
	*f = Fate{Line: row.Line, Outcome: RowUnchanged}
	differs, err := there.Apply(row.Change(), p.clock.Now())
	if err != nil {
		return err
	}
	if differs {
		f.Outcome, f.Changed = RowUpdated, there.Differing(&before)
	}
	f.Location = there
	f.mark(row, &before)
	return nil
}

// mark sets the mark. A location that a row leaves unchanged may change meanwhile.
func (f *Fate) mark(row *domain.PickupLocationRow, before *domain.PickupLocation) {
	text := fmt.Sprintf("%d %q %q %q %s", row.Line, row.Name, row.Address, row.Contact, f.Outcome)
	if row.Coordinates != nil {
		text += fmt.Sprintf(" %v", *row.Coordinates)
	}
	if row.Active != nil {
		text += fmt.Sprintf(" %v", *row.Active)
	}
	if before != nil {
		text += " " + string(before.ID)
	}
	if f.Outcome == RowUpdated {
		text += " " + domain.FormatTime(before.UpdatedAt)
	}
	sum := sha256.Sum256([]byte(text))
	f.Mark = hex.EncodeToString(sum[:8])
}

// amend applies the changed rows to the current locations, since the customer may have changed one
// after it was listed. It locks in the order of the IDs, as another import does.
func (p *PickupLocations) amend(ctx context.Context, to writer, t domain.Tenant, rows []domain.PickupLocationRow,
	fates []Fate, changed []int, each func()) error {
	slices.SortFunc(changed, func(a, b int) int { return cmp.Compare(fates[a].Location.ID, fates[b].Location.ID) })
	for some := range slices.Chunk(changed, ports.LocationsAtOnce) {
		ids := make([]domain.ID, len(some))
		for n, i := range some {
			ids[n] = fates[i].Location.ID
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
			if err := p.update(&fates[i], &rows[i], locked[n]); err != nil {
				return err
			}
			if fates[i].Outcome == RowUpdated {
				differ = append(differ, fates[i].Location)
			}
			each()
		}
		if err := to.UpdateAll(ctx, t, differ); err != nil {
			return err
		}
	}
	return nil
}
