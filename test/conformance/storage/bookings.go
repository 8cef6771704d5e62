package storage

import (
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testBookings(t *testing.T, b ports.Database) {
	t.Run("a booking stores all that belongs to it", func(t *testing.T) {
		tenant := newTenant(t, b)
		w := sample.BookingWrite(tenant)
		book(t, b, w)
		wantStored(t, b, w)
		wantEqual(t, "the recipient", must(b.Read().Recipients.Get(t.Context(), tenant, w.Recipient.ID))(t), w.Recipient)
		wantEqual(t, "its addresses", must(b.Read().Recipients.Addresses(t.Context(), tenant, w.Recipient.ID))(t), []domain.Address{w.Address})
		found := must(b.Read().Recipients.List(t.Context(), tenant, domain.RecipientFilter{Search: "OWUSU"}, domain.PageRequest{Limit: 5}))(t)
		wantEqual(t, "a search for the recipient", found, []domain.Recipient{w.Recipient})
	})

	t.Run("a booking to what is there changes nothing of it", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient, address := newRecipient(t, b, tenant)
		for range 2 {
			w := sample.BookingTo(tenant, recipient, address)
			w.Recipient.Name, w.Recipient.UpdatedAt = "Not to be stored", sample.Now.Add(time.Hour)
			book(t, b, w)
			wantStored(t, b, w)
		}
		wantEqual(t, "the recipient", must(b.Read().Recipients.Get(t.Context(), tenant, recipient.ID))(t), recipient)
		wantEqual(t, "its addresses", must(b.Read().Recipients.Addresses(t.Context(), tenant, recipient.ID))(t), []domain.Address{address})
	})

	t.Run("a booking to a new address counts it", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient, first := newRecipient(t, b, tenant)
		w := sample.BookingTo(tenant, recipient, sample.Address(recipient.ID, func(a *domain.Address) { a.CreatedAt = first.CreatedAt.Add(1) }))
		w.NewAddress = true
		book(t, b, w)
		got := must(b.Read().Recipients.Addresses(t.Context(), tenant, recipient.ID))(t)
		if len(got) != 2 || got[0].ID != first.ID || got[1].ID != w.Address.ID {
			t.Errorf("addresses %v, want the first and the new one", got)
		}
		wantCapacityFor(t, b, tenant, recipient.ID, domain.MaxAddressesPerRecipient-2)
	})

	t.Run("the address of a new recipient counts", func(t *testing.T) {
		tenant := newTenant(t, b)
		w := sample.BookingWrite(tenant)
		book(t, b, w)
		wantCapacityFor(t, b, tenant, w.Recipient.ID, domain.MaxAddressesPerRecipient-1)
	})

	t.Run("a booking fills in a missing name, and leaves one that came before it", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient := sample.Recipient(func(r *domain.Recipient) { r.Name = "" })
		addRecipient(t, b, tenant, recipient)
		address := sample.Address(recipient.ID)
		mustAddAddress(t, b, tenant, address)

		want := recipient
		for i, name := range []string{"Efua Mensah", "Too Late"} {
			named := recipient
			named.Name, named.UpdatedAt = name, sample.Now.Add(time.Duration(i+1)*time.Hour)
			if i == 0 {
				want = named
			}
			w := sample.BookingTo(tenant, named, address)
			w.FillName = true
			book(t, b, w)
			wantStored(t, b, w)
			wantEqual(t, "the recipient", must(b.Read().Recipients.Get(t.Context(), tenant, recipient.ID))(t), want)
			found := must(b.Read().Recipients.List(t.Context(), tenant, domain.RecipientFilter{Search: "efua"}, domain.PageRequest{Limit: 5}))(t)
			wantEqual(t, "a search for the name", found, []domain.Recipient{want})
		}
	})

	t.Run("an external_id is one per application and environment", func(t *testing.T) {
		tenant := newTenant(t, b)
		sameID := func(b *domain.Booking) { b.ExternalID = "order-1" }
		for _, tenant := range []domain.Tenant{tenant, live(tenant), newSibling(t, b, tenant), newTenant(t, b)} {
			wantStored(t, b, bookWrite(t, b, sample.BookingWrite(tenant, sameID)))
		}
		none := func(b *domain.Booking) { b.ExternalID = "" }
		for range 2 {
			wantStored(t, b, bookWrite(t, b, sample.BookingWrite(tenant, none)))
		}
	})
}

