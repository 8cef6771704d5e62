package storage

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// operatorToken is one that was used, will expire and was revoked.
func operatorToken(with ...func(*domain.OperatorToken)) domain.OperatorToken {
	id := sample.ID(domain.PrefixOperatorToken)
	expires, revoked, used := sample.Now.Add(time.Hour), sample.Now.Add(time.Minute), sample.Now.Add(30*time.Second)
	t := domain.OperatorToken{
		ID: id, Name: "Dispatch system", Kind: domain.OperatorDispatcher, Digest: sha256.Sum256([]byte(id)),
		Pepper: sha256.Sum256([]byte("a pepper")), LastFour: "x7Qz", CreatedAt: sample.Now,
		ExpiresAt: &expires, RevokedAt: &revoked, LastUsedAt: &used,
	}
	for _, change := range with {
		change(&t)
	}
	return t
}

func testOperators(t *testing.T, b ports.Database) {
	insert := func(t testing.TB, all ...domain.OperatorToken) {
		t.Helper()
		store(t, b, all, func(tx ports.Stores) func(context.Context, domain.OperatorToken) error { return tx.Operators.Insert })
	}
	fresh := func(o *domain.OperatorToken) { o.ExpiresAt, o.RevokedAt, o.LastUsedAt = nil, nil, nil }

	t.Run("every field comes back", func(t *testing.T) {
		full, bare := operatorToken(), operatorToken(fresh)
		wantFilled(t, full)
		insert(t, full, bare)
		for _, want := range []domain.OperatorToken{full, bare} {
			wantEqual(t, "Get", must(b.Read().Operators.Get(t.Context(), want.ID))(t), want)
			wantEqual(t, "FindByDigest", must(b.Read().Operators.FindByDigest(t.Context(), want.Digest))(t), want)
		}
	})

	t.Run("what does not exist is not found", func(t *testing.T) {
		nobody := sample.ID(domain.PrefixOperatorToken)
		for _, id := range []domain.ID{nobody, "opr_1", sample.ID(domain.PrefixAPIKey)} {
			wantError(t, "Get", errorOf(b.Read().Operators.Get(t.Context(), id)), domain.ErrNotFound)
		}
		_, err := b.Read().Operators.FindByDigest(t.Context(), sha256.Sum256([]byte("nobody's")))
		wantError(t, "FindByDigest", err, domain.ErrNotFound)
		wantError(t, "Revoke", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			return tx.Operators.Revoke(ctx, nobody, sample.Now)
		}), domain.ErrNotFound)
	})

	t.Run("the first revocation and the last use stand", func(t *testing.T) {
		token := operatorToken(fresh)
		insert(t, token)
		for _, at := range []time.Duration{2, 3, 1} {
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				if err := tx.Operators.Touch(ctx, token.ID, sample.Now.Add(at*time.Second)); err != nil {
					return err
				}
				return tx.Operators.Revoke(ctx, token.ID, sample.Now.Add(at*time.Second))
			})
		}
		got := must(b.Read().Operators.Get(t.Context(), token.ID))(t)
		wantEqual(t, "revoked", *got.RevokedAt, sample.Now.Add(2*time.Second))
		wantEqual(t, "used", *got.LastUsedAt, sample.Now.Add(3*time.Second))
	})

	t.Run("the list goes oldest first", func(t *testing.T) {
		early := operatorToken(func(o *domain.OperatorToken) { o.CreatedAt = sample.Now.Add(-time.Hour) })
		late := operatorToken(func(o *domain.OperatorToken) { o.CreatedAt = sample.Now.Add(time.Hour) })
		insert(t, late, early)
		got := must(b.Read().Operators.List(t.Context()))(t)
		if len(got) < 2 || got[0].ID != early.ID || got[len(got)-1].ID != late.ID {
			t.Errorf("%d tokens: %+v", len(got), got)
		}
	})
}

