package toystore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"waybill/domain"
	"waybill/ports"
)

type deliveries struct{ session }

func positionOf(d *domain.Delivery) domain.Position {
	return domain.Position{CreatedAt: d.CreatedAt, ID: d.ID}
}

func (s deliveries) Get(_ context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error) {
	return s.first(t, func(d *domain.Delivery) bool { return d.ID == id })
}

func (s deliveries) Lock(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error) {
	return s.Get(ctx, t, id)
}

func (s deliveries) FindByExternalID(_ context.Context, t domain.Tenant, externalID string) (*domain.Delivery, error) {
	return s.first(t, func(d *domain.Delivery) bool { return externalID != "" && d.ExternalID == externalID })
}

func (s deliveries) first(t domain.Tenant, admits func(*domain.Delivery) bool) (*domain.Delivery, error) {
	d, err := s.now().deliveries.first(func(d *domain.Delivery) bool { return sameApplication(d.Tenant, t) && admits(d) })
	if err != nil {
		return nil, err
	}
	return clone(d), nil
}

// clone is a delivery that the caller may change.
func clone(d *domain.Delivery) *domain.Delivery {
	return domain.RestoreDelivery(d.Booking, d.Lifecycle())
}

func (s deliveries) List(_ context.Context, t domain.Tenant, f domain.DeliveryFilter, p domain.PageRequest) ([]*domain.Delivery, error) {
	all := s.now().deliveries.where(func(d *domain.Delivery) bool {
		return sameApplication(d.Tenant, t) && (f.Status == "" || d.Status() == f.Status) &&
			(f.ExternalID == "" || d.ExternalID == f.ExternalID) && within(d.CreatedAt, f.CreatedAfter, f.CreatedBefore)
	}, by(positionOf))
	for i, d := range all {
		all[i] = clone(d)
	}
	return page(all, p, f.NewestFirst, positionOf), nil
}

func (s deliveries) Events(ctx context.Context, t domain.Tenant, id domain.ID) ([]domain.Event, error) {
	if _, err := s.Get(ctx, t, id); err != nil {
		return nil, nil //nolint:nilerr // no such delivery, so no events
	}
	events, _ := s.now().timelines.get(id)
	return slices.Clone(events), nil
}

func (s deliveries) Owner(_ context.Context, id domain.ID) (domain.Tenant, error) {
	d, err := s.now().deliveries.take(id)
	if err != nil {
		return domain.Tenant{}, err
	}
	return d.Tenant, nil
}

var errNotLocked = errors.New("toystore: the delivery changed since it was read; lock it first")

func (s deliveries) Update(ctx context.Context, t domain.Tenant, d *domain.Delivery, events ...ports.EventWrite) error {
	stored, err := s.Get(ctx, t, d.ID)
	if err != nil {
		return err
	}
	life := d.Lifecycle()
	if stored.Lifecycle().Sequence != life.Sequence-len(events) {
		return errNotLocked
	}
	if life.Simulation == nil {
		life.Simulation = stored.Lifecycle().Simulation
	}
	s.tx.deliveries.put(d.ID, domain.RestoreDelivery(stored.Booking, life))
	for _, e := range events {
		if err := s.addEvent(t, e); err != nil {
			return err
		}
	}
	return nil
}

// addEvent stores an event in the timeline and publishes it.
func (s session) addEvent(t domain.Tenant, e ports.EventWrite) error {
	timeline, _ := s.tx.timelines.get(e.DeliveryID)
	s.tx.timelines.put(e.DeliveryID, append(slices.Clone(timeline), e.Event))
	return s.publish(t, domain.FeedEvent{
		ID: e.ID, Type: e.Type, DeliveryID: e.DeliveryID, Sequence: e.Sequence, OccurredAt: e.OccurredAt, Payload: e.Payload,
	}, "")
}

type tracking struct{ session }

