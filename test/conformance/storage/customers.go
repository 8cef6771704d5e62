package storage

import (
	"context"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testCustomers(t *testing.T, b ports.Database) {
	var all []domain.Business
	for i, name := range []string{"Adom Foods", "Kofi's 100% Wax_Prints", "ÉPICERIE Volta", "Adom Pharmacy"} {
		all = append(all, sample.Business(func(b *domain.Business) {
			b.Name, b.CreatedAt, b.Disabled = name, sample.Now.Add(time.Duration(i/2)*time.Second), i == 3
		}))
	}
	foods, wax, epicerie, pharmacy := all[0], all[1], all[2], all[3]
	shop := sample.Application(foods.ID, func(a *domain.Application) { a.Name = "Night kitchen" })
	off := sample.Application(foods.ID, func(a *domain.Application) { a.Disabled = true })
	counter := sample.Application(pharmacy.ID)
	now := sample.Now.Add(time.Hour)
	used, past, later := sample.Now.Add(time.Minute), now.Add(-time.Second), now.Add(time.Second)
	key := func(app domain.ID, e domain.Environment, with func(k *domain.APIKey)) domain.APIKey {
		return sample.APIKey(app, func(k *domain.APIKey) {
			k.Environment, k.ExpiresAt, k.RevokedAt, k.LastUsedAt = e, nil, nil, nil
			with(k)
		})
	}
	works := key(shop.ID, domain.Live, func(k *domain.APIKey) { k.LastUsedAt, k.ExpiresAt = &used, &later })
	keys := []domain.APIKey{
		works, key(shop.ID, domain.Sandbox, func(*domain.APIKey) {}), key(shop.ID, domain.Sandbox, func(*domain.APIKey) {}),
		key(shop.ID, domain.Live, func(k *domain.APIKey) { k.RevokedAt = &past }),
		key(shop.ID, domain.Live, func(k *domain.APIKey) { k.ExpiresAt = &past }),
		key(off.ID, domain.Live, func(*domain.APIKey) {}), key(counter.ID, domain.Live, func(*domain.APIKey) {}),
	}
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		for _, business := range all {
			if err := tx.Tenancy.InsertBusiness(ctx, business); err != nil {
				return err
			}
		}
		for _, a := range []domain.Application{shop, off, counter} {
			if err := tx.Tenancy.InsertApplication(ctx, a); err != nil {
				return err
			}
		}
		for _, k := range keys {
			if err := tx.Tenancy.InsertAPIKey(ctx, k); err != nil {
				return err
			}
		}
		return nil
	})
	ama, invited := newPerson(func(p *domain.Person) { p.Email = "ama_1@adom.example" }), newPerson()
	addPersons(t, b, ama, invited)
	join(t, b, foods.ID, ama.ID, domain.RoleOwner)
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		return tx.Memberships.Insert(ctx, domain.Membership{PersonID: invited.ID, BusinessID: foods.ID, Role: domain.RoleViewer,
			CreatedAt: sample.Now})
	})
	find := func(t testing.TB, limit int, s domain.CustomerSearch) []domain.Customer {
		t.Helper()
		return pages(t, limit, func(p domain.PageRequest) ([]domain.Customer, error) {
			return b.Read().Platform.Customers(t.Context(), s, now, p)
		}, func(c domain.Customer) domain.Position { return domain.Position{CreatedAt: c.CreatedAt, ID: c.ID} })
	}
	names := func(customers []domain.Customer) (names []string) {
		for _, c := range customers {
			names = append(names, c.Name)
		}
		return names
	}
	newestFirst := []domain.Business{pharmacy, epicerie, wax, foods}
	if pharmacy.ID < epicerie.ID {
		newestFirst[0], newestFirst[1] = epicerie, pharmacy
	}
	if wax.ID < foods.ID {
		newestFirst[2], newestFirst[3] = foods, wax
	}

	t.Run("customers go newest first, with what they have", func(t *testing.T) {
		want := map[domain.ID]domain.Customer{
			foods.ID: {Applications: 2, Keys: 3, People: 1, Owners: 1, LastUsedAt: &used}, pharmacy.ID: {Applications: 1},
		}
		for _, limit := range []int{1, 3, 10} {
			got := find(t, limit, domain.CustomerSearch{})
			wantEqual(t, "how many", len(got), len(newestFirst))
			for i, business := range newestFirst {
				c := want[business.ID]
				c.Business = business
				wantEqual(t, business.Name, got[i], c)
			}
		}
	})

	t.Run("a text finds a name, an ID or an e-mail address, and the state narrows", func(t *testing.T) {
		for text, want := range map[string][]string{
			"ADOM": {"Adom Pharmacy", "Adom Foods"}, "foods": {"Adom Foods"}, "night K": {"Adom Foods"}, "100% wax_": {"Kofi's 100% Wax_Prints"},
			"a%m": nil, "x_Prints": {"Kofi's 100% Wax_Prints"}, "x.prints": nil, "kofi’s  100%": {"Kofi's 100% Wax_Prints"}, "ÉPICERIE": {"ÉPICERIE Volta"}, `\`: nil,
			string(foods.ID): {"Adom Foods"}, string(shop.ID): {"Adom Foods"}, string(works.ID): {"Adom Foods"}, string(ama.ID): {"Adom Foods"},
			"ama_1@ADOM": {"Adom Foods"}, string(sample.ID(domain.PrefixBusiness)): nil, "biz_1": nil, "\x00": nil,
		} {
			wantEqual(t, text, names(find(t, 10, domain.CustomerSearch{Text: text})), want)
		}
		for state, want := range map[domain.CustomerState]string{
			domain.CustomerDisabled: "Adom Pharmacy", domain.CustomerActive: "Adom Foods",
		} {
			wantEqual(t, string(state), names(find(t, 1, domain.CustomerSearch{Text: "adom", State: state})), []string{want})
		}
	})

	t.Run("what stands behind a customer and an application is counted", func(t *testing.T) {
		tenant := domain.Tenant{BusinessID: foods.ID, ApplicationID: shop.ID, Environment: domain.Live}
		recipient, address := newRecipient(t, b, tenant)
		var moved domain.ID
		for range 3 {
			w := sample.BookingTo(tenant, recipient, address, func(d *domain.Booking) {
				d.ID, d.ExternalID = sample.ID(domain.PrefixDelivery), ""
			})
			w.Event.DeliveryID = w.Delivery.ID
			moved = book(t, b, w).ID
		}
		if _, _, err := moveLocked(t.Context(), b, tenant, moved, domain.Cancelled); err != nil {
			t.Fatal(err)
		}
		insertEndpoint(t, b, tenant)
		insertEndpoint(t, b, tenant, listener)
		footprint := func(business, application domain.ID) domain.Footprint {
			t.Helper()
			return must(b.Read().Platform.Footprint(t.Context(), business, application, now))(t)
		}
		wantEqual(t, "of a customer", footprint(foods.ID, ""),
			domain.Footprint{LiveKeys: 2, SandboxKeys: 2, Endpoints: 1, People: 1, OpenDeliveries: 2})
		wantEqual(t, "of an application", footprint(foods.ID, shop.ID),
			domain.Footprint{LiveKeys: 1, SandboxKeys: 2, Endpoints: 1, OpenDeliveries: 2})
		for what, of := range map[string][2]domain.ID{
			"of another": {wax.ID, ""}, "of another's application": {wax.ID, shop.ID}, "of none": {"biz_1", ""},
		} {
			wantEqual(t, what, footprint(of[0], of[1]), domain.Footprint{})
		}
	})

	t.Run("a customer is disabled and enabled, and its people are out and in with that", func(t *testing.T) {
		console := newSession(ama.ID, "")
		s := newSession(ama.ID, foods.ID)
		join(t, b, "", ama.ID, domain.RoleSupport)
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			if err := tx.Sessions.Insert(ctx, console); err != nil {
				return err
			}
			return tx.Sessions.Insert(ctx, s)
		})
		for _, disabled := range []bool{true, false} {
			foods.Disabled = disabled
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Tenancy.UpdateBusiness(ctx, foods) })
			wantEqual(t, "Business", must(b.Read().Tenancy.Business(t.Context(), foods.ID))(t), foods)
			wantEqual(t, "Credential", must(b.Read().Tenancy.Credential(t.Context(), works.Digest))(t).Business, foods)
			var want error
			if disabled {
				want = domain.ErrNotFound
			}
			_, err := b.Read().Sessions.FindByDigest(t.Context(), s.Digest)
			wantError(t, "FindByDigest", err, want)
			_, err = b.Read().Sessions.Get(t.Context(), s.ID)
			wantError(t, "Get", err, want)
			wantEqual(t, "of the console", must(b.Read().Sessions.Get(t.Context(), console.ID))(t),
				domain.Principal{Session: console, Person: ama, Role: domain.RoleSupport})
		}
		_, err := b.Read().Sessions.Get(t.Context(), "ses_1")
		wantError(t, "Get", err, domain.ErrNotFound)
	})
}
