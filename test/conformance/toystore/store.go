// Package toystore is a third storage adapter, in memory and for tests: it shows
// that the ports and their exam are all there is to a store. Nothing outlives the
// process, and look-ups go through all records: it is no store for production.
//
// One transaction writes at a time, on a copy of what it touches; the commit puts
// the copy in the place of the original, so that readers never wait and never see
// half of a change.
package toystore

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Database = (*Store)(nil)

// Store is an empty database at first. It is safe for concurrent use.
type Store struct {
	committed atomic.Pointer[state]
	writing   chan struct{} // holds one where a transaction writes
	name      string
	onFanout  ports.FanoutListener
}

// New makes a store of its own.
func New() *Store {
	s := &Store{writing: make(chan struct{}, 1), name: rand.Text()}
	s.committed.Store(&state{})
	return s
}

var opened struct {
	sync.Mutex
	by map[string]*Store
}

// Open gives the store of a URL, the same one for as long as the process lives.
func Open(url string) *Store {
	opened.Lock()
	defer opened.Unlock()
	if opened.by[url] == nil {
		if opened.by == nil {
			opened.by = map[string]*Store{}
		}
		opened.by[url] = New()
	}
	return opened.by[url]
}

// state is all that is stored. The record of a deleted endpoint goes with it.
type state struct {
	commit int64 // number of the transaction, which is its place in the feed

	businesses   table[domain.ID, domain.Business]
	applications table[domain.ID, domain.Application]
	apiKeys      table[domain.ID, domain.APIKey]
	peppers      [][32]byte
	operators    table[domain.ID, domain.OperatorToken]
	audit        table[domain.ID, domain.AuditEntry]
	persons      table[domain.ID, domain.Person]
	memberships  table[membershipKey, domain.Membership]
	links        table[domain.ID, domain.Link]
	sessions     table[domain.ID, domain.Session]
	passkeys     table[domain.ID, domain.Passkey]
	views        table[domain.ID, domain.CustomerView]
	identities   table[identityKey, domain.ConnectedIdentity]
	readiness    table[readinessKey, domain.Readied]
	ceremonies   table[domain.ID, domain.Ceremony]
	mails        table[domain.ID, domain.Mail]
	devices      table[deviceKey, time.Time]
	recipients   table[domain.ID, of[domain.Recipient]]
	addresses    table[domain.ID, of[domain.Address]]
	pickups      table[domain.ID, of[domain.PickupLocation]]
	deliveries   table[domain.ID, *domain.Delivery]
	timelines    table[domain.ID, []domain.Event]
	simulations  table[domain.ID, int] // running, by application
	keys         table[keyName, keyRecord]
	bulkItems    table[string, []domain.BulkItem] // by claim
	endpoints    table[domain.ID, endpoint]
	webhooks     table[domain.ID, domain.WebhookDelivery]
	attempts     table[domain.ID, []domain.WebhookAttempt]
	feed         table[domain.ID, of[domain.FeedEvent]]
	moveRuns     table[domain.ID, moveRun]
	pauses       table[domain.Environment, domain.SendingPause]
	processes    table[domain.ID, domain.Process]
	requests     table[domain.ID, domain.RequestRecord]
	usage        table[usageKey, domain.UsageMinute]
	counted      table[domain.ID, bool] // events, for reports
	keyCheck     []byte
	clock        ports.ClockReading

	fanned []domain.ID // endpoints for which this transaction has something
}

// of is a record of a tenant.
type of[T any] struct {
	tenant domain.Tenant
	record T
}

// table is a map that is copied before its first change after share.
type table[K comparable, V any] struct {
	rows map[K]V
	own  bool
}

func (t *table[K, V]) get(k K) (V, bool) { v, ok := t.rows[k]; return v, ok }

func (t *table[K, V]) put(k K, v V) {
	t.change()
	t.rows[k] = v
}

func (t *table[K, V]) remove(k K) {
	t.change()
	delete(t.rows, k)
}

func (t *table[K, V]) change() {
	if !t.own {
		rows := make(map[K]V, len(t.rows)+1)
		maps.Copy(rows, t.rows)
		t.rows, t.own = rows, true
	}
}

// take is get of what has to be there.
func (t *table[K, V]) take(k K) (V, error) {
	v, ok := t.rows[k]
	if !ok {
		return v, domain.ErrNotFound
	}
	return v, nil
}

// where lists what a condition admits, in the order of less.
func (t *table[K, V]) where(admits func(V) bool, order func(a, b V) int) []V {
	var found []V
	for _, v := range t.rows {
		if admits(v) {
			found = append(found, v)
		}
	}
	slices.SortFunc(found, order)
	return found
}

// first is one of those that a condition admits.
func (t *table[K, V]) first(admits func(V) bool) (V, error) {
	for _, v := range t.rows {
		if admits(v) {
			return v, nil
		}
	}
	var none V
	return none, domain.ErrNotFound
}