func (s tracking) Find(_ context.Context, r domain.Reference) (domain.Tracking, error) {
	now := s.now()
	d, err := now.deliveries.first(func(d *domain.Delivery) bool { return d.Reference == r })
	if err != nil {
		return domain.Tracking{}, err
	}
	business, _ := now.businesses.get(d.Tenant.BusinessID)
	timeline, _ := now.timelines.get(d.ID)
	t := domain.Tracking{
		Sender: business.Name, Municipality: d.Dropoff.Municipality, Test: d.Simulated(), Status: d.Status(), Sequence: d.Lifecycle().Sequence,
	}
	for _, e := range timeline[max(0, len(timeline)-domain.MaxTrackedEvents):] {
		t.Events = append(t.Events, domain.TrackedEvent{Status: e.Status, OccurredAt: e.OccurredAt, Reason: e.Reason})
	}
	return t, nil
}

func (s tracking) Known(_ context.Context, wanted []domain.Reference) (known []domain.Reference, _ error) {
	for _, d := range s.now().deliveries.rows {
		if slices.Contains(wanted, d.Reference) {
			known = append(known, d.Reference)
		}
	}
	return known, nil
}

type simulations struct{ session }

func (s simulations) running(admits func(*domain.Delivery) bool) []*domain.Delivery {
	return s.now().deliveries.where(func(d *domain.Delivery) bool { return d.Simulating() && admits(d) }, func(a, b *domain.Delivery) int {
		return a.Simulation().NextStepAt.Compare(*b.Simulation().NextStepAt)
	})
}

func (s simulations) Due(_ context.Context, by time.Time, limit int) (steps []ports.DueStep, _ error) {
	due := s.running(func(d *domain.Delivery) bool { return !d.Simulation().NextStepAt.After(by) })
	for _, d := range due[:min(len(due), limit)] {
		steps = append(steps, ports.DueStep{Delivery: d.ID, Done: d.Simulation().Step, DueAt: *d.Simulation().NextStepAt})
	}
	return steps, nil
}

func (s simulations) Load(_ context.Context, t domain.Tenant) (int, time.Time, error) {
	var first time.Time
	all := s.running(func(d *domain.Delivery) bool { return sameApplication(d.Tenant, t) })
	for _, d := range all {
		if end := d.Simulation().EndsAt(); first.IsZero() || end.Before(first) {
			first = *end
		}
	}
	return len(all), first, nil
}

func (s simulations) Running(context.Context) (int, error) {
	return len(s.running(func(*domain.Delivery) bool { return true })), nil
}

func (s simulations) Lock(context.Context, domain.Tenant) error { return nil } // there is one writer at a time

func (s simulations) Enter(_ context.Context, t domain.Tenant) error {
	n, _ := s.tx.simulations.get(t.ApplicationID)
	if n >= domain.MaxRunningSimulations {
		return ports.ErrSimulationLimit
	}
	s.tx.simulations.put(t.ApplicationID, n+1)
	return nil
}

func (s simulations) Leave(_ context.Context, t domain.Tenant) error {
	n, _ := s.tx.simulations.get(t.ApplicationID)
	if n == 0 {
		return errors.New("toystore: no simulation is counted")
	}
	s.tx.simulations.put(t.ApplicationID, n-1)
	return nil
}

type keyName struct {
	application domain.ID
	environment domain.Environment
	key         string
}

func nameOf(t domain.Tenant, key string) keyName { return keyName{t.ApplicationID, t.Environment, key} }

// keyRecord is an idempotency key, and the lease of a bulk under it.
type keyRecord struct {
	domain.KeyRecord
	expires time.Time
	token   string    // of the lease; empty: there was none
	until   time.Time // it lasts
}

// longest is more than any lease lasts: one that reaches further is from before
// the clock was set back, and over.
const longest = 11 * time.Minute

func leased(until time.Time) bool {
	left := time.Until(until)
	return left >= 0 && left <= longest
}

type keys struct{ session }

func (s keys) Find(_ context.Context, t domain.Tenant, key string) (domain.KeyRecord, error) {
	r, err := s.now().keys.take(nameOf(t, key))
	if err != nil || !r.expires.After(time.Now()) {
		return domain.KeyRecord{}, domain.ErrNotFound
	}
	if !r.Answered() && r.token != "" && leased(r.until) {
		r.LeaseLeft = time.Until(r.until)
	}
	return r.KeyRecord, nil
}