func testBusinessChanges(t *testing.T, b ports.Database) {
	var all []domain.Business
	for i := range 4 {
		all = append(all, sample.Business(func(b *domain.Business) { b.CreatedAt = sample.Now.Add(time.Duration(i/2) * time.Second) }))
	}
	for i := len(all) - 1; i >= 0; i-- {
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Tenancy.InsertBusiness(ctx, all[i]) })
	}

	t.Run("pages go oldest first", func(t *testing.T) {
		for _, limit := range []int{1, 3, 4, 10} {
			got := pages(t, limit, func(p domain.PageRequest) ([]domain.Business, error) {
				return b.Read().Platform.Businesses(t.Context(), p)
			}, func(b domain.Business) domain.Position { return domain.Position{CreatedAt: b.CreatedAt, ID: b.ID} })
			wantEqual(t, "Businesses", got, all)
		}
	})

	t.Run("name and limit change, and the limit may go", func(t *testing.T) {
		want := all[1]
		for _, limit := range []*domain.RateLimit{{Limit: 7, Window: time.Minute}, nil, {Limit: 8, Window: time.Hour}} {
			want.Name, want.RateLimit = want.Name+"!", limit
			want.TrackingCash = !want.TrackingCash
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				if _, err := tx.Tenancy.LockBusiness(ctx, want.ID); err != nil {
					return err
				}
				return tx.Tenancy.UpdateBusiness(ctx, want)
			})
			wantEqual(t, "Business", must(b.Read().Tenancy.Business(t.Context(), want.ID))(t), want)
		}
		wantEqual(t, "another one", must(b.Read().Tenancy.Business(t.Context(), all[0].ID))(t), all[0])
	})

	t.Run("of changes at once none is lost", func(t *testing.T) {
		const n = 8
		for _, err := range together(n, func(int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				locked, err := tx.Tenancy.LockBusiness(ctx, all[2].ID)
				if err != nil {
					return err
				}
				locked.Name += "+"
				return tx.Tenancy.UpdateBusiness(ctx, locked)
			})
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		got := must(b.Read().Tenancy.Business(t.Context(), all[2].ID))(t)
		wantEqual(t, "name", got.Name, all[2].Name+strings.Repeat("+", n))
	})

	t.Run("what does not exist is not found", func(t *testing.T) {
		for _, id := range []domain.ID{sample.ID(domain.PrefixBusiness), "biz_1"} {
			for what, change := range map[string]func(context.Context, ports.Stores) error{
				"LockBusiness": func(ctx context.Context, tx ports.Stores) error {
					_, err := tx.Tenancy.LockBusiness(ctx, id)
					return err
				},
				"UpdateBusiness": func(ctx context.Context, tx ports.Stores) error {
					return tx.Tenancy.UpdateBusiness(ctx, domain.Business{ID: id, Name: "x"})
				},
			} {
				wantError(t, what, b.InTx(t.Context(), change), domain.ErrNotFound)
			}
		}
	})
}

func testManyPickupLocations(t *testing.T, b ports.Database) {
	tenant := newTenant(t, b)
	var all []domain.PickupLocation
	for i := range 1201 {
		all = append(all, sample.PickupLocation(func(p *domain.PickupLocation) {
			p.CreatedAt = sample.Now.Add(-time.Duration(i) * time.Millisecond)
			if i%2 == 0 {
				p.Contact, p.Coordinates, p.Active = "", nil, false
			}
		}))
	}
	for _, some := range [][]domain.PickupLocation{all, nil} {
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			return tx.PickupLocations.InsertAll(ctx, tenant, some)
		})
	}
	got := must(b.Read().PickupLocations.List(t.Context(), tenant, domain.PickupLocationFilter{}, domain.PageRequest{Limit: 2000}))(t)
	wantEqual(t, "List", got, all)
	testManyChanged(t, b, tenant, all)
	foreign := sample.Tenant()
	wantError(t, "InsertAll of nobody", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		return tx.PickupLocations.InsertAll(ctx, foreign, []domain.PickupLocation{sample.PickupLocation()})
	}), domain.ErrNotFound)
}

