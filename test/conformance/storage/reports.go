package storage

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// reportDays is the time of all events of samples.
var reportDays = domain.ReportQuery{
	From: domain.ReportDay(sample.Now.AddDate(0, 0, -2)), Until: domain.ReportDay(sample.Now.AddDate(0, 1, 5)),
}

// testReports: the figures are those that a count of all timelines gives, whatever
// came while they were added up.
func testReports(t *testing.T, b ports.Database) {
	w := &reportWorld{b: b}
	for range 2 {
		tenant := newTenant(t, b)
		w.tenants = append(w.tenants, tenant, live(tenant))
	}

	t.Run("nothing has happened", func(t *testing.T) {
		w.wantReports(t)
		w.countAll(t, 10)
		w.wantReports(t)
	})
	t.Run("what comes while several count, and are killed", func(t *testing.T) {
		var living, counting sync.WaitGroup
		ended := make(chan struct{})
		for i := range 3 {
			living.Go(func() { w.live(t, i, 6) })
		}
		for range 2 {
			counting.Go(func() {
				for {
					ctx, kill := context.WithTimeout(t.Context(), time.Duration(rand.IntN(8_000))*time.Microsecond) //nolint:gosec // spreads
					_, more, _ := b.CountReports(ctx, 7)
					kill()
					select {
					case <-ended:
						if !more {
							return
						}
					default:
					}
				}
			})
		}
		living.Wait()
		close(ended)
		counting.Wait()
		// A database may learn late that the last one was killed, and until then lets no other count.
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			w.countAll(t, 7)
			p := must(b.Read().Reports.Progress(t.Context()))(t)
			if p == (domain.ReportProgress{}) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("not counted within a minute: %+v", p)
			}
		}
		w.wantReports(t)
	})
	t.Run("what is not counted yet is told", func(t *testing.T) {
		d := book(t, b, sample.BookingWrite(w.tenants[0]))
		w.booked = append(w.booked, d)
		if p := must(b.Read().Reports.Progress(t.Context()))(t); !p.Since.Equal(d.CreatedAt) {
			t.Errorf("counted up to %s, want what was booked at %s to be missing", p.Since, d.CreatedAt)
		}
		w.countAll(t, 1000)
		w.wantReports(t)
	})
	t.Run("open deliveries are where they are, the newest first, and no others", func(t *testing.T) {
		for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
			var want []domain.OpenDelivery
			for _, booked := range w.booked {
				d := must(b.Read().Deliveries.Get(t.Context(), booked.Tenant, booked.ID))(t)
				if s := d.Status(); d.Tenant.Environment != e || s == domain.Delivered || s == domain.Failed || s == domain.Cancelled {
					continue
				}
				want = append(want, domain.OpenDelivery{
					ID: d.ID, BusinessID: d.Tenant.BusinessID, Reference: d.Reference, Municipality: d.Dropoff.Municipality,
					Status: d.Status(), Since: d.UpdatedAt(), Pickup: d.Pickup.Coordinates, Dropoff: d.Dropoff.Coordinates,
				})
			}
			slices.SortFunc(want, func(a, b domain.OpenDelivery) int { return strings.Compare(string(b.ID), string(a.ID)) })
			wantEqual(t, "Open of "+string(e), must(b.Read().Reports.Open(t.Context(), e, 1000))(t), want)
			wantEqual(t, "Open of "+string(e)+" but one", must(b.Read().Reports.Open(t.Context(), e, 1))(t), want[:min(2, len(want))])
		}
	})
	t.Run("nothing is of what does not exist", func(t *testing.T) {
		for _, narrow := range []func(*domain.ReportQuery){
			func(q *domain.ReportQuery) { q.BusinessID = "biz_1" },
			func(q *domain.ReportQuery) { q.BusinessID = sample.ID(domain.PrefixBusiness) },
			func(q *domain.ReportQuery) { q.Municipality = "Nowhere\x00" },
			func(q *domain.ReportQuery) { q.Until = q.From },
		} {
			q := reportDays
			q.Environment, q.Each = domain.Sandbox, domain.ReportEachDay
			narrow(&q)
			if lines := must(b.Read().Reports.Lines(t.Context(), q))(t); len(lines) != 0 {
				t.Errorf("%+v has %d lines", q, len(lines))
			}
		}
	})
}

// testReportHistory: what was there before the first count is counted.
func testReportHistory(t *testing.T, b ports.Database) {
	tenant := newTenant(t, b)
	w := &reportWorld{b: b, tenants: []domain.Tenant{tenant, live(tenant)}}
	w.live(t, 1, 20)
	if _, more, err := b.CountReports(t.Context(), 3); !more || err != nil {
		t.Fatalf("counted, more %t (%v), want more", more, err)
	}
	w.live(t, 2, 10)
	w.countAll(t, 3)
	w.wantReports(t)
}

// reportWorld is what there is to count.
type reportWorld struct {
	b       ports.Database
	tenants []domain.Tenant

	mu     sync.Mutex
	booked []*domain.Delivery
}

// countAll counts until there is nothing more.
func (w *reportWorld) countAll(t *testing.T, limit int) {
	t.Helper()
	for more := true; more; {
		looked, again, err := w.b.CountReports(t.Context(), limit)
		if err != nil || looked > limit {
			t.Fatalf("looked at %d of at most %d: %v", looked, limit, err)
		}
		more = again
	}
}