func (s keys) Claim(_ context.Context, t domain.Tenant, r domain.KeyRecord, retention time.Duration) error {
	if known, ok := s.tx.keys.get(nameOf(t, r.Key)); ok && (known.expires.After(time.Now()) || leased(known.until)) {
		return ports.ErrKeyTaken
	}
	s.tx.keys.put(nameOf(t, r.Key), keyRecord{KeyRecord: r, expires: time.Now().Add(retention)})
	return nil
}

func (s keys) Complete(_ context.Context, t domain.Tenant, key string, a domain.Answer) error {
	if r, ok := s.tx.keys.get(nameOf(t, key)); ok && r.Answered() {
		return domain.ErrNotFound
	}
	return update(&s.tx.keys, nameOf(t, key), func(r *keyRecord) { r.Answer = a })
}

type bulks struct{ session }

func (s bulks) Claim(_ context.Context, t domain.Tenant, r domain.KeyRecord, token string, lease, retention time.Duration) (ports.BulkHold,
	error) {
	now := time.Now()
	next := keyRecord{KeyRecord: r, expires: now.Add(retention), token: token, until: now.Add(lease)}
	next.Answer = domain.Answer{}
	if known, ok := s.tx.keys.get(nameOf(t, r.Key)); ok {
		valid, held := known.expires.After(now), known.token != "" && leased(known.until)
		switch {
		case valid && !known.Answered() && known.Fingerprint == r.Fingerprint && known.token != "" && (!held || known.token == token):
			next.KeyRecord, next.expires = known.KeyRecord, known.expires // it is resumed
		case valid || held:
			return ports.BulkHold{}, ports.ErrKeyTaken
		}
	}
	s.tx.keys.put(nameOf(t, r.Key), next)
	return ports.BulkHold{Key: r.Key, ClaimID: next.ClaimID, Token: token, Lease: lease}, nil
}

func (s bulks) Items(_ context.Context, t domain.Tenant, h ports.BulkHold) ([]domain.BulkItem, error) {
	if r, ok := s.now().keys.get(nameOf(t, h.Key)); !ok || r.ClaimID != h.ClaimID {
		return nil, nil
	}
	items, _ := s.now().bulkItems.get(h.ClaimID)
	return slices.Clone(items), nil
}

// held changes the record of a bulk that is the holder's.
func (s bulks) held(t domain.Tenant, h ports.BulkHold, change func(*keyRecord)) error {
	r, ok := s.tx.keys.get(nameOf(t, h.Key))
	if !ok || r.ClaimID != h.ClaimID || r.token != h.Token || r.Answered() {
		return ports.ErrLeaseLost
	}
	return update(&s.tx.keys, nameOf(t, h.Key), change)
}

func (s bulks) Extend(_ context.Context, t domain.Tenant, h ports.BulkHold) error {
	return s.held(t, h, func(r *keyRecord) { r.until = time.Now().Add(h.Lease) })
}

func (s bulks) AddItem(_ context.Context, t domain.Tenant, h ports.BulkHold, item domain.BulkItem) error {
	if item.Index < 0 || item.Index >= domain.MaxBulkItems {
		return errors.New("toystore: no item has this index")
	}
	items, _ := s.tx.bulkItems.get(h.ClaimID)
	at, done := slices.BinarySearchFunc(items, item.Index, func(i domain.BulkItem, index int) int { return cmp.Compare(i.Index, index) })
	if r, ok := s.tx.keys.get(nameOf(t, h.Key)); done || !ok || r.ClaimID != h.ClaimID {
		return ports.ErrItemDone
	}
	s.tx.bulkItems.put(h.ClaimID, slices.Insert(slices.Clone(items), at, item))
	return nil
}

