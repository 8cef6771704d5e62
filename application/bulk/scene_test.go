package bulk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"testing"
	"time"

	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

const lease = 30 * time.Second

var depot = domain.Pickup{
	Name: "Depot", Contact: "+233302000001", Address: "Ring Road", Coordinates: domain.Coordinates{Latitude: 5.6, Longitude: -0.18},
}

// scene runs one process after the other on a real database. Every dependency can be replaced.
type scene struct {
	*stage.Stage
	witness    *witness
	storage    ports.Storage
	bookings   ports.Bookings
	price      pricing
	serves     area
	normalizer ports.Normalizer
	lease      time.Duration
	gate       *idempotency.Gate // nil: a gate whose locks are all free
	tenant     domain.Tenant
	ask        idempotency.Request
	earlier    int // deliveries that the tenant had before
	throttle   bulk.Throttle
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{Stage: stage.New(t), price: goodPrice, serves: everywhere, normalizer: stage.FoldCase{}, lease: lease,
		throttle: bulk.Throttle{Writers: 2}}
	s.witness = &witness{}
	s.witness.Between = stage.Between{Storage: s.Store, Change: func(tx *ports.Stores) { tx.Bulks = witnessed{tx.Bulks, s.witness} }}
	s.storage, s.bookings = s.witness, s.Store
	s.tenant = s.NewTenant(t)
	s.ask = stage.Key(s.tenant, "bulk-0001", 1)
	return s
}

// process is a server that shares only the database with others.
type process struct {
	*bulk.Bulk
	single *deliveries.Deliveries
	name   string // shown in what this process renders
}

// start makes a process of the current dependencies.
func (s *scene) start(name string) *process {
	one := s.Deliveries(s.storage, s.bookings, s.price, s.serves, s.normalizer)
	gate := s.gate
	if gate == nil {
		gate = s.Gate(s.storage)
	}
	return &process{bulk.New(s.storage, gate, one, s.IDs, slog.New(slog.DiscardHandler), bulk.Lease(s.lease), s.throttle), one, name}
}

// send sends a bulk to a process.
func (p *process) send(ctx context.Context, r idempotency.Request, items []bulk.Item) (idempotency.Result, error) {
	return p.Create(ctx, r, atOnce, func() ([]bulk.Item, error) { return items, nil }, p.rendering())
}

// atOnce is the turn of a bulk that waits for no other.
func atOnce(ctx context.Context) (context.Context, func(), error) { return ctx, func() {}, nil }

// one sends a single create to a process.
func (p *process) one(t *testing.T, r idempotency.Request, o deliveries.Order) (idempotency.Result, error) {
	t.Helper()
	return p.single.Create(t.Context(), r, func() (deliveries.Order, error) { return o, nil },
		func(d *domain.Delivery) domain.Answer { return domain.Answer{Status: 201, Body: encode(d.ID)} })
}

func (p *process) rendering() bulk.Rendering {
	return bulk.Rendering{
		Entry: func(index int, created *domain.Delivery, refusal *domain.Error) []byte {
			e := entry{Index: index, By: p.name}
			if refusal != nil {
				e.Code, e.Message = refusal.Code, refusal.Message
			} else {
				e.ID = created.ID
			}
			return encode(e)
		},
		Whole: func(created, failed int, entries [][]byte) domain.Answer {
			a := domain.Answer{Status: 201}
			if failed > 0 {
				a.Status = 207
			}
			o := struct {
				Created, Failed int
				Results         []json.RawMessage
			}{Created: created, Failed: failed}
			for _, e := range entries {
				o.Results = append(o.Results, e)
			}
			a.Body = encode(o)
			return a
		},
	}
}

// outcome is the body of a response.
type outcome struct {
	Created, Failed int
	Results         []entry
}

type entry struct {
	Index   int
	By      string
	ID      domain.ID
	Code    string
	Message string
}