func testRefusedBookings(t *testing.T, b ports.Database) {
	t.Run("the same booking again finds itself, whatever else would clash", func(t *testing.T) {
		w := bookWrite(t, b, sample.BookingWrite(newTenant(t, b)))
		for range 2 {
			wantError(t, "the repeated booking", b.Book(t.Context(), w), ports.ErrKeyTaken)
		}
		wantStored(t, b, w)
		if got := must(b.Read().Idempotency.Find(t.Context(), w.Delivery.Tenant, w.Key.Key))(t).ClaimID; got != w.Key.ClaimID {
			t.Errorf("ClaimID %s, want %s", got, w.Key.ClaimID)
		}
	})

	t.Run("a taken key comes before a taken external_id", func(t *testing.T) {
		tenant := newTenant(t, b)
		first := bookWrite(t, b, sample.BookingWrite(tenant))
		second := sample.BookingWrite(tenant, func(b *domain.Booking) { b.ExternalID = first.Delivery.ExternalID })
		second.Key.Key = first.Key.Key
		wantRefused(t, b, second, ports.ErrKeyTaken)
		wantStored(t, b, first)
	})

	t.Run("a taken external_id", func(t *testing.T) {
		tenant := newTenant(t, b)
		first := bookWrite(t, b, sample.BookingWrite(tenant))
		if _, _, err := moveLocked(t.Context(), b, tenant, first.Delivery.ID, domain.Cancelled); err != nil {
			t.Fatal(err)
		}
		second := sample.BookingWrite(tenant, func(b *domain.Booking) { b.ExternalID = first.Delivery.ExternalID })
		wantRefused(t, b, second, ports.ErrExternalIDTaken)

		// Nothing of it was kept: with another external_id the rest goes through.
		second.Delivery.ExternalID += "-2"
		book(t, b, second)
		wantStored(t, b, second)
	})

	t.Run("a taken reference, even another tenant's", func(t *testing.T) {
		first := bookWrite(t, b, sample.BookingWrite(newTenant(t, b)))
		second := sample.BookingWrite(besides(t, b, first.Delivery.Tenant), func(b *domain.Booking) { b.Reference = first.Delivery.Reference })
		wantRefused(t, b, second, ports.ErrReferenceTaken)
		second.Delivery.Reference = sample.Reference()
		book(t, b, second)
	})

	t.Run("a recipient or an address that was created meanwhile", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient, address := newRecipient(t, b, tenant)
		newOne := sample.BookingWrite(tenant)
		newOne.Recipient.PhoneNumber = recipient.PhoneNumber
		wantRefused(t, b, newOne, ports.ErrDirectoryChanged)

		again := sample.BookingTo(tenant, recipient, sample.Address(recipient.ID, func(a *domain.Address) { a.MatchKey = address.MatchKey }))
		again.NewAddress = true
		wantRefused(t, b, again, ports.ErrDirectoryChanged)
		wantEqual(t, "the addresses", must(b.Read().Recipients.Addresses(t.Context(), tenant, recipient.ID))(t), []domain.Address{address})
		wantCapacityFor(t, b, tenant, recipient.ID, domain.MaxAddressesPerRecipient-1)
	})

	t.Run("an address too many", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient, address := newRecipient(t, b, tenant)
		fillAddresses(t, b, tenant, recipient.ID, domain.MaxAddressesPerRecipient-1)
		w := sample.BookingTo(tenant, recipient, sample.Address(recipient.ID))
		w.NewAddress = true
		wantRefused(t, b, w, domain.TooManyAddresses("address"))

		// One that is there by now is not one too many.
		w.Address.MatchKey = address.MatchKey
		wantRefused(t, b, w, ports.ErrDirectoryChanged)
	})

	t.Run("a recipient or an address that is not the tenant's", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient, address := newRecipient(t, b, tenant)
		other, otherAddress := newRecipient(t, b, tenant)
		for _, foreign := range []domain.Tenant{live(tenant), newTenant(t, b)} {
			wantRefused(t, b, sample.BookingTo(foreign, recipient, address), domain.ErrNotFound)
			w := sample.BookingTo(foreign, recipient, sample.Address(recipient.ID))
			w.NewAddress = true
			wantRefused(t, b, w, domain.ErrNotFound)
		}
		wantRefused(t, b, sample.BookingTo(tenant, recipient, otherAddress), domain.ErrNotFound)
		wantRefused(t, b, sample.BookingTo(tenant, sample.Recipient(), address), domain.ErrNotFound)
		wantRefused(t, b, sample.BookingTo(tenant, recipient, sample.Address(recipient.ID)), domain.ErrNotFound)
		wantEqual(t, "the address", must(b.Read().Recipients.Addresses(t.Context(), tenant, other.ID))(t), []domain.Address{otherAddress})
	})
}

