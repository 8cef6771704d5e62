package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

func TestEveryOrderOfABulkBecomesADelivery(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, domain.MaxBulkItems} {
		s := newScene(t)
		got, err := s.start("a").send(t.Context(), s.ask, orders(n, named))
		s.wantOutcome(t, got, err, n, 0)
		if got.Replayed {
			t.Error("marked as a replay")
		}
		first := s.stored(t)[0]
		if first.ExternalID != "order-0" || first.Pickup != depot || first.Tenant != s.tenant ||
			*first.Quote.Fee != (domain.Money{Minor: 2450, Currency: "GHS"}) ||
			first.Recipient.Name != "Ama" || first.Status() != domain.Booked {
			t.Errorf("delivery %+v", first.Booking)
		}
		if r, there := s.record(t); !there || string(r.Answer.Body) != string(got.Answer.Body) || r.LeaseLeft != 0 {
			t.Errorf("record %+v", r)
		}
	}
}

func TestItemsAreBookedInTheirOrderWhateverTheirPricesTake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
			time.Sleep(time.Duration(20-itemOf(trip)) * 100 * time.Millisecond) // the first price comes last
			return goodPrice(ctx, trip)
		}
		got, err := s.start("a").send(t.Context(), s.ask, orders(20))
		s.wantOutcome(t, got, err, 20, 0)
	})
}

func TestItemsToTheSamePersonShareTheRecords(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	items := orders(6, func(i int, o *deliveries.Order) {
		o.Recipient.PhoneNumber = "+233201234567"
		o.Recipient.Address = []string{"4 Castle Road", "4  castle road", "1 Other Street"}[i%3]
	})
	got, err := s.start("a").send(t.Context(), s.ask, items)
	s.wantOutcome(t, got, err, 6, 0)
	people, err := s.Store.Read().Recipients.List(t.Context(), s.tenant, domain.RecipientFilter{}, domain.PageRequest{Limit: 10})
	if err != nil || len(people) != 1 {
		t.Fatalf("%d recipients, %v", len(people), err)
	}
	places, err := s.Store.Read().Recipients.Addresses(t.Context(), s.tenant, people[0].ID)
	if err != nil || len(places) != 2 {
		t.Errorf("%d addresses, %v", len(places), err)
	}
}

func TestAnItemThatIsRefusedStopsNoOther(t *testing.T) {
	t.Parallel()
	const items = 5
	for name, c := range map[string]struct {
		codes []string // by item; empty: created
		world func(*testing.T, *scene)
		order func(i int, o *deliveries.Order)
	}{
		"prices that cannot be had": {
			codes: []string{"", "QUOTE_UNAVAILABLE", "", "QUOTE_UNAVAILABLE", ""},
			world: func(_ *testing.T, s *scene) { s.price = noPriceFor(1, 3) },
		},
		"all prices": {
			codes: slices.Repeat([]string{"QUOTE_UNAVAILABLE"}, items),
			world: func(_ *testing.T, s *scene) { s.price = noPrice },
		},
		"external_ids that are taken": {
			codes: []string{"EXTERNAL_ID_CONFLICT", "", "", "", "EXTERNAL_ID_CONFLICT"},
			world: func(t *testing.T, s *scene) {
				live := s.tenant
				live.Environment = domain.Live // this changes nothing here
				for i, tenant := range []domain.Tenant{s.tenant, live, s.tenant} {
					if err := s.Store.Book(t.Context(), sample.BookingWrite(tenant, func(b *domain.Booking) {
						b.ExternalID, b.CreatedAt = []string{"order-0", "order-1", "order-4"}[i], stage.Noon
					})); err != nil {
						t.Fatal(err)
					}
				}
				s.earlier = 2
			},
			order: named,
		},
		"places that only the pricing service refuses": {
			codes: []string{"", "", "VALIDATION_ERROR", "", ""},
			world: func(_ *testing.T, s *scene) {
				s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
					if itemOf(trip) == 2 {
						return domain.Quote{}, &ports.OutsideServiceAreaError{End: "dropoff"}
					}
					return goodPrice(ctx, trip)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			c.world(t, s)
			change := c.order
			if change == nil {
				change = func(int, *deliveries.Order) {}
			}
			got, err := s.start("a").send(t.Context(), s.ask, orders(items, change))
			failed := 0
			for _, code := range c.codes {
				if code != "" {
					failed++
				}
			}
			o := s.wantOutcome(t, got, err, items, failed)
			for i, code := range c.codes {
				if o.Results[i].Code != code {
					t.Errorf("item %d: %+v, want %q", i, o.Results[i], code)
				}
			}
		})
	}
}

func TestABulkThatWasAnsweredIsReplayedByteByByteWithoutAnyWork(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.price = noPriceFor(1)
	first, err := s.start("a").send(t.Context(), s.ask, orders(3))
	s.wantOutcome(t, first, err, 3, 1)

	s.price = func(context.Context, domain.Trip) (domain.Quote, error) {
		t.Error("a price was asked for a replay")
		return domain.Quote{}, nil
	}
	b := s.start("b")
	second, err := b.Create(t.Context(), s.ask, atOnce, func() ([]bulk.Item, error) {
		t.Error("the form was read for a replay")
		return nil, nil
	}, b.rendering())
	s.wantOutcome(t, second, err, 3, 1)
	if !second.Replayed || !stage.SameAnswer(first, second) {
		t.Errorf("replayed %t\n%s\n%s", second.Replayed, first.Answer.Body, second.Answer.Body)
	}
}