// lives are ways through the states, with a pause before each.
var lives = [][]domain.Status{
	{},
	{domain.Cancelled},
	{domain.Assigned, domain.PickedUp, domain.InTransit, domain.Delivered},
	{domain.Assigned, domain.Failed, domain.Assigned, domain.Failed, domain.Cancelled},
	{domain.Outsourced, domain.Delivered},
	{domain.Assigned, domain.PickedUp, domain.Failed},
}

// live books deliveries and moves them through their lives.
func (w *reportWorld) live(t *testing.T, seed, n int) {
	source := rand.New(rand.NewPCG(uint64(seed), 1)) //nolint:gosec // a seeded test
	for range n {
		d := book(t, w.b, sample.BookingWrite(w.tenants[source.IntN(len(w.tenants))], func(b *domain.Booking) {
			b.VehicleType = domain.VehicleTypes()[source.IntN(3)]
			b.Dropoff.Municipality = []string{"Accra", "Tema", ""}[source.IntN(3)]
			b.CreatedAt = sample.Now.Add(time.Duration(source.IntN(30*24)) * time.Hour)
		}))
		w.mu.Lock()
		w.booked = append(w.booked, d)
		w.mu.Unlock()
		at := d.CreatedAt
		for _, to := range lives[source.IntN(len(lives))] {
			at = at.Add(time.Duration(source.IntN(7200)) * time.Second)
			var reason domain.ReasonCode
			if to == domain.Failed {
				reason = domain.ReasonCodes()[source.IntN(2)]
			}
			err := w.b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				locked, err := tx.Deliveries.Lock(ctx, d.Tenant, d.ID)
				if err != nil {
					return err
				}
				e, err := locked.Move(to, domain.ActorPlatform, reason, sample.ID(domain.PrefixEvent), at)
				if err != nil {
					return err
				}
				return tx.Deliveries.Update(ctx, d.Tenant, locked, sample.Published(e))
			})
			if err != nil {
				t.Errorf("move to %s: %v", to, err)
				return
			}
		}
	}
}

// wantReports compares reports with a count of all timelines.
func (w *reportWorld) wantReports(t *testing.T) {
	t.Helper()
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		for _, each := range domain.ReportGroups() {
			for _, narrow := range []func(*domain.ReportQuery){
				func(*domain.ReportQuery) {},
				func(q *domain.ReportQuery) { q.BusinessID = w.tenants[0].BusinessID },
				func(q *domain.ReportQuery) { q.Vehicle = domain.Bike },
				func(q *domain.ReportQuery) { q.Municipality = "Tema" },
				func(q *domain.ReportQuery) { q.BusinessID, q.Municipality = w.tenants[0].BusinessID, "Accra" },
				func(q *domain.ReportQuery) { q.From, q.Until = q.From.AddDate(0, 0, 2), q.From.AddDate(0, 0, 3) },
				func(q *domain.ReportQuery) { q.From, q.Until = q.From.AddDate(0, -2, 0), q.Until.AddDate(0, 0, -7) },
			} {
				q := reportDays
				q.Environment, q.Each = e, each
				narrow(&q)
				got := map[domain.ReportCell]domain.Figures{}
				for _, l := range must(w.b.Read().Reports.Lines(t.Context(), q))(t) {
					got[domain.ReportCell{Day: l.Day, BusinessID: l.BusinessID, Vehicle: l.Vehicle, Municipality: l.Municipality}] = l.Figures
				}
				wantEqual(t, "the report by "+string(each)+" of "+string(e), got, w.raw(t, q))
			}
		}
	}
}

// raw is a report from the timelines.
func (w *reportWorld) raw(t *testing.T, q domain.ReportQuery) map[domain.ReportCell]domain.Figures {
	t.Helper()
	lines := map[domain.ReportCell]domain.Figures{}
	for _, d := range w.booked {
		if d.Tenant.Environment != q.Environment || q.BusinessID != "" && d.Tenant.BusinessID != q.BusinessID ||
			q.Vehicle != "" && d.VehicleType != q.Vehicle || q.Municipality != "" && d.Dropoff.Municipality != q.Municipality {
			continue
		}
		assigned := false
		for _, e := range must(w.b.Read().Deliveries.Events(t.Context(), d.Tenant, d.ID))(t) {
			if e.OccurredAt.Before(q.From) || !e.OccurredAt.Before(q.Until) {
				continue
			}
			cell := map[domain.ReportGroup]domain.ReportCell{
				domain.ReportEachDay:          {Day: e.OccurredAt.Truncate(24 * time.Hour)},
				domain.ReportEachCustomer:     {BusinessID: d.Tenant.BusinessID},
				domain.ReportEachVehicle:      {Vehicle: d.VehicleType},
				domain.ReportEachMunicipality: {Municipality: d.Dropoff.Municipality},
			}[q.Each]
			f := lines[cell]
			switch e.Status {
			case domain.Booked:
				f.Booked++
			case domain.Delivered:
				f.Delivered++
				f.ToDeliver.Add(e.OccurredAt.Sub(d.CreatedAt))
			case domain.Cancelled:
				f.Cancelled++
			case domain.Failed:
				if f.Failed == nil {
					f.Failed = map[domain.ReasonCode]int64{}
				}
				f.Failed[e.Reason]++
			case domain.Assigned:
				if e.Sequence == 2 && !assigned {
					f.ToAssign.Add(e.OccurredAt.Sub(d.CreatedAt))
					assigned = true
				}
			default:
				continue
			}
			if f.Booked+f.Delivered+f.Cancelled+f.Failures()+f.ToAssign.Count() > 0 {
				lines[cell] = f
			}
		}
	}
	return lines
}