func bookWrite(t testing.TB, b ports.Database, w ports.BookingWrite) ports.BookingWrite {
	t.Helper()
	book(t, b, w)
	return w
}

// wantStored fails unless the key record, the delivery and its event are there.
func wantStored(t testing.TB, b ports.Database, w ports.BookingWrite) {
	t.Helper()
	read, tenant := b.Read(), w.Delivery.Tenant
	wantEqual(t, "the key record", must(read.Idempotency.Find(t.Context(), tenant, w.Key.Key))(t), w.Key)
	wantDelivery(t, "the delivery", must(read.Deliveries.Get(t.Context(), tenant, w.Delivery.ID))(t), w.Delivery)
	wantEqual(t, "its events", must(read.Deliveries.Events(t.Context(), tenant, w.Delivery.ID))(t), []domain.Event{w.Event.Event})
}

// wantRefused fails unless Book answers want and stores nothing of the write.
func wantRefused(t testing.TB, b ports.Database, w ports.BookingWrite, want error) {
	t.Helper()
	ctx, read, tenant := t.Context(), b.Read(), w.Delivery.Tenant
	_, keyBefore := read.Idempotency.Find(ctx, tenant, w.Key.Key)
	recipientBefore, foundBefore := read.Recipients.Get(ctx, tenant, w.Recipient.ID)
	wantError(t, "Book", b.Book(ctx, w), want)

	if _, err := read.Idempotency.Find(ctx, tenant, w.Key.Key); (err == nil) != (keyBefore == nil) {
		t.Errorf("the key of a refused booking was stored: %v before, %v now", keyBefore, err)
	}
	recipient, err := read.Recipients.Get(ctx, tenant, w.Recipient.ID)
	if (err == nil) != (foundBefore == nil) {
		t.Errorf("the recipient of a refused booking was stored: %v before, %v now", foundBefore, err)
	}
	wantEqual(t, "the recipient after a refused booking", recipient, recipientBefore)
	if _, err := read.Deliveries.Get(ctx, tenant, w.Delivery.ID); err == nil {
		t.Error("a refused delivery was stored")
	}
	if events := must(read.Deliveries.Events(ctx, tenant, w.Delivery.ID))(t); len(events) != 0 {
		t.Error("the event of a refused booking was stored")
	}
	if w.NewAddress {
		addresses := must(read.Recipients.Addresses(ctx, tenant, w.Recipient.ID))(t)
		if slices.ContainsFunc(addresses, func(a domain.Address) bool { return a.ID == w.Address.ID }) {
			t.Error("the address of a refused booking was stored")
		}
	}
}

// wantCapacityFor fails unless the recipient takes exactly n more addresses.
func wantCapacityFor(t testing.TB, b ports.Database, tenant domain.Tenant, recipient domain.ID, n int) {
	t.Helper()
	fillAddresses(t, b, tenant, recipient, n)
	if _, _, err := addAddress(t, b, tenant, sample.Address(recipient)); !domain.HasCode(err, domain.CodeValidation) {
		t.Errorf("after %d more addresses: error %v, want %s", n, err, domain.CodeValidation)
	}
}