func outcomeOf(t *testing.T, r idempotency.Result) (o outcome) {
	t.Helper()
	if err := json.Unmarshal(r.Answer.Body, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// orders returns items to different people. The latitude of their destination identifies them in a
// price request.
func orders(n int, change ...func(i int, o *deliveries.Order)) []bulk.Item {
	items := make([]bulk.Item, n)
	for i := range items {
		items[i].Order = deliveries.Order{
			Recipient: &deliveries.InlineRecipient{
				Name: "Ama", PhoneNumber: domain.PhoneNumber(fmt.Sprintf("+2332000%05d", i)), Address: "4 Castle Road",
				Coordinates: domain.Coordinates{Latitude: 5 + float64(i)/1000, Longitude: -0.1},
			},
			Pickup: new(depot), Payment: domain.Payment{Type: domain.DeliveryOnly}, VehicleType: domain.Bike,
			Instructions: fmt.Sprint("item ", i),
		}
		for _, c := range change {
			c(i, &items[i].Order)
		}
	}
	return items
}

// named gives every order an external_id.
func named(i int, o *deliveries.Order) { o.ExternalID = fmt.Sprint("order-", i) }

func itemOf(trip domain.Trip) int { return int(math.Round((trip.Dropoff.Latitude - 5) * 1000)) }

// pricing and area are the simplest implementations that keep the promises of their ports.
type pricing func(context.Context, domain.Trip) (domain.Quote, error)

func (p pricing) Price(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
	return p(ctx, trip)
}

type area func(domain.Coordinates) bool

func (a area) Contains(c domain.Coordinates) bool { return a(c) }

func everywhere(domain.Coordinates) bool { return true }

func goodPrice(context.Context, domain.Trip) (domain.Quote, error) {
	return domain.Quote{
		Currency: "GHS", Distance: domain.Distance{Kilometres: 9.5, Source: domain.DistanceRoad},
		Fee: &domain.Money{Minor: 2450, Currency: "GHS"},
	}, nil
}

var errNoAnswer = errors.New("the pricing service does not answer")

func noPrice(context.Context, domain.Trip) (domain.Quote, error) {
	return domain.Quote{}, domain.QuoteUnavailable(errNoAnswer)
}

// noPriceFor refuses some items and prices all others.
func noPriceFor(items ...int) pricing {
	return func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
		for _, i := range items {
			if itemOf(trip) == i {
				return noPrice(ctx, trip)
			}
		}
		return goodPrice(ctx, trip)
	}
}

// asked counts the price requests of each item.
type asked struct {
	pricing
	mu    sync.Mutex
	times map[int]int
}

func (a *asked) Price(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
	a.mu.Lock()
	if a.times == nil {
		a.times = map[int]int{}
	}
	a.times[itemOf(trip)]++
	a.mu.Unlock()
	return a.pricing(ctx, trip)
}

// booking runs a function before every item is booked, outside of any transaction.
type booking struct {
	ports.Bookings
	before func(item int)
	after  func(item int)
}

func (b booking) Book(ctx context.Context, w ports.BookingWrite) error {
	if b.before != nil {
		b.before(w.Bulk.Item.Index)
	}
	err := b.Bookings.Book(ctx, w)
	if b.after != nil {
		b.after(w.Bulk.Item.Index)
	}
	return err
}

func (b booking) BookRun(context.Context, []ports.BookingWrite) (int, error) { return 0, nil }

// singly books every item by itself, so that a test can count them.
type singly struct{ ports.Bookings }

func (singly) BookRun(context.Context, []ports.BookingWrite) (int, error) { return 0, nil }

// witness observes the leases of bulks.
type witness struct {
	stage.Between
	mu       sync.Mutex
	hold     ports.BulkHold // the latest claim
	extended int            // renewals in transactions of their own
}

type witnessed struct {
	ports.BulkStore
	w *witness
}

func (b witnessed) Claim(ctx context.Context, t domain.Tenant, r domain.KeyRecord, token string, lease,
	retention time.Duration) (ports.BulkHold, error) {
	hold, err := b.BulkStore.Claim(ctx, t, r, token, lease, retention)
	if err == nil {
		b.w.mu.Lock()
		b.w.hold = hold
		b.w.mu.Unlock()
	}
	return hold, err
}

func (b witnessed) Extend(ctx context.Context, t domain.Tenant, h ports.BulkHold) error {
	b.w.mu.Lock()
	b.w.extended++
	b.w.mu.Unlock()
	return b.BulkStore.Extend(ctx, t, h)
}

// begin leaves the scene's request as a process does that dies after the claim.
func (s *scene) begin(t *testing.T) {
	t.Helper()
	record := domain.KeyRecord{
		Key: s.ask.Key, Fingerprint: s.ask.Fingerprint, ClaimID: s.IDs.ID("").Hex(), CreatedAt: s.Clock.Now(),
	}
	if err := s.witness.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		_, err := tx.Bulks.Claim(ctx, s.tenant, record, s.IDs.ID("").Hex(), s.lease, stage.Retention)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// fillAddresses gives a new recipient n addresses.
func (s *scene) fillAddresses(t *testing.T, phone domain.PhoneNumber, n int) {
	t.Helper()
	r := sample.Recipient(func(r *domain.Recipient) { r.PhoneNumber = phone })
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		if _, _, err := tx.Recipients.Add(ctx, s.tenant, r); err != nil {
			return err
		}
		for range n {
			if _, _, err := tx.Recipients.AddAddress(ctx, s.tenant, sample.Address(r.ID)); err != nil {
				return err
			}
		}
		return nil
	})
}

