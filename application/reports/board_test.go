package reports_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/reports"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

// counting counts how often work is counted. It can fail, or wait for hold.
type counting struct {
	ports.Storage
	platform
}

type platform struct {
	ports.PlatformReader
	reads *atomic.Int64
	fail  *atomic.Bool
	slow  time.Duration
}

var errRefused = errors.New("refused")

func (c counting) Read() ports.Readers { return ports.Readers{Platform: c.platform} }

func (p platform) Work(ctx context.Context, _ domain.Environment, at time.Time) (domain.WorkTallies, error) {
	p.reads.Add(1)
	select {
	case <-time.After(p.slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.fail.Load() {
		return nil, errRefused
	}
	return domain.WorkTallies{{BusinessID: "biz_1", Status: domain.Booked, Count: int(p.reads.Load())}}, nil
}

func (p platform) BusinessNames(context.Context, []domain.ID) (map[domain.ID]string, error) {
	return nil, nil
}

type boardClock struct{}

func (boardClock) Now() time.Time { return time.Now() }

func counted(slow time.Duration) (*reports.Board, platform) {
	p := platform{reads: new(atomic.Int64), fail: new(atomic.Bool), slow: slow}
	return reports.NewBoard(counting{platform: p}, boardClock{}), p
}

func TestAllReadersShareOneCountEveryFewSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, p := counted(50 * time.Millisecond)
		var readers sync.WaitGroup
		for range 50 { // for half a minute
			readers.Go(func() {
				for range 60 {
					w, err := b.Work(t.Context(), domain.Live)
					if err != nil || time.Since(w.At) > reports.RefreshEvery+100*time.Millisecond {
						t.Errorf("%v old, %v", time.Since(w.At), err)
					}
					time.Sleep(500 * time.Millisecond)
				}
			})
		}
		readers.Wait()
		if n := p.reads.Load(); n < 7 || n > 11 {
			t.Errorf("50 readers counted %d times in half a minute, want once in 3 s and the time that it takes", n)
		}
		before := p.reads.Load()
		time.Sleep(time.Hour)
		if n := p.reads.Load(); n != before {
			t.Errorf("%d counts without a reader", n-before)
		}
	})
}

func TestACountThatTakesLongIsMadeMoreRarely(t *testing.T) {
	t.Parallel()
	for slow, want := range map[time.Duration]int{60 * time.Millisecond: 20, 100 * time.Millisecond: 12, 2 * time.Second: 5} {
		synctest.Test(t, func(t *testing.T) {
			b, p := counted(slow)
			for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(100 * time.Millisecond) {
				if w, err := b.Work(t.Context(), domain.Live); err != nil || time.Since(w.At) > reports.RefreshAtLeast+slow {
					t.Errorf("%v old, %v", time.Since(w.At), err)
				}
			}
			if n := int(p.reads.Load()); n < want-1 || n > want+1 {
				t.Errorf("counts that take %s were made %d times in a minute, want %d", slow, n, want)
			}
		})
	}
}

func TestAReaderWhoLeavesTakesTheCountFromNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, p := counted(time.Second)
		ctx, leave := context.WithCancel(t.Context())
		var both sync.WaitGroup
		both.Go(func() { _, _ = b.Work(ctx, domain.Live) })
		synctest.Wait()
		both.Go(func() {
			if w, err := b.Work(t.Context(), domain.Live); err != nil || w.Count(domain.WorkFilter{}) != 1 {
				t.Errorf("%+v, %v", w, err)
			}
		})
		synctest.Wait()
		leave()
		both.Wait()
		if n := p.reads.Load(); n != 1 {
			t.Errorf("%d counts", n)
		}
	})
}

func TestAFailureShowsTheLastCountAndIsTriedAgainOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, p := counted(0)
		first, err := b.Work(t.Context(), domain.Live)
		if err != nil {
			t.Fatal(err)
		}
		p.fail.Store(true)
		time.Sleep(reports.RefreshEvery)
		for range 100 {
			w, err := b.Work(t.Context(), domain.Live)
			if !errors.Is(err, errRefused) || !w.At.Equal(first.At) {
				t.Fatalf("%v, of %v", err, w.At)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n := p.reads.Load(); n < 10 || n > 12 {
			t.Errorf("%d counts in 10 s", n)
		}
		p.fail.Store(false)
		time.Sleep(time.Second)
		if w, err := b.Work(t.Context(), domain.Live); err != nil || !w.At.After(first.At) {
			t.Errorf("%v, of %v", err, w.At)
		}
	})
}

// A count that was running when a delivery was moved may have read the old status.
func TestAPersonWhoMovedADeliveryIsShownACountFromAfterIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, p := counted(time.Second)
		var first sync.WaitGroup
		first.Go(func() { _, _ = b.Work(t.Context(), domain.Live) })
		synctest.Wait() // it is counting
		moved := time.Now()
		time.Sleep(time.Millisecond)
		b.Moved()
		for range 2 { // the second reader shares the count of the first
			if w, err := b.Work(t.Context(), domain.Live); err != nil || !w.At.After(moved) {
				t.Errorf("a count of %v before the move, %v", moved.Sub(w.At), err)
			}
		}
		first.Wait()
		if n := p.reads.Load(); n != 2 {
			t.Errorf("%d counts", n)
		}
	})
}

func TestACountThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := counted(time.Hour)
		begun := time.Now()
		if _, err := b.Work(t.Context(), domain.Live); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// Worlds are drawn by a seed: for every number on the board, its list is as long.
func TestEachNumberIsTheLengthOfTheListItLeadsTo(t *testing.T) {
	t.Parallel()
	s := stage.New(t)
	random := rand.New(rand.NewPCG(20, 24)) //nolint:gosec // a world that can be drawn again
	tenants := []domain.Tenant{s.NewTenant(t), s.NewTenant(t), s.NewTenant(t)}
	for i := range tenants {
		if i > 0 {
			tenants[i].Environment = domain.Live
		}
	}
	for range 120 {
		tenant := tenants[random.IntN(len(tenants))]
		at := s.Clock.Now().Add(-time.Duration(random.Int64N(int64(200 * time.Hour))))
		w := sample.BookingWrite(tenant, func(d *domain.Booking) { d.CreatedAt = domain.Millis(at) })
		if err := s.Store.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		for range random.IntN(5) {
			at = at.Add(time.Duration(random.Int64N(int64(max(time.Second, s.Clock.Now().Sub(at))))))
			s.Write(t, func(ctx context.Context, tx ports.Stores) error {
				d, err := tx.Deliveries.Lock(ctx, tenant, w.Delivery.ID)
				if err != nil || len(d.Next(domain.ActorPlatform)) == 0 {
					return err
				}
				next := d.Next(domain.ActorPlatform)
				e, err := d.Move(next[random.IntN(len(next))], domain.ActorPlatform, "", sample.ID(domain.PrefixEvent), domain.Millis(at))
				if err != nil {
					return err
				}
				return tx.Deliveries.Update(ctx, tenant, d, sample.Published(e))
			})
		}
	}
	b := reports.NewBoard(s.Store, s.Clock)
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		w, err := b.Work(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, business := range append(w.Businesses(), "") {
			if business != "" && w.Names[business] == "" {
				t.Errorf("%s has no name", business)
			}
			for _, status := range append(domain.OpenStatuses(), "", domain.Failed) {
				for _, edge := range append(domain.AgeEdges(), 0) {
					for _, age := range []domain.Age{{From: edge}, {Until: edge}} {
						f := domain.WorkFilter{Environment: e, BusinessID: business, Status: status, Age: age}
						n := w.Count(f)
						if found := walk(t, s.Store, f.Search(w.At)); found != n {
							t.Errorf("%+v: %d on the board, %d in the list", f, n, found)
						}
						total += n
					}
				}
			}
		}
		if total < 500 {
			t.Errorf("%s has %d in all: the world is too small to tell", e, total)
		}
	}
}

// walk returns the length of a list, page by page to its end.
func walk(t *testing.T, s ports.Storage, search domain.DeliverySearch) int {
	t.Helper()
	seen := map[domain.ID]bool{}
	for p := (domain.PageRequest{Limit: 7}); ; {
		found, err := s.Read().Platform.Deliveries(t.Context(), search, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range found[:min(len(found), p.Limit)] {
			seen[d.ID] = true
		}
		if len(found) <= p.Limit {
			return len(seen)
		}
		p.After = &domain.Position{ID: found[p.Limit-1].ID}
	}
}

func TestAlarmsNameServicesThatAreDownAndEndpointsThatFail(t *testing.T) {
	t.Parallel()
	s := stage.New(t)
	tenant := s.NewTenant(t)
	for _, with := range []func(*domain.WebhookEndpoint){
		func(e *domain.WebhookEndpoint) { e.Health = domain.WebhookHealth{} },
		func(e *domain.WebhookEndpoint) { e.Enabled, e.Disabled = false, domain.DisabledGone },
		func(e *domain.WebhookEndpoint) { e.Enabled, e.Disabled = false, domain.DisabledByCaller },
		func(e *domain.WebhookEndpoint) {
			e.Health = domain.WebhookHealth{Failures: 3, FailingSince: new(s.Clock.Now().Add(-time.Hour))}
		},
		func(e *domain.WebhookEndpoint) {
			e.Health = domain.WebhookHealth{Failures: 1, FailingSince: new(s.Clock.Now().Add(-time.Minute))}
		},
	} {
		s.Write(t, func(ctx context.Context, tx ports.Stores) error {
			_, err := tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(tenant, with))
			return err
		})
	}
	b := reports.NewBoard(s.Store, s.Clock, reports.PriceService{Name: "pricing", Check: func(context.Context) error { return errRefused }},
		reports.PriceService{Name: "mail", Check: func(context.Context) error { panic("a fault") }},
		reports.PriceService{Name: "routing", Check: func(context.Context) error { return nil }},
		reports.PriceService{Name: "hangs", Check: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
	a, err := b.Alarms(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Down, []string{"pricing", "mail", "hangs"}) {
		t.Errorf("down: %v", a.Down)
	}
	if len(a.Endpoints) != 2 || a.More || a.Names[tenant.BusinessID] == "" {
		t.Errorf("endpoints: %+v of %v", a.Endpoints, a.Names)
	}
}