// testManyChanged locks and updates as many as one statement may, and none of
// another tenant.
func testManyChanged(t *testing.T, b ports.Database, tenant domain.Tenant, all []domain.PickupLocation) {
	t.Helper()
	some := slices.Clone(all[100 : 100+ports.LocationsAtOnce])
	slices.SortFunc(some, func(a, b domain.PickupLocation) int { return cmp.Compare(a.ID, b.ID) })
	ids := []domain.ID{sample.ID(domain.PrefixPickupLocation), "nonsense"}
	for _, p := range slices.Backward(some) {
		ids = append(ids, p.ID)
	}
	another := newTenant(t, b)
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		wantEqual(t, "LockAll", must(tx.PickupLocations.LockAll(ctx, tenant, ids[2:]))(t), some)
		wantEqual(t, "LockAll with those that are not there", len(must(tx.PickupLocations.LockAll(ctx, tenant, ids[:3]))(t)), 1)
		wantEqual(t, "LockAll of none", len(must(tx.PickupLocations.LockAll(ctx, tenant, nil))(t)), 0)
		wantEqual(t, "LockAll of another business", len(must(tx.PickupLocations.LockAll(ctx, another, ids))(t)), 0)
		for i := range some {
			some[i].Name, some[i].Address, some[i].Contact = "Makola 'Ɛ' "+string(some[i].ID), "new\nStreet", "+233302000001"
			some[i].Coordinates = &domain.Coordinates{Latitude: 5.1 + float64(i)/7e5, Longitude: -0.1 - float64(i)/3e5}
			some[i].Active, some[i].UpdatedAt = i%3 != 0, sample.Now.Add(time.Duration(i)*time.Millisecond)
		}
		some[0].Coordinates, some[0].Contact = nil, ""
		if err := tx.PickupLocations.UpdateAll(ctx, tenant, nil); err != nil {
			return err
		}
		return tx.PickupLocations.UpdateAll(ctx, tenant, some)
	})
	wantError(t, "UpdateAll of another business's", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		return tx.PickupLocations.UpdateAll(ctx, another, some[:1])
	}), domain.ErrNotFound)
	for _, want := range some[:20] {
		wantEqual(t, "Get after UpdateAll", must(b.Read().PickupLocations.Get(t.Context(), tenant, want.ID))(t), want)
	}
	found := must(b.Read().PickupLocations.List(t.Context(), tenant, domain.PickupLocationFilter{Search: "makola 'ɛ'"},
		domain.PageRequest{Limit: 2000}))(t)
	wantEqual(t, "how many are found by their new names", len(found), len(some))
}

// idAt is an ID of a delivery as one that is booked at that time gets.
func idAt(at time.Time) domain.ID {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli()))
	copy(id[:6], ms[2:])
	id[6] = 0x70 | id[6]&0x0f
	return domain.MakeID(domain.PrefixDelivery, id)
}

