package storage

import (
	"context"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testAddresses(t *testing.T, b ports.Database) {
	t.Run("every field comes back", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient, _ := newRecipient(t, b, tenant)
		full := sample.Address(recipient.ID)
		wantFilled(t, full)
		for _, address := range []domain.Address{full, sample.Address(recipient.ID, func(a *domain.Address) {
			a.Label, a.Municipality, a.DeliveryNotes, a.Coordinates = "", "", "", domain.Coordinates{}
		})} {
			stored, created, err := addAddress(t, b, tenant, address)
			if err != nil || !created {
				t.Fatalf("AddAddress: created is %v, error %v", created, err)
			}
			wantEqual(t, "what AddAddress returns", stored, address)
			read, ctx := b.Read().Recipients, t.Context()
			wantEqual(t, "GetAddress", must(read.GetAddress(ctx, tenant, address.ID))(t), address)
			wantEqual(t, "FindAddress", must(read.FindAddress(ctx, tenant, recipient.ID, address.MatchKey))(t), address)
		}
	})

	t.Run("what does not exist is not found", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient, address := newRecipient(t, b, tenant)
		read, ctx := b.Read().Recipients, t.Context()
		wantError(t, "GetAddress", errorOf(read.GetAddress(ctx, tenant, sample.ID(domain.PrefixAddress))), domain.ErrNotFound)
		for _, key := range append(oddTexts, "", strings.ToUpper(address.MatchKey), address.MatchKey+" ") {
			wantError(t, "FindAddress "+key, errorOf(read.FindAddress(ctx, tenant, recipient.ID, key)), domain.ErrNotFound)
		}
		nobody := sample.ID(domain.PrefixRecipient)
		wantError(t, "FindAddress of another recipient", errorOf(read.FindAddress(ctx, tenant, nobody, address.MatchKey)), domain.ErrNotFound)
		for _, id := range []domain.ID{nobody, "rcp_x"} {
			if got := must(read.Addresses(ctx, tenant, id))(t); len(got) != 0 {
				t.Errorf("Addresses of %s: %d", id, len(got))
			}
			_, _, err := addAddress(t, b, tenant, sample.Address(id))
			wantError(t, "AddAddress to nobody", err, domain.ErrNotFound)
		}
	})

	t.Run("a known match key gives the stored address", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient, address := newRecipient(t, b, tenant)
		stored, created, err := addAddress(t, b, tenant, sample.Address(recipient.ID, func(a *domain.Address) {
			a.MatchKey, a.Label = address.MatchKey, "Work"
		}))
		if err != nil || created {
			t.Errorf("created is %v, error %v", created, err)
		}
		wantEqual(t, "what AddAddress returns", stored, address)
		wantEqual(t, "Addresses", must(b.Read().Recipients.Addresses(t.Context(), tenant, recipient.ID))(t), []domain.Address{address})

		other, _ := newRecipient(t, b, tenant)
		_, created, err = addAddress(t, b, tenant, sample.Address(other.ID, func(a *domain.Address) { a.MatchKey = address.MatchKey }))
		if err != nil || !created {
			t.Errorf("the same text at another recipient: created is %v, error %v", created, err)
		}
	})

	t.Run("long match keys are told apart at their end", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient, _ := newRecipient(t, b, tenant)
		var long []domain.Address
		for _, end := range []string{"a", "b"} {
			address := sample.Address(recipient.ID, func(a *domain.Address) { a.MatchKey = strings.Repeat("ɣ€𝄞", 3000) + end })
			if _, created, err := addAddress(t, b, tenant, address); err != nil || !created {
				t.Fatalf("created is %v, error %v", created, err)
			}
			long = append(long, address)
		}
		wantEqual(t, "FindAddress", must(b.Read().Recipients.FindAddress(t.Context(), tenant, recipient.ID, long[1].MatchKey))(t), long[1])
	})

	t.Run("a list goes by time, then by ID", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient := sample.Recipient()
		addRecipient(t, b, tenant, recipient)
		var addresses []domain.Address
		for i := range 6 {
			addresses = append(addresses, sample.Address(recipient.ID, func(a *domain.Address) {
				a.CreatedAt = sample.Now.Add(time.Duration(i/3) * time.Millisecond)
			}))
		}
		for i := range addresses {
			mustAddAddress(t, b, tenant, addresses[len(addresses)-1-i])
		}
		wantEqual(t, "Addresses", must(b.Read().Recipients.Addresses(t.Context(), tenant, recipient.ID))(t), addresses)
	})

	t.Run("the 201st address is refused, one that is there is not", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient := sample.Recipient()
		addRecipient(t, b, tenant, recipient)
		first := sample.Address(recipient.ID)
		mustAddAddress(t, b, tenant, first)
		mustAddAddress(t, b, tenant, first) // must not count twice
		fillAddresses(t, b, tenant, recipient.ID, domain.MaxAddressesPerRecipient-1)

		_, _, err := addAddress(t, b, tenant, sample.Address(recipient.ID))
		if !domain.HasCode(err, domain.CodeValidation) {
			t.Errorf("the 201st address: error %v, want %s", err, domain.CodeValidation)
		}
		stored, created, err := addAddress(t, b, tenant, sample.Address(recipient.ID, func(a *domain.Address) { a.MatchKey = first.MatchKey }))
		if err != nil || created {
			t.Errorf("a known address of a full recipient: created is %v, error %v", created, err)
		}
		wantEqual(t, "the known address", stored, first)
		if got := must(b.Read().Recipients.Addresses(t.Context(), tenant, recipient.ID))(t); len(got) != domain.MaxAddressesPerRecipient {
			t.Errorf("%d addresses, want %d", len(got), domain.MaxAddressesPerRecipient)
		}
	})
}

func mustAddAddress(t testing.TB, b ports.Database, tenant domain.Tenant, a domain.Address) {
	t.Helper()
	if _, _, err := addAddress(t, b, tenant, a); err != nil {
		t.Fatal(err)
	}
}

func addAddress(t testing.TB, b ports.Database, tenant domain.Tenant, a domain.Address) (stored domain.Address, created bool, err error) {
	t.Helper()
	err = b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) (err error) {
		stored, created, err = tx.Recipients.AddAddress(ctx, tenant, a)
		return err
	})
	return stored, created, err
}

// fillAddresses adds n new addresses.
func fillAddresses(t testing.TB, b ports.Database, tenant domain.Tenant, recipient domain.ID, n int) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		for range n {
			if _, _, err := tx.Recipients.AddAddress(ctx, tenant, sample.Address(recipient)); err != nil {
				return err
			}
		}
		return nil
	})
}
