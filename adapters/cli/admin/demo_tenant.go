package admin

import (
	"context"
	"errors"

	"waybill/application/access"
	"waybill/application/directory"
	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
)

const (
	demoBusiness = "Adom Foods"
	demoApp      = "Demo shop"
	demoOperator = "Demo operator"
	demoOwner    = "Ama Mensah"
	demoEmail    = "ama@adom-foods.example"
	demoAdmin    = "Kofi Boateng"
	adminEmail   = "kofi@waybill.example"
)

// Seeder creates the demo customer of a development server.
type Seeder struct {
	Storage ports.Storage
	Digest  ports.KeyDigester
	Clock   ports.Clock
	Tenants *access.Tenants
	Pickups *directory.PickupLocations
	People  *people.Directory
}

// DemoCustomer holds the demo customer and everything that scripts learn about it.
type DemoCustomer struct {
	Business             domain.Business
	App                  domain.Application
	LiveKey, TestKey     string
	FreshLive, FreshTest bool // the key was created just now

	by         domain.AuditActor // the actor of what is created, in the audit log
	OpsToken   string
	FreshToken bool

	Pickup, Inactive, Incomplete domain.ID // in the sandbox
	LivePickup                   domain.ID

	Owner people.Issued // a link for an owner, created just now
	Admin people.Issued // one for an admin of the staff
}

// Demo returns the customer of the last start, whose variables are given. It creates whatever
// is missing: everything, at the first start.
func (s *Seeder) Demo(ctx context.Context, by domain.AuditActor, before map[string]string) (DemoCustomer, error) {
	d := DemoCustomer{by: by}
	if err := s.keepKeys(ctx, &d, before); err != nil {
		return d, err
	}
	if d.App.ID == "" {
		if err := s.findOrMake(ctx, &d); err != nil {
			return d, err
		}
	}
	for _, k := range []struct {
		env   domain.Environment
		key   *string
		fresh *bool
	}{{domain.Live, &d.LiveKey, &d.FreshLive}, {domain.Sandbox, &d.TestKey, &d.FreshTest}} {
		if *k.key != "" {
			continue
		}
		issued, err := s.Tenants.IssueKey(ctx, d.by, d.App.ID, k.env, domain.AllScopes(), nil)
		if err != nil {
			return d, err
		}
		*k.key, *k.fresh = issued.Secret, true
	}
	if err := s.keepOperator(ctx, &d, before["WAYBILL_OPS_TOKEN"]); err != nil {
		return d, err
	}
	if err := s.placePickups(ctx, &d, before); err != nil {
		return d, err
	}
	var err error
	d.Owner, err = s.admit(ctx, d.by, people.Invitation{BusinessID: d.Business.ID, Email: demoEmail, Name: demoOwner,
		Role: string(domain.RoleOwner)})
	if err != nil {
		return d, err
	}
	d.Admin, err = s.admit(ctx, d.by, people.Invitation{Email: adminEmail, Name: demoAdmin, Role: string(domain.RoleAdmin)})
	return d, err
}

// admit creates a link for a person of the demo, and none if somebody has disabled the account.
func (s *Seeder) admit(ctx context.Context, by domain.AuditActor, i people.Invitation) (people.Issued, error) {
	issued, err := s.People.Admit(ctx, by, i)
	if domain.HasCode(err, domain.CodePersonDisabled) {
		return people.Issued{}, nil
	}
	return issued, err
}

// keepOperator reuses the token of the operations API while it works, or creates another one.
func (s *Seeder) keepOperator(ctx context.Context, d *DemoCustomer, last string) error {
	works, err := s.Tenants.UsableOperatorToken(ctx, last)
	if err != nil || works {
		d.OpsToken = last
		return err
	}
	issued, err := s.Tenants.IssueOperatorToken(ctx, d.by, demoOperator, domain.OperatorAdmin, new(access.DefaultOperatorLifetime))
	d.OpsToken, d.FreshToken = issued.Secret, true
	return err
}