func TestAKeyOfABulkThatServesAnotherRequestIsAConflict(t *testing.T) {
	t.Parallel()
	other := func(s *scene) idempotency.Request { return stage.Key(s.tenant, s.ask.Key, 2) }
	t.Run("when the bulk was answered", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		a := s.start("a")
		got, err := a.send(t.Context(), s.ask, orders(1))
		s.wantOutcome(t, got, err, 1, 0)
		_, err = a.send(t.Context(), other(s), orders(2))
		wantCode(t, err, "IDEMPOTENCY_CONFLICT")
		s.wantOutcome(t, got, nil, 1, 0)
	})
	t.Run("when the bulk is under way, and when it was left", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.begin(t)
		for range 2 {
			_, err := s.start("a").send(t.Context(), other(s), orders(2))
			wantCode(t, err, "IDEMPOTENCY_CONFLICT")
			s.leaseRunsOut(t)
		}
		if n := len(s.stored(t)); n != 0 {
			t.Errorf("%d deliveries", n)
		}
	})
	t.Run("when the key is a single create's, and the other way round", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		a := s.start("a")
		if _, err := a.one(t, stage.Key(s.tenant, "single-0001", 2), orders(1)[0].Order); err != nil {
			t.Fatal(err)
		}
		_, err := a.send(t.Context(), stage.Key(s.tenant, "single-0001", 1), orders(1))
		wantCode(t, err, "IDEMPOTENCY_CONFLICT")
		s.begin(t)
		_, err = a.one(t, other(s), orders(1)[0].Order)
		wantCode(t, err, "IDEMPOTENCY_CONFLICT")
	})
}

func TestAKeyOfABulkBelongsToItsApplicationAndEnvironment(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	sister, live := s.NewApplication(t, s.tenant), s.tenant
	live.Environment = domain.Live
	for _, tenant := range []domain.Tenant{s.tenant, sister, live} {
		s.tenant = tenant
		got, err := s.start("a").send(t.Context(), stage.Key(tenant, s.ask.Key, 1), orders(2, named))
		s.wantOutcome(t, got, err, 2, 0)
	}
}

func TestOfManyEqualBulksAtOnceOneCreates(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const clients, items = 8, 5
	results, errs := make([]idempotency.Result, clients), make([]error, clients)
	processes := []*process{s.start("a"), s.start("b")}
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			// No lock outside the database holds them back. Only the key record decides.
			results[i], errs[i] = processes[i%2].send(t.Context(), s.ask, orders(items, named))
		})
	}
	all.Wait()
	created := 0
	for i := range clients {
		if errs[i] != nil {
			wantCode(t, errs[i], "IDEMPOTENCY_IN_PROGRESS")
		} else if !results[i].Replayed {
			created++
		}
	}
	got, err := processes[0].send(t.Context(), s.ask, orders(items, named))
	s.wantOutcome(t, got, err, items, 0)
	if created != 1 || !got.Replayed {
		t.Errorf("%d say that they created, replayed %t", created, got.Replayed)
	}
}

func TestACallerThatHangsUp(t *testing.T) {
	t.Parallel()
	t.Run("before the claim stops the bulk", func(t *testing.T) {
		t.Parallel()
		for name, early := range map[string]bool{"before it is read": true, "while it is checked": false} {
			s := newScene(t)
			ctx, hangUp := context.WithCancel(t.Context())
			a := s.start("a")
			s.serves = func(domain.Coordinates) bool { hangUp(); return true } // the last step of the check
			if early {
				hangUp()
			} else {
				a = s.start("a")
			}
			_, err := a.send(ctx, s.ask, orders(1))
			hangUp()
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
			if _, there := s.record(t); there || len(s.stored(t)) != 0 {
				t.Errorf("%s: something is there", name)
			}
		}
	})
	t.Run("behind the claim stops nothing", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		ctx, hangUp := context.WithCancel(t.Context())
		defer hangUp()
		s.price = func(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
			hangUp()
			if err := ctx.Err(); err != nil {
				return domain.Quote{}, err
			}
			return goodPrice(ctx, trip)
		}
		got, err := s.start("a").send(ctx, s.ask, orders(3))
		s.wantOutcome(t, got, err, 3, 0)
	})
}

// A recipient's addresses are counted over the whole request, before any of it is booked.
func TestAddressesTooManyAreToldBeforeAnythingIsBooked(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fillAddresses(t, "+233201234567", domain.MaxAddressesPerRecipient-3)
	to := func(street func(i int) int) func(int, *deliveries.Order) {
		return func(i int, o *deliveries.Order) {
			o.Recipient.PhoneNumber, o.Recipient.Address = "+233201234567", fmt.Sprint("New Street ", street(i))
		}
	}
	b := s.start("a")
	_, err := b.send(t.Context(), s.ask, orders(5, to(func(i int) int { return i })))
	wantCode(t, err, "BULK_VALIDATION_FAILED")
	got, err := b.send(t.Context(), s.ask, orders(5, to(func(i int) int { return i % 3 })))
	s.wantOutcome(t, got, err, 5, 0)
}