func (s bulks) Finish(_ context.Context, t domain.Tenant, h ports.BulkHold, a domain.Answer, retention time.Duration) error {
	if err := s.held(t, h, func(r *keyRecord) {
		r.Answer, r.expires, r.token, r.until = a, time.Now().Add(retention), "", time.Time{}
	}); err != nil {
		return err
	}
	s.tx.bulkItems.remove(h.ClaimID)
	return nil
}

func (s bulks) Release(_ context.Context, t domain.Tenant, h ports.BulkHold) error {
	_ = s.held(t, h, func(r *keyRecord) { r.until = time.Now().Add(-time.Millisecond) }) // or it was lost
	return nil
}

// Book is one transaction.
func (s *Store) Book(ctx context.Context, w ports.BookingWrite) error {
	within, cancel := context.WithTimeout(ctx, ports.BookingBudget)
	defer cancel()
	err := s.transact(within, func(on session) error { return on.book(within, w) })
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		return errors.Join(ports.ErrBookingLate, err)
	}
	return err
}

// BookRun books, one behind the other, until one is refused.
func (s *Store) BookRun(ctx context.Context, writes []ports.BookingWrite) (n int, err error) {
	err = s.transact(ctx, func(on session) error {
		for n = 0; n < len(writes); n++ {
			one := session{store: s, tx: on.tx.shared()}
			if err := one.book(ctx, writes[n]); errors.Is(err, ports.ErrLeaseLost) && n == 0 {
				return err
			} else if err != nil {
				return nil //nolint:nilerr // it is for Book to tell
			}
			*on.tx = *one.tx
		}
		return nil
	})
	if err != nil {
		n = 0
	}
	return n, err
}

func (s session) book(ctx context.Context, w ports.BookingWrite) error {
	t := w.Delivery.Tenant
	if err := s.claim(ctx, w); err != nil {
		return err
	}
	if w.Delivery.Simulating() {
		if err := (simulations{s}).Enter(ctx, t); err != nil {
			return err
		}
	}
	if err := s.bookParty(ctx, w); err != nil {
		return err
	}
	if _, err := (recipients{s}).Get(ctx, t, w.Recipient.ID); err != nil {
		return err
	}
	if a, err := (recipients{s}).GetAddress(ctx, t, w.Address.ID); err != nil || a.RecipientID != w.Recipient.ID {
		return domain.ErrNotFound
	}
	for _, d := range s.tx.deliveries.rows {
		switch {
		case w.Delivery.ExternalID != "" && d.ExternalID == w.Delivery.ExternalID && sameApplication(d.Tenant, t):
			return ports.ErrExternalIDTaken
		case d.Reference == w.Delivery.Reference:
			return ports.ErrReferenceTaken
		}
	}
	s.tx.deliveries.put(w.Delivery.ID, clone(w.Delivery))
	return s.addEvent(t, w.Event)
}

func (s session) claim(ctx context.Context, w ports.BookingWrite) error {
	t := w.Delivery.Tenant
	if w.Bulk == nil {
		return keys{s}.Claim(ctx, t, w.Key, w.Retention)
	}
	if err := (bulks{s}).Extend(ctx, t, w.Bulk.Hold); err != nil {
		return err
	}
	return bulks{s}.AddItem(ctx, t, w.Bulk.Hold, w.Bulk.Item)
}

// bookParty brings recipient and address up to date.
func (s session) bookParty(ctx context.Context, w ports.BookingWrite) error {
	t, directory := w.Delivery.Tenant, recipients{s}
	switch {
	case w.NewRecipient:
		if _, created, err := directory.Add(ctx, t, w.Recipient); err != nil || !created {
			return errors.Join(ports.ErrDirectoryChanged, err)
		}
	case w.FillName:
		if _, err := directory.Get(ctx, t, w.Recipient.ID); err != nil {
			return err
		}
		directory.fillName(w.Recipient)
	}
	if w.NewAddress {
		_, created, err := directory.AddAddress(ctx, t, w.Address)
		if err == nil && !created {
			err = ports.ErrDirectoryChanged
		}
		return err
	}
	return nil
}