func testPlatform(t *testing.T, b ports.Database) {
	one := newTenant(t, b)
	two := live(newTenant(t, b))
	three := newSibling(t, b, one)
	at := func(i int) time.Time { return sample.Now.Add(time.Duration(i) * time.Hour) }
	var booked []*domain.Delivery
	for i := range 9 {
		tenant := []domain.Tenant{one, two, three}[i%3]
		recipient, address := newRecipient(t, b, tenant)
		w := sample.BookingTo(tenant, recipient, address, func(d *domain.Booking) {
			d.CreatedAt, d.ID = at(i), idAt(at(i).Add(time.Duration(i%2*2-1)*30*time.Second)) // off by half a minute
			d.ExternalID = ""
			if i < 3 {
				d.ExternalID = "order-1" // of each application one
			}
		})
		w.Event.DeliveryID = w.Delivery.ID
		booked = append(booked, book(t, b, w))
	}
	moved, _, err := moveLocked(t.Context(), b, booked[4].Tenant, booked[4].ID, domain.Assigned)
	if err != nil {
		t.Fatal(err)
	}
	booked[4] = moved
	if booked[8], _, err = moveLocked(t.Context(), b, booked[8].Tenant, booked[8].ID, domain.Cancelled); err != nil {
		t.Fatal(err)
	}
	search := func(t testing.TB, limit int, s domain.DeliverySearch) []domain.ID {
		t.Helper()
		return ids(pages(t, limit, func(p domain.PageRequest) ([]*domain.Delivery, error) {
			return b.Read().Platform.Deliveries(t.Context(), s, p)
		}, func(d *domain.Delivery) domain.Position { return domain.Position{CreatedAt: d.CreatedAt, ID: d.ID} }))
	}
	where := func(which ...int) []domain.ID {
		var found []domain.ID
		for _, i := range which {
			found = append(found, booked[i].ID)
		}
		return found
	}
	later := at(4).Add(time.Millisecond / 2) // between two that are kept
	for what, c := range map[string]struct {
		search domain.DeliverySearch
		want   []domain.ID
	}{
		"everything":               {domain.DeliverySearch{}, where(0, 1, 2, 3, 4, 5, 6, 7, 8)},
		"newest first":             {domain.DeliverySearch{NewestFirst: true}, where(8, 7, 6, 5, 4, 3, 2, 1, 0)},
		"an ID":                    {domain.DeliverySearch{ID: booked[3].ID}, where(3)},
		"an ID of nobody":          {domain.DeliverySearch{ID: sample.ID(domain.PrefixDelivery)}, where()},
		"what is no ID":            {domain.DeliverySearch{ID: "dlv_1"}, where()},
		"a reference":              {domain.DeliverySearch{Reference: booked[5].Reference}, where(5)},
		"an external_id":           {domain.DeliverySearch{ExternalID: "order-1"}, where(0, 1, 2)},
		"an external_id, last one": {domain.DeliverySearch{ExternalID: "order-1", NewestFirst: true}, where(2, 1, 0)},
		"an external_id of one":    {domain.DeliverySearch{ExternalID: "order-1", ApplicationID: two.ApplicationID}, where(1)},
		"an external_id of nobody": {domain.DeliverySearch{ExternalID: "order-2"}, where()},
		"a status":                 {domain.DeliverySearch{Status: domain.Assigned}, where(4)},
		"a business":               {domain.DeliverySearch{BusinessID: one.BusinessID}, where(0, 2, 3, 5, 6, 8)},
		"an application":           {domain.DeliverySearch{ApplicationID: three.ApplicationID}, where(2, 5, 8)},
		"an environment":           {domain.DeliverySearch{Environment: domain.Live}, where(1, 4, 7)},
		"another's environment":    {domain.DeliverySearch{Environment: domain.Live, BusinessID: one.BusinessID}, where()},
		"since, inclusive":         {domain.DeliverySearch{CreatedAfter: new(at(7))}, where(7, 8)},
		"since, between two":       {domain.DeliverySearch{CreatedAfter: &later}, where(5, 6, 7, 8)},
		"until, exclusive":         {domain.DeliverySearch{CreatedBefore: new(at(2))}, where(0, 1)},
		"since, with an older ID":  {domain.DeliverySearch{CreatedAfter: new(at(6))}, where(6, 7, 8)},
		"until, with a younger ID": {domain.DeliverySearch{CreatedBefore: new(at(5).Add(time.Millisecond))}, where(0, 1, 2, 3, 4, 5)},
		"since and until": {domain.DeliverySearch{CreatedAfter: new(at(3)), CreatedBefore: new(at(6)), NewestFirst: true},
			where(5, 4, 3)},
		"before there were any":       {domain.DeliverySearch{CreatedBefore: new(time.Time{})}, where()},
		"since the year 1":            {domain.DeliverySearch{CreatedAfter: new(time.Time{})}, where(0, 1, 2, 3, 4, 5, 6, 7, 8)},
		"a phone number":              {domain.DeliverySearch{Phone: booked[6].Recipient.PhoneNumber}, where(6)},
		"a phone number of nobody":    {domain.DeliverySearch{Phone: sample.PhoneNumber()}, where()},
		"open":                        {domain.DeliverySearch{Open: true}, where(0, 1, 2, 3, 4, 5, 6, 7)},
		"open of a status":            {domain.DeliverySearch{Open: true, Status: domain.Assigned}, where(4)},
		"changed since":               {domain.DeliverySearch{UpdatedAfter: new(at(7))}, where(7, 8)},
		"not changed since":           {domain.DeliverySearch{UpdatedBefore: new(at(3))}, where(0, 1, 2)},
		"a text that cannot be there": {domain.DeliverySearch{ExternalID: "a\x00b"}, where()},
	} {
		t.Run(what, func(t *testing.T) {
			for _, limit := range []int{1, 2, 4, 100} {
				wantEqual(t, "Deliveries", search(t, limit, c.search), c.want)
			}
		})
	}
	t.Run("all of a delivery comes back", func(t *testing.T) {
		found := must(b.Read().Platform.Deliveries(t.Context(), domain.DeliverySearch{ID: moved.ID}, domain.PageRequest{Limit: 1}))(t)
		wantDelivery(t, "the delivery", nth(t, found, 0), moved)
	})
}
