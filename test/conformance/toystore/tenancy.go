package toystore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"waybill/domain"
	"waybill/ports"
)

type tenancy struct{ session }

func positionOfKey(k domain.APIKey) domain.Position {
	return domain.Position{CreatedAt: k.CreatedAt, ID: k.ID}
}

func positionOfBusiness(b domain.Business) domain.Position {
	return domain.Position{CreatedAt: b.CreatedAt, ID: b.ID}
}

func (s tenancy) Credential(_ context.Context, digests ...[32]byte) (c domain.Credential, err error) {
	now := s.now()
	c.Key, err = now.apiKeys.first(func(k domain.APIKey) bool { return slices.Contains(digests, k.Digest) })
	if err != nil {
		return c, err
	}
	c.Application, _ = now.applications.get(c.Key.ApplicationID)
	c.Business, _ = now.businesses.get(c.Application.BusinessID)
	return c, nil
}

func (s tenancy) Known(_ context.Context, digests [][32]byte) (known [][32]byte, _ error) {
	for _, k := range s.now().apiKeys.rows {
		if slices.Contains(digests, k.Digest) {
			known = append(known, k.Digest)
		}
	}
	return known, nil
}

func (s tenancy) Business(_ context.Context, id domain.ID) (domain.Business, error) {
	return s.now().businesses.take(id)
}

func (s tenancy) Application(_ context.Context, id domain.ID) (domain.Application, error) {
	return s.now().applications.take(id)
}

func (s tenancy) APIKey(_ context.Context, id domain.ID) (domain.APIKey, error) {
	return s.now().apiKeys.take(id)
}

func (s tenancy) APIKeys(_ context.Context, application domain.ID) ([]domain.APIKey, error) {
	return s.now().apiKeys.where(func(k domain.APIKey) bool { return k.ApplicationID == application }, by(positionOfKey)), nil
}

func (s tenancy) ExpiringKeys(_ context.Context, from, until time.Time, after domain.ID, limit int) (found []domain.Credential, _ error) {
	now := s.now()
	keys := now.apiKeys.where(func(k domain.APIKey) bool {
		return k.RevokedAt == nil && k.ExpiresAt != nil && k.ExpiresAt.After(from) && !k.ExpiresAt.After(until) && k.ID > after
	}, func(a, b domain.APIKey) int { return cmp.Compare(a.ID, b.ID) })
	for _, k := range keys[:min(len(keys), limit)] {
		c := domain.Credential{Key: k}
		c.Application, _ = now.applications.get(k.ApplicationID)
		c.Business, _ = now.businesses.get(c.Application.BusinessID)
		found = append(found, c)
	}
	return found, nil
}

func (s tenancy) Businesses(context.Context) ([]domain.Business, error) {
	return s.now().businesses.where(func(domain.Business) bool { return true }, by(positionOfBusiness)), nil
}

func (s tenancy) Applications(_ context.Context, business domain.ID) ([]domain.Application, error) {
	return s.now().applications.where(func(a domain.Application) bool { return a.BusinessID == business },
		by(func(a domain.Application) domain.Position { return domain.Position{CreatedAt: a.CreatedAt, ID: a.ID} })), nil
}

func (s tenancy) ApplicationsPage(ctx context.Context, business domain.ID, p domain.PageRequest) ([]domain.Application, error) {
	found, err := s.Applications(ctx, business)
	return page(found, p, false, func(a domain.Application) domain.Position { return domain.Position{CreatedAt: a.CreatedAt, ID: a.ID} }), err
}

func (s tenancy) PepperMarks(context.Context) ([][32]byte, error) {
	return slices.Clone(s.now().peppers), nil
}

// pepper is the place of a mark among the known ones; the zero mark is the oldest.
func (s *state) pepper(mark [32]byte) int {
	if mark == [32]byte{} {
		return 0
	}
	return slices.Index(s.peppers, mark)
}

func usable(expires, revoked *time.Time, now time.Time) bool {
	return revoked == nil && (expires == nil || expires.After(now))
}

func (s tenancy) OldPepperKeys(_ context.Context, now time.Time) ([]domain.APIKey, error) {
	at := s.now()
	return at.apiKeys.where(func(k domain.APIKey) bool {
		i := at.pepper(k.Pepper)
		return i >= 0 && i < len(at.peppers)-1 && usable(k.ExpiresAt, k.RevokedAt, now)
	}, by(positionOfKey)), nil
}

