package toystore

import (
	"context"
	"slices"
	"strings"
	"time"

	"waybill/domain"
)

func (s platform) Customers(ctx context.Context, f domain.CustomerSearch, now time.Time, p domain.PageRequest) ([]domain.Customer, error) {
	found, state := []domain.Customer{}, s.now()
	for _, b := range state.businesses.where(func(b domain.Business) bool {
		return (f.State == "" || (f.State == domain.CustomerDisabled) == b.Disabled) && (f.Text == "" || s.matches(b, f.Text))
	}, by(positionOfBusiness)) {
		c := domain.Customer{Business: b}
		apps, _ := tenancy(s).Applications(ctx, b.ID)
		c.Applications = len(apps)
		for _, a := range apps {
			keys, _ := tenancy(s).APIKeys(ctx, a.ID)
			for _, k := range keys {
				if works(k, now) && !a.Disabled && !b.Disabled {
					c.Keys++
				}
				if k.LastUsedAt != nil {
					c.LastUsedAt = later(c.LastUsedAt, *k.LastUsedAt)
				}
			}
		}
		c.People = len(s.accepted(b.ID))
		found = append(found, c)
	}
	return page(found, p, true, func(c domain.Customer) domain.Position { return positionOfBusiness(c.Business) }), nil
}

func anyOrder[T any](_, _ T) int { return 0 }

func works(k domain.APIKey, now time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || now.Before(*k.ExpiresAt))
}

func (s platform) accepted(business domain.ID) []domain.Membership {
	return s.now().memberships.where(func(m domain.Membership) bool { return m.BusinessID == business && m.AcceptedAt != nil },
		anyOrder)
}

func (s platform) matches(b domain.Business, text string) bool {
	state := s.now()
	contains := func(name string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(text)) }
	mine := func(a domain.Application) bool { return a.BusinessID == b.ID }
	if id := domain.ID(text); id == b.ID {
		return true
	} else if a, there := state.applications.get(id); there {
		return mine(a)
	} else if k, there := state.apiKeys.get(id); there {
		a, _ := state.applications.get(k.ApplicationID)
		return mine(a)
	}
	if contains(b.Name) {
		return true
	}
	if len(state.applications.where(func(a domain.Application) bool { return mine(a) && contains(a.Name) }, anyOrder)) > 0 {
		return true
	}
	return len(state.memberships.where(func(m domain.Membership) bool {
		p, _ := state.persons.get(m.PersonID)
		return m.BusinessID == b.ID && (contains(string(p.Email)) || string(p.ID) == text)
	}, anyOrder)) > 0
}

func (s platform) Footprint(_ context.Context, business, application domain.ID, now time.Time) (f domain.Footprint, _ error) {
	state := s.now()
	mine := func(id domain.ID) bool {
		a, _ := state.applications.get(id)
		return a.ID == id && a.BusinessID == business && (application == "" || id == application)
	}
	for _, k := range state.apiKeys.rows {
		switch {
		case !mine(k.ApplicationID) || !works(k, now):
		case k.Environment == domain.Live:
			f.LiveKeys++
		default:
			f.SandboxKeys++
		}
	}
	for _, e := range state.endpoints.rows {
		if mine(e.Tenant.ApplicationID) && e.Enabled && !e.Listener {
			f.Endpoints++
		}
	}
	for _, d := range state.deliveries.rows {
		if mine(d.Tenant.ApplicationID) && d.Tenant.Environment == domain.Live && slices.Contains(domain.OpenStatuses(), d.Status()) {
			f.OpenDeliveries++
		}
	}
	if application == "" {
		f.People = len(s.accepted(business))
	}
	return f, nil
}
