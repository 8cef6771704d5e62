package toystore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"waybill/domain"
)

// contains compares as people do, whatever the case.
func contains(search string, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(fold(text), fold(search)) })
}

func fold(s string) string { return cases.Fold().String(norm.NFC.String(s)) }

type recipients struct{ session }

func (s recipients) first(admits func(of[domain.Recipient]) bool) (domain.Recipient, error) {
	r, err := s.now().recipients.first(admits)
	return r.record, err
}

func (s recipients) Get(_ context.Context, t domain.Tenant, id domain.ID) (domain.Recipient, error) {
	return s.first(func(r of[domain.Recipient]) bool { return sameBusiness(r.tenant, t) && r.record.ID == id })
}

func (s recipients) FindByPhone(_ context.Context, t domain.Tenant, phone domain.PhoneNumber) (domain.Recipient, error) {
	return s.first(func(r of[domain.Recipient]) bool { return sameBusiness(r.tenant, t) && r.record.PhoneNumber == phone })
}

func (s recipients) List(_ context.Context, t domain.Tenant, f domain.RecipientFilter, p domain.PageRequest) ([]domain.Recipient, error) {
	at := func(r of[domain.Recipient]) domain.Position {
		return domain.Position{CreatedAt: r.record.CreatedAt, ID: r.record.ID}
	}
	return records(page(s.now().recipients.where(func(r of[domain.Recipient]) bool {
		name, phone := r.record.Name, string(r.record.PhoneNumber)
		return sameBusiness(r.tenant, t) && (f.PhoneNumber == "" || r.record.PhoneNumber == f.PhoneNumber) &&
			(f.Search == "" || contains(f.Search, name, phone) || f.SearchPhone != "" && contains(f.SearchPhone, name, phone))
	}, by(at)), p, false, at)), nil
}

func (s recipients) GetAddress(_ context.Context, t domain.Tenant, id domain.ID) (domain.Address, error) {
	a, err := s.now().addresses.first(func(a of[domain.Address]) bool { return sameBusiness(a.tenant, t) && a.record.ID == id })
	return a.record, err
}

func (s recipients) FindAddress(_ context.Context, t domain.Tenant, recipient domain.ID, matchKey string) (domain.Address, error) {
	a, err := s.now().addresses.first(func(a of[domain.Address]) bool {
		return sameBusiness(a.tenant, t) && a.record.RecipientID == recipient && a.record.MatchKey == matchKey
	})
	return a.record, err
}

func (s recipients) Addresses(_ context.Context, t domain.Tenant, recipient domain.ID) ([]domain.Address, error) {
	return records(s.now().addresses.where(func(a of[domain.Address]) bool {
		return sameBusiness(a.tenant, t) && a.record.RecipientID == recipient
	}, by(func(a of[domain.Address]) domain.Position {
		return domain.Position{CreatedAt: a.record.CreatedAt, ID: a.record.ID}
	}))), nil
}

func (s recipients) Add(ctx context.Context, t domain.Tenant, r domain.Recipient) (domain.Recipient, bool, error) {
	stored, err := s.FindByPhone(ctx, t, r.PhoneNumber)
	if err != nil {
		s.tx.recipients.put(r.ID, of[domain.Recipient]{t, r})
		return r, true, nil
	}
	r.ID = stored.ID
	s.fillName(r)
	stored, err = s.Get(ctx, t, stored.ID)
	return stored, false, err
}

// fillName gives the recipient a name where it has none.
func (s recipients) fillName(r domain.Recipient) {
	_ = update(&s.tx.recipients, r.ID, func(stored *of[domain.Recipient]) { // or it does not exist
		if stored.record.Name == "" && r.Name != "" {
			stored.record.Name, stored.record.UpdatedAt = r.Name, r.UpdatedAt
		}
	})
}

func (s recipients) AddAddress(ctx context.Context, t domain.Tenant, a domain.Address) (domain.Address, bool, error) {
	if _, err := s.Get(ctx, t, a.RecipientID); err != nil {
		return domain.Address{}, false, err
	}
	if stored, err := s.FindAddress(ctx, t, a.RecipientID, a.MatchKey); err == nil {
		return stored, false, nil
	}
	if all, _ := s.Addresses(ctx, t, a.RecipientID); len(all) >= domain.MaxAddressesPerRecipient {
		return domain.Address{}, false, domain.TooManyAddresses("address")
	}
	s.tx.addresses.put(a.ID, of[domain.Address]{t, a})
	return a, true, nil
}

type pickups struct{ session }

func (s pickups) Get(_ context.Context, t domain.Tenant, id domain.ID) (domain.PickupLocation, error) {
	p, err := s.now().pickups.first(func(p of[domain.PickupLocation]) bool { return sameBusiness(p.tenant, t) && p.record.ID == id })
	return p.record, err
}

func (s pickups) Lock(ctx context.Context, t domain.Tenant, id domain.ID) (domain.PickupLocation, error) {
	return s.Get(ctx, t, id)
}

func (s pickups) LockAll(_ context.Context, t domain.Tenant, ids []domain.ID) ([]domain.PickupLocation, error) {
	return records(s.now().pickups.where(func(p of[domain.PickupLocation]) bool {
		return sameBusiness(p.tenant, t) && slices.Contains(ids, p.record.ID)
	}, func(a, b of[domain.PickupLocation]) int { return cmp.Compare(a.record.ID, b.record.ID) })), nil
}

func (s pickups) List(_ context.Context, t domain.Tenant, f domain.PickupLocationFilter, p domain.PageRequest) ([]domain.PickupLocation,
	error) {
	at := func(p of[domain.PickupLocation]) domain.Position {
		return domain.Position{CreatedAt: p.record.CreatedAt, ID: p.record.ID}
	}
	return records(page(s.now().pickups.where(func(p of[domain.PickupLocation]) bool {
		return sameBusiness(p.tenant, t) && (f.Active == nil || p.record.Active == *f.Active) &&
			(f.Search == "" || contains(f.Search, p.record.Name, p.record.Address))
	}, by(at)), p, true, at)), nil
}

func (s pickups) Insert(_ context.Context, t domain.Tenant, p domain.PickupLocation) error {
	if _, err := s.tx.businesses.take(t.BusinessID); err != nil {
		return err
	}
	s.tx.pickups.put(p.ID, of[domain.PickupLocation]{t, p})
	return nil
}

func (s pickups) InsertAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error {
	for _, p := range all {
		if err := s.Insert(ctx, t, p); err != nil {
			return err
		}
	}
	return nil
}

func (s pickups) Update(ctx context.Context, t domain.Tenant, p domain.PickupLocation) error {
	if _, err := s.Get(ctx, t, p.ID); err != nil {
		return err
	}
	return update(&s.tx.pickups, p.ID, func(stored *of[domain.PickupLocation]) {
		p.CreatedAt = stored.record.CreatedAt
		stored.record = p
	})
}

func (s pickups) UpdateAll(ctx context.Context, t domain.Tenant, all []domain.PickupLocation) error {
	for _, p := range all {
		if err := s.Update(ctx, t, p); err != nil {
			return err
		}
	}
	return nil
}