// leaseRunsOut lets the latest lease expire.
func (s *scene) leaseRunsOut(t *testing.T) {
	t.Helper()
	s.witness.mu.Lock()
	hold := s.witness.hold
	s.witness.mu.Unlock()
	if hold.Key != "" {
		s.Write(t, func(ctx context.Context, tx ports.Stores) error { return tx.Bulks.Release(ctx, s.tenant, hold) })
	}
}

// record returns the stored record of the scene's request.
func (s *scene) record(t *testing.T) (domain.KeyRecord, bool) {
	t.Helper()
	r, err := s.Store.Read().Idempotency.Find(context.Background(), s.tenant, s.ask.Key)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		t.Fatal(err)
	}
	return r, err == nil
}

// stored lists all deliveries of the tenant, the first created first.
func (s *scene) stored(t *testing.T) []*domain.Delivery {
	t.Helper()
	found, err := s.Store.Read().Deliveries.List(context.Background(), s.tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// wantOutcome fails unless the answer has the given numbers of items and failures, and its
// deliveries are all that the tenant has, in the order of the items.
func (s *scene) wantOutcome(t *testing.T, got idempotency.Result, err error, items, failed int) outcome {
	t.Helper()
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	o := outcomeOf(t, got)
	status := 201
	if failed > 0 {
		status = 207
	}
	if got.Answer.Status != status || o.Created != items-failed || o.Failed != failed || len(o.Results) != items {
		t.Fatalf("answer %d\n%s\nwant %d with %d of %d failed", got.Answer.Status, got.Answer.Body, status, failed, items)
	}
	stored := s.stored(t)[s.earlier:]
	for i, e := range o.Results {
		if e.Index != i || (e.ID == "") == (e.Code == "") {
			t.Errorf("entry %d is %+v", i, e)
		}
		if e.ID == "" {
			continue
		}
		if len(stored) == 0 || stored[0].ID != e.ID || stored[0].Instructions != fmt.Sprint("item ", i) {
			t.Fatalf("item %d, %s, is not the next delivery that was created", i, e.ID)
		}
		if events, err := s.Store.Read().Deliveries.Events(context.Background(), s.tenant, e.ID); err != nil || len(events) != 1 ||
			events[0].Type != "delivery.created" {
			t.Errorf("the events of item %d: %+v, %v", i, events, err)
		}
		stored = stored[1:]
	}
	if len(stored) != 0 {
		t.Errorf("%d deliveries that the answer does not tell of", len(stored))
	}
	return o
}

func wantCode(t *testing.T, err error, code string) *domain.Error {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	return e
}

// wantInProgress fails unless the caller is asked to retry in a moment.
func wantInProgress(t *testing.T, got idempotency.Result, err error) {
	t.Helper()
	if e := wantCode(t, err, "IDEMPOTENCY_IN_PROGRESS"); e.RetryAfter != time.Second || got.Answer.Status != 0 {
		t.Errorf("retry after %s with %+v, want a second", e.RetryAfter, got.Answer)
	}
}

// wantLeased fails unless the caller is asked to retry after a fresh lease has run out.
func wantLeased(t *testing.T, got idempotency.Result, err error) {
	t.Helper()
	const moment, rounding = 20 * time.Second, time.Millisecond
	e := wantCode(t, err, "IDEMPOTENCY_IN_PROGRESS")
	if e.RetryAfter > lease+rounding || e.RetryAfter < lease-moment || got.Answer.Status != 0 {
		t.Errorf("retry after %s with %+v, want what is left of %s", e.RetryAfter, got.Answer, lease)
	}
}