// keepKeys reuses the keys that are still valid in the database.
func (s *Seeder) keepKeys(ctx context.Context, d *DemoCustomer, before map[string]string) error {
	for _, k := range []struct {
		env    domain.Environment
		secret string
		kept   *string
	}{{domain.Live, before["WAYBILL_LIVE_KEY"], &d.LiveKey}, {domain.Sandbox, before["WAYBILL_TEST_KEY"], &d.TestKey}} {
		if env, ok := domain.ParseAPIKey(k.secret); !ok || env != k.env {
			continue
		}
		credential, err := s.Storage.Read().Tenancy.Credential(ctx, append(s.Digest.Previous(k.secret), s.Digest.Digest(k.secret))...)
		if errors.Is(err, domain.ErrNotFound) {
			continue // created on another database, or under another pepper
		}
		if err != nil {
			return err
		}
		if d.App.ID != "" && d.App.ID != credential.Application.ID || credential.Usable(s.Clock.Now()) != nil {
			continue
		}
		d.Business, d.App, *k.kept = credential.Business, credential.Application, k.secret
	}
	return nil
}

// findOrMake finds a demo customer whose keys are lost, or creates one.
func (s *Seeder) findOrMake(ctx context.Context, d *DemoCustomer) error {
	businesses, err := s.Tenants.Businesses(ctx)
	if err != nil {
		return err
	}
	for _, b := range businesses {
		if b.Name != demoBusiness {
			continue
		}
		apps, err := s.Tenants.Applications(ctx, b.ID)
		if err != nil {
			return err
		}
		for _, a := range apps {
			if a.Name == demoApp && !a.Disabled {
				d.Business, d.App = b, a
				return nil
			}
		}
	}
	if d.Business, err = s.Tenants.CreateBusiness(ctx, d.by, demoBusiness, nil); err != nil {
		return err
	}
	d.App, err = s.Tenants.CreateApplication(ctx, d.by, d.Business.ID, demoApp)
	return err
}

// placePickups finds a location for each state that scripts try, and creates the missing ones.
// It prefers those of the last start.
func (s *Seeder) placePickups(ctx context.Context, d *DemoCustomer, before map[string]string) error {
	usable := func(p domain.PickupLocation) bool { return p.Active && p.Complete() }
	for _, want := range []struct {
		id   *domain.ID
		last string
		env  domain.Environment
		fits func(domain.PickupLocation) bool
		form directory.PickupLocationForm
	}{
		{&d.Pickup, "WAYBILL_PICKUP_ID", domain.Sandbox, usable, demoPickup("Demo branch", true)},
		{&d.LivePickup, "WAYBILL_LIVE_PICKUP_ID", domain.Live, usable, demoPickup("Osu branch", true)},
		{&d.Inactive, "WAYBILL_PICKUP_INACTIVE_ID", domain.Sandbox,
			func(p domain.PickupLocation) bool { return !p.Active && p.Complete() }, demoPickup("Closed demo branch", false)},
		{&d.Incomplete, "WAYBILL_PICKUP_INCOMPLETE_ID", domain.Sandbox,
			func(p domain.PickupLocation) bool { return p.Active && !p.Complete() },
			directory.PickupLocationForm{Name: "Unfinished demo branch", Address: "Spintex Road, Accra", Active: true}},
	} {
		tenant := domain.Tenant{BusinessID: d.Business.ID, Environment: want.env}
		there, err := allPickups(ctx, s.Pickups, tenant)
		if err != nil {
			return err
		}
		for _, p := range there { // newest first, so that the oldest one remains
			if want.fits(p) && (*want.id == "" || string(*want.id) != before[want.last]) {
				*want.id = p.ID
			}
		}
		if *want.id != "" {
			continue
		}
		made, err := s.Pickups.Add(ctx, d.by, tenant, want.form)
		if err != nil {
			return err
		}
		*want.id = made.ID
	}
	return nil
}

func demoPickup(name string, active bool) directory.PickupLocationForm {
	return directory.PickupLocationForm{
		Name: name, Contact: "+233302000001", Address: "12 Oxford Street, Osu, Accra",
		Coordinates: &domain.Coordinates{Latitude: 5.5571, Longitude: -0.1818}, Active: active,
	}
}

// allPickups reads every location, newest first.
func allPickups(ctx context.Context, pickups *directory.PickupLocations, t domain.Tenant) ([]domain.PickupLocation, error) {
	var all []domain.PickupLocation
	page := domain.PageRequest{Limit: listPage}
	for {
		batch, err := pickups.List(ctx, t, domain.PickupLocationFilter{}, page)
		if err != nil {
			return nil, err
		}
		if len(batch) <= listPage {
			return append(all, batch...), nil
		}
		all = append(all, batch[:listPage]...)
		last := batch[listPage-1]
		page.After = &domain.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}