func (s tenancy) OldPeppers(_ context.Context, now time.Time) ([]domain.PepperUse, error) {
	at := s.now()
	uses := make([]domain.PepperUse, len(at.peppers))
	use := func(mark [32]byte, keys, tokens int, expires, revoked, used *time.Time) {
		i := at.pepper(mark)
		if i < 0 || i >= len(uses)-1 || !usable(expires, revoked, now) {
			return
		}
		uses[i] = domain.SumPepperUses([]domain.PepperUse{uses[i], {Keys: keys, Tokens: tokens, LastUsedAt: used}})
		uses[i].Mark = at.peppers[i]
	}
	for _, k := range at.apiKeys.rows {
		use(k.Pepper, 1, 0, k.ExpiresAt, k.RevokedAt, k.LastUsedAt)
	}
	for _, t := range at.operators.rows {
		use(t.Pepper, 0, 1, t.ExpiresAt, t.RevokedAt, t.LastUsedAt)
	}
	return slices.DeleteFunc(uses, func(u domain.PepperUse) bool { return u.Keys+u.Tokens == 0 }), nil
}

func (s tenancy) InsertBusiness(_ context.Context, b domain.Business) error {
	s.tx.businesses.put(b.ID, b)
	return nil
}

func (s tenancy) LockBusiness(ctx context.Context, id domain.ID) (domain.Business, error) {
	return s.Business(ctx, id)
}

func (s tenancy) UpdateBusiness(_ context.Context, b domain.Business) error {
	return update(&s.tx.businesses, b.ID, func(stored *domain.Business) {
		stored.Name, stored.RateLimit, stored.Disabled = b.Name, b.RateLimit, b.Disabled
	})
}

// update changes a record that has to be there.
func update[K comparable, V any](t *table[K, V], k K, change func(*V)) error {
	v, err := t.take(k)
	if err != nil {
		return err
	}
	change(&v)
	t.put(k, v)
	return nil
}

func (s tenancy) InsertApplication(_ context.Context, a domain.Application) error {
	if _, err := s.tx.businesses.take(a.BusinessID); err != nil {
		return err
	}
	s.tx.applications.put(a.ID, a)
	return nil
}

func (s tenancy) RenameApplication(_ context.Context, id domain.ID, name string) error {
	return update(&s.tx.applications, id, func(a *domain.Application) { a.Name = name })
}

func (s tenancy) SetApplicationDisabled(_ context.Context, id domain.ID, disabled bool) error {
	return update(&s.tx.applications, id, func(a *domain.Application) { a.Disabled = disabled })
}

func (s tenancy) InsertAPIKey(_ context.Context, k domain.APIKey) error {
	if _, err := s.tx.applications.take(k.ApplicationID); err != nil {
		return err
	}
	s.tx.apiKeys.put(k.ID, k)
	return nil
}

func (s tenancy) RevokeAPIKey(_ context.Context, id domain.ID, at time.Time) error {
	return update(&s.tx.apiKeys, id, func(k *domain.APIKey) { k.RevokedAt = cmp.Or(k.RevokedAt, &at) })
}

func (s tenancy) TouchAPIKeys(_ context.Context, uses []ports.KeyUse) error {
	for _, u := range uses {
		_ = update(&s.tx.apiKeys, u.ID, func(k *domain.APIKey) { k.LastUsedAt = later(k.LastUsedAt, u.At) }) // or it does not exist
	}
	return nil
}

func later(known *time.Time, at time.Time) *time.Time {
	if known != nil && !known.Before(at) {
		return known
	}
	return &at
}

func (s tenancy) RedigestAPIKeys(_ context.Context, changes []ports.Redigest) error {
	for _, r := range changes {
		_ = update(&s.tx.apiKeys, r.ID, func(k *domain.APIKey) { redigest(&k.Digest, &k.Pepper, r) }) // or it does not exist
	}
	return nil
}

func redigest(digest, pepper *[32]byte, r ports.Redigest) {
	if *digest == r.From {
		*digest, *pepper = r.To, r.Pepper
	}
}

