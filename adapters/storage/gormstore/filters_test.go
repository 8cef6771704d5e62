package gormstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/text/cases"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// filterWorld is what writers change while lists are read.
type filterWorld struct {
	store  *gormstore.Store
	tenant domain.Tenant
	mu     sync.Mutex
	phones []domain.PhoneNumber
	moved  []domain.ID
}

// filteredList asks one list with a filter drawn at random, and returns what of the
// answer the filter does not admit.
type filteredList func(ctx context.Context, r ports.Readers) (wrong []string, err error)

var filterNames = []string{"Ama Owusu", "Kofi MENSAH", "Straße 100%", "0245675044 Esi", "ﬀ office", ""}

// lists are all lists that take filters.
func (w *filterWorld) lists() map[string]filteredList {
	page := func() domain.PageRequest { return domain.PageRequest{Limit: 1 + rand.N(50)} }
	folded := func(s string) string { return cases.Fold().String(s) }
	search := func() (typed, part string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		phone := string(w.phones[rand.N(len(w.phones))])
		switch rand.N(4) {
		case 0: // as the application reads 024...
			return "0" + phone[4:], phone
		case 1:
			from := rand.N(len(phone) - 3)
			return phone[from : from+3+rand.N(len(phone)-from-2)], ""
		case 2:
			return strings.ToUpper(filterNames[rand.N(len(filterNames)-1)]), ""
		}
		name := []rune(filterNames[rand.N(len(filterNames)-1)])
		from := rand.N(len(name))
		return string(name[from : from+1+rand.N(len(name)-from)]), ""
	}
	return map[string]filteredList{
		"recipients": func(ctx context.Context, r ports.Readers) (wrong []string, err error) {
			var f domain.RecipientFilter
			f.Search, f.SearchPhone = search()
			found, err := r.Recipients.List(ctx, w.tenant, f, page())
			for _, one := range found {
				text := folded(one.Name + "\n" + string(one.PhoneNumber))
				if !strings.Contains(text, folded(f.Search)) && (f.SearchPhone == "" || !strings.Contains(text, f.SearchPhone)) {
					wrong = append(wrong, fmt.Sprintf("%+v has %q", f, text))
				}
			}
			return wrong, err
		},
		"a phone number": func(ctx context.Context, r ports.Readers) (wrong []string, err error) {
			w.mu.Lock()
			f := domain.RecipientFilter{PhoneNumber: w.phones[rand.N(len(w.phones))]}
			w.mu.Unlock()
			found, err := r.Recipients.List(ctx, w.tenant, f, page())
			for _, one := range found {
				if one.PhoneNumber != f.PhoneNumber {
					wrong = append(wrong, fmt.Sprintf("%+v has %q", f, one.PhoneNumber))
				}
			}
			return wrong, err
		},
		"pickup locations": func(ctx context.Context, r ports.Readers) (wrong []string, err error) {
			var f domain.PickupLocationFilter
			f.Search, _ = search()
			if rand.N(2) == 0 {
				f.Active = new(rand.N(2) == 0)
			}
			found, err := r.PickupLocations.List(ctx, w.tenant, f, page())
			for _, one := range found {
				if text := folded(one.Name + "\n" + one.Address); !strings.Contains(text, folded(f.Search)) || f.Active != nil &&
					one.Active != *f.Active {
					wrong = append(wrong, fmt.Sprintf("%+v has %q, active %v", f, text, one.Active))
				}
			}
			return wrong, err
		},
		"deliveries": func(ctx context.Context, r ports.Readers) (wrong []string, err error) {
			f := domain.DeliveryFilter{NewestFirst: rand.N(2) == 0}
			if rand.N(2) == 0 {
				f.Status = []domain.Status{domain.Booked, domain.Assigned, domain.Failed, domain.Delivered}[rand.N(4)]
			}
			if rand.N(2) == 0 {
				f.CreatedAfter = new(sample.Now.Add(time.Duration(rand.N(1000)) * time.Second))
			}
			if rand.N(2) == 0 {
				f.CreatedBefore = new(sample.Now.Add(time.Duration(rand.N(1000)) * time.Second))
			}
			found, err := r.Deliveries.List(ctx, w.tenant, f, page())
			for _, one := range found {
				if f.Status != "" && one.Status() != f.Status || f.CreatedAfter != nil && one.CreatedAt.Before(*f.CreatedAfter) ||
					f.CreatedBefore != nil && !one.CreatedAt.Before(*f.CreatedBefore) {
					wrong = append(wrong, fmt.Sprintf("%+v has %s of %v", f, one.Status(), one.CreatedAt))
				}
			}
			return wrong, err
		},
		"the feed": func(ctx context.Context, r ports.Readers) (wrong []string, err error) {
			var f domain.FeedFilter
			if rand.N(2) == 0 {
				f.Type = []domain.EventType{"delivery.created", "delivery.assigned", "delivery.failed", "delivery.delivered"}[rand.N(4)]
			}
			if rand.N(2) == 0 {
				w.mu.Lock()
				f.DeliveryID = w.moved[rand.N(len(w.moved))]
				w.mu.Unlock()
			}
			if rand.N(2) == 0 {
				f.CreatedAfter = new(sample.Now.Add(time.Duration(rand.N(1000)) * time.Second))
			}
			found, err := r.Feed.Events(ctx, w.tenant, f, nil, 1+rand.N(50))
			for _, one := range found.Events {
				if f.Type != "" && one.Type != f.Type || f.DeliveryID != "" && one.DeliveryID != f.DeliveryID ||
					f.CreatedAfter != nil && one.OccurredAt.Before(*f.CreatedAfter) {
					wrong = append(wrong, fmt.Sprintf("%+v has %+v", f, one))
				}
			}
			return wrong, err
		},
	}
}