// shared is a copy whose tables copy themselves before they change.
func (s *state) shared() *state {
	c := *s
	for _, t := range []interface{ share() }{
		&c.businesses, &c.applications, &c.apiKeys, &c.operators, &c.audit, &c.persons, &c.memberships, &c.links, &c.sessions,
		&c.passkeys, &c.views, &c.identities, &c.ceremonies, &c.mails, &c.devices,
		&c.pauses, &c.processes,
		&c.recipients, &c.addresses, &c.pickups, &c.deliveries, &c.timelines, &c.simulations, &c.keys, &c.bulkItems,
		&c.endpoints, &c.webhooks, &c.attempts, &c.feed,
		&c.requests, &c.usage, &c.counted, &c.moveRuns,
	} {
		t.share()
	}
	c.fanned = slices.Clone(c.fanned)
	return &c
}

func (t *table[K, V]) share() { t.own = false }

// session is what the ports are implemented on: a transaction, or what is committed.
type session struct {
	store *Store
	tx    *state // nil outside a transaction
}

func (s session) now() *state {
	if s.tx != nil {
		return s.tx
	}
	return s.store.committed.Load()
}

// Read gives access to what is committed.
func (s *Store) Read() ports.Readers {
	on := session{store: s}
	return ports.Readers{
		Idempotency: keys{on}, Tenancy: tenancy{on}, Recipients: recipients{on}, PickupLocations: pickups{on},
		Deliveries: deliveries{on}, Simulations: simulations{on}, Webhooks: webhooks{on}, Feed: feed{on}, Tracking: tracking{on},
		Operators: operators{on}, Audit: audit{on}, Platform: platform{on},
		Persons: persons{on}, Memberships: memberships{on}, Links: links{on}, Sessions: sessions{on}, Requests: requests{on},
		Passkeys: passkeys{on}, Views: views{on}, Readiness: readiness{on}, Reports: reports{on},
		Identities: identities{on}, MoveRuns: moveRuns{on},
		Sending: sending{on}, Machinery: machinery{on},
	}
}

// InTx runs fn alone, and once.
func (s *Store) InTx(ctx context.Context, fn func(ctx context.Context, tx ports.Stores) error) error {
	return s.transact(ctx, func(on session) error {
		return fn(ctx, ports.Stores{
			Idempotency: keys{on}, Tenancy: tenancy{on}, Recipients: recipients{on}, PickupLocations: pickups{on},
			Deliveries: deliveries{on}, Bulks: bulks{on}, Simulations: simulations{on}, Webhooks: webhooks{on},
			Operators: operators{on}, Audit: audit{on},
			Persons: persons{on}, Memberships: memberships{on}, Links: links{on}, Sessions: sessions{on},
			Passkeys: passkeys{on}, Views: views{on}, Identities: identities{on}, Readiness: readiness{on},
			Ceremonies: ceremonies{on},
			Mails:      mails{on}, Devices: devices{on}, MoveRuns: moveRuns{on},
			Sending: sending{on}, Machinery: machinery{on},
		})
	})
}

// mostWait is how long a transaction waits for the one before.
const mostWait = 5 * time.Second

func (s *Store) transact(ctx context.Context, fn func(session) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("toystore: begin: %w", err)
	}
	late := time.NewTimer(mostWait)
	defer late.Stop()
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("toystore: wait for another transaction: %w", ctx.Err())
	case <-late.C:
		return fmt.Errorf("toystore: wait for another transaction: %w", ports.ErrTookTooLong)
	}
	fanned, err := func() ([]domain.ID, error) {
		defer func() { <-s.writing }()
		tx := s.committed.Load().shared()
		tx.commit++
		tx.fanned = nil
		if err := fn(session{store: s, tx: tx}); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("toystore: commit: %w", err)
		}
		s.committed.Store(tx)
		return tx.fanned, nil
	}()
	if len(fanned) > 0 && s.onFanout != nil {
		s.onFanout(fanned)
	}
	return err
}

// page cuts a sorted list to what is behind a position, and one record more.
func page[T any](all []T, p domain.PageRequest, newestFirst bool, at func(T) domain.Position) []T {
	if newestFirst {
		slices.Reverse(all)
	}
	if p.After != nil {
		all = slices.DeleteFunc(all, func(v T) bool {
			c := compare(at(v), *p.After)
			return newestFirst && c >= 0 || !newestFirst && c <= 0
		})
	}
	return all[:min(len(all), p.Limit+1)]
}

func compare(a, b domain.Position) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// by sorts by positions.
func by[T any](at func(T) domain.Position) func(a, b T) int {
	return func(a, b T) int { return compare(at(a), at(b)) }
}

// records are those of tenants' records.
func records[T any](all []of[T]) []T {
	var out []T
	for _, r := range all {
		out = append(out, r.record)
	}
	return out
}

func sameBusiness(a, b domain.Tenant) bool {
	return a.BusinessID == b.BusinessID && a.Environment == b.Environment
}

func sameApplication(a, b domain.Tenant) bool {
	return a.ApplicationID == b.ApplicationID && a.Environment == b.Environment
}

func within(at time.Time, from, to *time.Time) bool {
	return (from == nil || !at.Before(*from)) && (to == nil || at.Before(*to))
}