func (s tenancy) AddPepperMark(ctx context.Context, known [][32]byte, mark [32]byte) ([][32]byte, error) {
	if len(known) == len(s.tx.peppers) && !slices.Contains(known, mark) {
		s.tx.peppers = append(slices.Clone(s.tx.peppers), mark)
	}
	return s.PepperMarks(ctx)
}

func (s tenancy) SetPepperMark(_ context.Context, mark [32]byte) error {
	s.tx.peppers = [][32]byte{mark}
	return nil
}

type operators struct{ session }

func (s operators) FindByDigest(_ context.Context, digests ...[32]byte) (domain.OperatorToken, error) {
	return s.now().operators.first(func(t domain.OperatorToken) bool { return slices.Contains(digests, t.Digest) })
}

func (s operators) Get(_ context.Context, id domain.ID) (domain.OperatorToken, error) {
	return s.now().operators.take(id)
}

func (s operators) List(context.Context) ([]domain.OperatorToken, error) {
	return s.now().operators.where(func(domain.OperatorToken) bool { return true },
		by(func(t domain.OperatorToken) domain.Position { return domain.Position{CreatedAt: t.CreatedAt, ID: t.ID} })), nil
}

func (s operators) Insert(_ context.Context, t domain.OperatorToken) error {
	s.tx.operators.put(t.ID, t)
	return nil
}

func (s operators) Revoke(_ context.Context, id domain.ID, at time.Time) error {
	return update(&s.tx.operators, id, func(t *domain.OperatorToken) { t.RevokedAt = cmp.Or(t.RevokedAt, &at) })
}

func (s operators) Touch(_ context.Context, id domain.ID, at time.Time) error {
	_ = update(&s.tx.operators, id, func(t *domain.OperatorToken) { t.LastUsedAt = later(t.LastUsedAt, at) }) // or it does not exist
	return nil
}

func (s operators) Redigest(_ context.Context, r ports.Redigest) error {
	_ = update(&s.tx.operators, r.ID, func(t *domain.OperatorToken) { redigest(&t.Digest, &t.Pepper, r) }) // or it does not exist
	return nil
}

type audit struct{ session }

func (s audit) Append(_ context.Context, e domain.AuditEntry) error {
	s.tx.audit.put(e.ID, e)
	return nil
}

func (s audit) List(_ context.Context, f domain.AuditFilter, p domain.PageRequest) ([]domain.AuditEntry, error) {
	return s.list(f, p, func(domain.AuditEntry) bool { return true }), nil
}

func (s audit) ListOfBusiness(_ context.Context, business domain.ID, f domain.AuditFilter, p domain.PageRequest) ([]domain.AuditEntry,
	error) {
	return s.list(f, p, func(e domain.AuditEntry) bool { return business != "" && e.BusinessID == business }), nil
}

func (s audit) list(f domain.AuditFilter, p domain.PageRequest, admits func(domain.AuditEntry) bool) []domain.AuditEntry {
	at := func(e domain.AuditEntry) domain.Position { return domain.Position{ID: e.ID} }
	return page(s.now().audit.where(func(e domain.AuditEntry) bool {
		return admits(e) && (f.ActorID == "" || e.Actor.ID == f.ActorID) && (f.Action == "" || e.Action == f.Action) &&
			(f.Target == "" || e.Target == f.Target) && (f.Since == nil || !e.At.Before(*f.Since)) && (f.Until == nil || e.At.Before(*f.Until))
	}, by(at)), onlyID(p), true, at)
}

// onlyID leaves of a position what counts where lists go by ID.
func onlyID(p domain.PageRequest) domain.PageRequest {
	if p.After != nil {
		p.After = &domain.Position{ID: p.After.ID}
	}
	return p
}

type platform struct{ session }

func (s platform) Businesses(_ context.Context, p domain.PageRequest) ([]domain.Business, error) {
	all, _ := tenancy(s).Businesses(context.Background())
	return page(all, p, false, positionOfBusiness), nil
}

