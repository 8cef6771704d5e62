package storage

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// testIsolation calls every method with the IDs of one tenant on behalf of
// others: the answers must be those for IDs that do not exist.
func testIsolation(t *testing.T, b ports.Database) {
	owner := newTenant(t, b)
	w := bookWrite(t, b, sample.BookingWrite(owner))
	place := sample.PickupLocation()
	insertPickupLocation(t, b, owner, place)
	everything := domain.PageRequest{Limit: 100}

	found := func(n int, err error) error {
		if err != nil {
			return err
		}
		if n == 0 {
			return domain.ErrNotFound
		}
		return nil
	}
	change := func(fn func(ctx context.Context, tx ports.Stores) error) func(context.Context) error {
		return func(ctx context.Context) error { return b.InTx(ctx, fn) }
	}
	// What a business shares between its applications.
	ofBusiness := func(t domain.Tenant) map[string]func(context.Context) error {
		read := b.Read()
		return map[string]func(context.Context) error{
			"Recipients.Get": func(ctx context.Context) error {
				_, err := read.Recipients.Get(ctx, t, w.Recipient.ID)
				return err
			},
			"Recipients.FindByPhone": func(ctx context.Context) error {
				_, err := read.Recipients.FindByPhone(ctx, t, w.Recipient.PhoneNumber)
				return err
			},
			"Recipients.List": func(ctx context.Context) error {
				l, err := read.Recipients.List(ctx, t, domain.RecipientFilter{}, everything)
				return found(len(l), err)
			},
			"Recipients.List with a search": func(ctx context.Context) error {
				l, err := read.Recipients.List(ctx, t, domain.RecipientFilter{Search: "owusu"}, everything)
				return found(len(l), err)
			},
			"Recipients.List by phone number": func(ctx context.Context) error {
				l, err := read.Recipients.List(ctx, t, domain.RecipientFilter{PhoneNumber: w.Recipient.PhoneNumber}, everything)
				return found(len(l), err)
			},
			"Recipients.List behind a position": func(ctx context.Context) error {
				behind := domain.PageRequest{Limit: 100, After: &domain.Position{CreatedAt: sample.Now.Add(-time.Hour), ID: w.Recipient.ID}}
				l, err := read.Recipients.List(ctx, t, domain.RecipientFilter{}, behind)
				return found(len(l), err)
			},
			"Recipients.GetAddress": func(ctx context.Context) error {
				_, err := read.Recipients.GetAddress(ctx, t, w.Address.ID)
				return err
			},
			"Recipients.FindAddress": func(ctx context.Context) error {
				_, err := read.Recipients.FindAddress(ctx, t, w.Recipient.ID, w.Address.MatchKey)
				return err
			},
			"Recipients.Addresses": func(ctx context.Context) error {
				l, err := read.Recipients.Addresses(ctx, t, w.Recipient.ID)
				return found(len(l), err)
			},
			"Recipients.AddAddress": change(func(ctx context.Context, tx ports.Stores) error {
				_, _, err := tx.Recipients.AddAddress(ctx, t, sample.Address(w.Recipient.ID))
				return errors.Join(err, rollBack(err))
			}),
			"Recipients.AddAddress of a known one": change(func(ctx context.Context, tx ports.Stores) error {
				_, _, err := tx.Recipients.AddAddress(ctx, t, sample.Address(w.Recipient.ID, func(a *domain.Address) {
					a.MatchKey = w.Address.MatchKey
				}))
				return err
			}),
			"PickupLocations.Get": func(ctx context.Context) error {
				_, err := read.PickupLocations.Get(ctx, t, place.ID)
				return err
			},
			"PickupLocations.List": func(ctx context.Context) error {
				l, err := read.PickupLocations.List(ctx, t, domain.PickupLocationFilter{}, everything)
				return found(len(l), err)
			},
			"PickupLocations.List with filters": func(ctx context.Context) error {
				active := true
				l, err := read.PickupLocations.List(ctx, t, domain.PickupLocationFilter{Search: "makola", Active: &active}, everything)
				return found(len(l), err)
			},
			"PickupLocations.Lock": change(func(ctx context.Context, tx ports.Stores) error {
				_, err := tx.PickupLocations.Lock(ctx, t, place.ID)
				return err
			}),
			"PickupLocations.LockAll": change(func(ctx context.Context, tx ports.Stores) error {
				l, err := tx.PickupLocations.LockAll(ctx, t, []domain.ID{place.ID})
				if err == nil && len(l) == 0 {
					err = domain.ErrNotFound
				}
				return err
			}),
			"PickupLocations.UpdateAll": change(func(ctx context.Context, tx ports.Stores) error {
				return tx.PickupLocations.UpdateAll(ctx, t, []domain.PickupLocation{place})
			}),
			"PickupLocations.Update": change(func(ctx context.Context, tx ports.Stores) error {
				changed := place
				changed.Name = "Taken over"
				err := tx.PickupLocations.Update(ctx, t, changed)
				return errors.Join(err, rollBack(err))
			}),
			"Book to the recipient": func(ctx context.Context) error {
				return b.Book(ctx, sample.BookingTo(t, w.Recipient, w.Address))
			},
		}
	}
	// What is an application's own.
	ofApplication := func(t domain.Tenant) map[string]func(context.Context) error {
		read := b.Read()
		return map[string]func(context.Context) error{
			"Idempotency.Find": func(ctx context.Context) error {
				_, err := read.Idempotency.Find(ctx, t, w.Key.Key)
				return err
			},
			"Idempotency.Complete": change(func(ctx context.Context, tx ports.Stores) error {
				// The owner's claim of this transaction, completed by t.
				r := sample.KeyRecord(func(r *domain.KeyRecord) { r.Answer = domain.Answer{} })
				if err := tx.Idempotency.Claim(ctx, owner, r, time.Hour); err != nil {
					return fmt.Errorf("the owner's claim: %w", err)
				}
				err := tx.Idempotency.Complete(ctx, t, r.Key, domain.Answer{Status: 200, Body: []byte("{}")})
				return errors.Join(err, rollBack(err))
			}),
			"Deliveries.Get": func(ctx context.Context) error {
				_, err := read.Deliveries.Get(ctx, t, w.Delivery.ID)
				return err
			},
			"Deliveries.FindByExternalID": func(ctx context.Context) error {
				_, err := read.Deliveries.FindByExternalID(ctx, t, w.Delivery.ExternalID)
				return err
			},
			"Deliveries.List": func(ctx context.Context) error {
				l, err := read.Deliveries.List(ctx, t, domain.DeliveryFilter{ExternalID: w.Delivery.ExternalID}, everything)
				return found(len(l), err)
			},
			"Deliveries.List with filters": func(ctx context.Context) error {
				since := sample.Now.Add(-time.Hour)
				l, err := read.Deliveries.List(ctx, t, domain.DeliveryFilter{Status: domain.Booked, CreatedAfter: &since,
					ExternalID: w.Delivery.ExternalID, NewestFirst: true}, everything)
				return found(len(l), err)
			},
			"Deliveries.Events": func(ctx context.Context) error {
				l, err := read.Deliveries.Events(ctx, t, w.Delivery.ID)
				return found(len(l), err)
			},
			"Deliveries.Lock": change(func(ctx context.Context, tx ports.Stores) error {
				_, err := tx.Deliveries.Lock(ctx, t, w.Delivery.ID)
				return err
			}),
			"Deliveries.Update": change(func(ctx context.Context, tx ports.Stores) error {
				d := must(read.Deliveries.Get(ctx, owner, w.Delivery.ID))(errorsOnly{})
				e, _, err := d.Cancel(sample.ID(domain.PrefixEvent), sample.Now)
				if err != nil {
					return err
				}
				err = tx.Deliveries.Update(ctx, t, d, sample.Published(e))
				return errors.Join(err, rollBack(err))
			}),
		}
	}

	sibling := newSibling(t, b, owner)
	foreigners := []struct {
		name          string
		tenant        domain.Tenant
		shareBusiness bool
	}{
		{"another application of the business", sibling, true},
		{"the other environment", live(owner), false},
		{"another application in the other environment", live(sibling), false},
		{"another business", newTenant(t, b), false},
	}
	check := func(t *testing.T, calls map[string]func(context.Context) error, visible bool) {
		for name, call := range calls {
			err := call(t.Context())
			switch {
			case visible && err != nil && !errors.Is(err, errRolledBack):
				t.Errorf("%s: %v, want what is shared", name, err)
			case !visible && !errors.Is(err, domain.ErrNotFound):
				t.Errorf("%s: %v, want nothing to be found", name, err)
			}
		}
	}
	t.Run("the owner", func(t *testing.T) {
		check(t, ofBusiness(owner), true)
		check(t, ofApplication(owner), true)
	})
	for _, s := range foreigners {
		t.Run(s.name, func(t *testing.T) {
			check(t, ofBusiness(s.tenant), s.shareBusiness)
			check(t, ofApplication(s.tenant), false)
		})
	}
	t.Run("nothing changed", func(t *testing.T) {
		wantStored(t, b, w)
		wantEqual(t, "the pickup location", must(b.Read().PickupLocations.Get(t.Context(), owner, place.ID))(t), place)
		wantEqual(t, "the addresses", must(b.Read().Recipients.Addresses(t.Context(), owner, w.Recipient.ID))(t), []domain.Address{w.Address})
	})
}

var errRolledBack = errors.New("rolled back by the test")

// rollBack undoes a change that was let through, so that the next call finds
// things as they were.
func rollBack(err error) error {
	if err != nil {
		return nil
	}
	return errRolledBack
}

// errorsOnly is a testing.TB for must where no test is at hand.
type errorsOnly struct{ testing.TB }

func (errorsOnly) Helper()           {}
func (errorsOnly) Fatal(args ...any) { panic(fmt.Sprint(args...)) }