// write adds and changes all that the lists have.
func (w *filterWorld) write(ctx context.Context) error {
	phone := sample.PhoneNumber()
	b := sample.BookingWrite(w.tenant, func(b *domain.Booking) { b.CreatedAt = sample.Now.Add(time.Duration(rand.N(1000)) * time.Second) })
	b.Recipient.PhoneNumber, b.Recipient.Name = phone, filterNames[rand.N(len(filterNames))]
	b.Event.OccurredAt = b.Delivery.CreatedAt
	if err := w.store.Book(ctx, b); err != nil {
		return err
	}
	w.mu.Lock()
	w.phones, w.moved = append(w.phones, phone), append(w.moved, b.Delivery.ID)
	moved := w.moved[rand.N(len(w.moved))]
	w.mu.Unlock()
	if _, err := stormMove(ctx, w.store, w.tenant, moved); err != nil {
		return err
	}
	place := sample.PickupLocation(func(p *domain.PickupLocation) {
		p.Name, p.Address, p.Active = filterNames[rand.N(len(filterNames)-1)], filterNames[rand.N(len(filterNames)-1)], rand.N(2) == 0
	})
	return w.store.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		if err := tx.PickupLocations.Insert(ctx, w.tenant, place); err != nil {
			return err
		}
		place.Name, place.Active = filterNames[rand.N(len(filterNames)-1)], !place.Active
		return tx.PickupLocations.Update(ctx, w.tenant, place)
	})
}

// unfiltered are the answers of a storage that forgets filters.
type unfiltered struct{ ports.RecipientReader }

func (u unfiltered) List(ctx context.Context, t domain.Tenant, f domain.RecipientFilter, p domain.PageRequest) ([]domain.Recipient, error) {
	if rand.N(50) == 0 { // once in a while
		f = domain.RecipientFilter{}
	}
	return u.RecipientReader.List(ctx, t, f, p)
}

// run writes and reads at once for a time, and returns what lists answered that their
// filters do not admit.
func (w *filterWorld) run(t *testing.T, lasting time.Duration, r ports.Readers) (asked int, wrong []string) {
	t.Helper()
	for range 3 {
		if err := w.write(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	end := time.Now().Add(lasting)
	for range 3 {
		all.Go(func() {
			for time.Now().Before(end) {
				if err := w.write(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for name, list := range w.lists() {
		all.Go(func() {
			for time.Now().Before(end) {
				found, err := list(t.Context(), r)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				mu.Lock()
				asked++
				for _, one := range found {
					wrong = append(wrong, name+" with "+one)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(wrong)
	return asked, wrong
}

func TestNoListAnswersWhatItsFilterDoesNotAdmit(t *testing.T) {
	if testing.Short() {
		t.Skip("writes for seconds; left out in short mode")
	}
	for name, open := range bothEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			w := &filterWorld{store: s, tenant: newTenant(t, s)}
			asked, wrong := w.run(t, feedStorm(), s.Read())
			t.Logf("%d lists", asked)
			if asked < 20 || len(wrong) > 0 {
				t.Errorf("of %d lists %d records do not belong there: %v", asked, len(wrong), wrong[:min(3, len(wrong))])
			}
			careless := s.Read()
			careless.Recipients = unfiltered{careless.Recipients}
			for range 5 {
				if _, wrong = w.run(t, time.Second, careless); len(wrong) > 0 {
					return
				}
			}
			t.Error("a storage that forgets a filter once in fifty times was not noticed")
		})
	}
}