func (s platform) Deliveries(_ context.Context, f domain.DeliverySearch, p domain.PageRequest) ([]*domain.Delivery, error) {
	at := func(d *domain.Delivery) domain.Position { return domain.Position{ID: d.ID} }
	return page(s.now().deliveries.where(func(d *domain.Delivery) bool {
		return (f.ID == "" || d.ID == f.ID) && (f.Reference == "" || d.Reference == f.Reference) &&
			(f.ExternalID == "" || d.ExternalID == f.ExternalID) && (f.Status == "" || d.Status() == f.Status) &&
			(f.Phone == "" || d.Recipient.PhoneNumber == f.Phone) && (!f.Open || d.Status().Open()) &&
			(f.BusinessID == "" || d.Tenant.BusinessID == f.BusinessID) &&
			(f.ApplicationID == "" || d.Tenant.ApplicationID == f.ApplicationID) &&
			(f.Environment == "" || d.Tenant.Environment == f.Environment) &&
			within(d.CreatedAt, f.CreatedAfter, f.CreatedBefore) && within(d.UpdatedAt(), f.UpdatedAfter, f.UpdatedBefore)
	}, by(at)), onlyID(p), f.NewestFirst, at), nil
}

func (s platform) BusinessNames(_ context.Context, of []domain.ID) (map[domain.ID]string, error) {
	names := map[domain.ID]string{}
	for _, id := range of {
		if b, there := s.now().businesses.get(id); there {
			names[id] = b.Name
		}
	}
	return names, nil
}

func (s platform) Work(_ context.Context, e domain.Environment, at time.Time) (domain.WorkTallies, error) {
	counts := map[domain.WorkTally]int{}
	for _, status := range append(domain.OpenStatuses(), domain.Failed) {
		f := domain.WorkFilter{Environment: e, Status: status}.Search(at)
		for _, d := range s.now().deliveries.where(func(d *domain.Delivery) bool {
			return d.Tenant.Environment == e && d.Status() == status && within(d.UpdatedAt(), f.UpdatedAfter, nil)
		}, by(func(d *domain.Delivery) domain.Position { return domain.Position{ID: d.ID} })) {
			counts[domain.WorkTally{BusinessID: d.Tenant.BusinessID, Status: status, Band: domain.AgeBand(at.Sub(d.UpdatedAt()))}]++
		}
	}
	tallies := make(domain.WorkTallies, 0, len(counts))
	for t, n := range counts {
		t.Count = n
		tallies = append(tallies, t)
	}
	return tallies, nil
}

func (s platform) Named(_ context.Context, ids []domain.ID, references []domain.Reference) ([]*domain.Delivery, error) {
	at := func(d *domain.Delivery) domain.Position { return domain.Position{ID: d.ID} }
	return s.now().deliveries.where(func(d *domain.Delivery) bool {
		return slices.Contains(ids, d.ID) || slices.Contains(references, d.Reference)
	}, by(at)), nil
}

func (s platform) Owner(_ context.Context, id domain.ID) (o domain.Owned, err error) {
	now := s.now()
	if k, there := now.apiKeys.get(id); there {
		app, err := now.applications.take(k.ApplicationID)
		return domain.Owned{Tenant: domain.Tenant{BusinessID: app.BusinessID, ApplicationID: app.ID, Environment: k.Environment}}, err
	}
	if r, there := now.recipients.get(id); there {
		o.Tenant = r.tenant
	} else if p, there := now.pickups.get(id); there {
		o.Tenant = p.tenant
	}
	if o.Tenant.BusinessID != "" {
		o.Tenant.ApplicationID = "" // of all applications
		return o, nil
	}
	timeline, err := now.timelines.first(func(all []domain.Event) bool {
		return slices.ContainsFunc(all, func(e domain.Event) bool { return e.ID == id })
	})
	if err == nil {
		d, err := now.deliveries.take(timeline[0].DeliveryID)
		return domain.Owned{Tenant: d.Tenant, DeliveryID: d.ID}, err
	}
	attempts, err := now.attempts.first(func(all []domain.WebhookAttempt) bool {
		return slices.ContainsFunc(all, func(a domain.WebhookAttempt) bool { return a.ID == id })
	})
	if err == nil {
		id = attempts[0].DeliveryID
	}
	endpoint := id
	if w, there := now.webhooks.get(id); there {
		o.DeliveryID, o.SentID, endpoint = w.DeliveryID, w.ID, w.EndpointID
	}
	e, err := now.endpoints.take(endpoint)
	if err != nil || e.Listener {
		return domain.Owned{}, domain.ErrNotFound
	}
	o.Tenant, o.EndpointID = e.Tenant, e.ID
	return o, nil
}
