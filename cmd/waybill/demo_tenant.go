package main

import (
	"context"
	"errors"

	"waybill/application/pickuplocations"
	"waybill/application/tenancy"
	"waybill/domain"
	"waybill/ports"
)

const (
	demoBusiness = "Adom Foods"
	demoApp      = "Demo shop"
	demoOperator = "Demo operator"
)

// seeder makes the demo customer of a development server.
type seeder struct {
	storage ports.Storage
	digest  ports.KeyDigester
	clock   ports.Clock
	tenants *tenancy.Tenants
	pickups *pickuplocations.PickupLocations
}

// demo is the demo customer with all that scripts are told about it.
type demo struct {
	business             domain.Business
	app                  domain.Application
	liveKey, testKey     string
	freshLive, freshTest bool // the key was made just now

	by         domain.Operator // who makes what is missing
	opsToken   string
	freshToken bool

	pickup, inactive, incomplete domain.ID // sandbox
	livePickup                   domain.ID
}

// demo answers with the customer of the last start, whose variables are
// given, and makes whatever is missing of it: all, at the first start.
func (s *seeder) demo(ctx context.Context, by domain.Operator, before map[string]string) (demo, error) {
	d := demo{by: by}
	if err := s.keepKeys(ctx, &d, before); err != nil {
		return d, err
	}
	if d.app.ID == "" {
		if err := s.findOrMake(ctx, &d); err != nil {
			return d, err
		}
	}
	for _, k := range []struct {
		env   domain.Environment
		key   *string
		fresh *bool
	}{{domain.Live, &d.liveKey, &d.freshLive}, {domain.Sandbox, &d.testKey, &d.freshTest}} {
		if *k.key != "" {
			continue
		}
		issued, err := s.tenants.IssueKey(ctx, d.by, d.app.ID, k.env, domain.AllScopes(), nil)
		if err != nil {
			return d, err
		}
		*k.key, *k.fresh = issued.Secret, true
	}
	if err := s.keepOperator(ctx, &d, before["WAYBILL_OPS_TOKEN"]); err != nil {
		return d, err
	}
	return d, s.placePickups(ctx, &d, before)
}

// keepOperator takes over the token of the operations API while it works, or
// makes another one.
func (s *seeder) keepOperator(ctx context.Context, d *demo, last string) error {
	works, err := s.tenants.UsableOperatorToken(ctx, last)
	if err != nil || works {
		d.opsToken = last
		return err
	}
	issued, err := s.tenants.IssueOperatorToken(ctx, d.by, demoOperator, domain.OperatorAdmin, new(tenancy.DefaultOperatorLifetime))
	d.opsToken, d.freshToken = issued.Secret, true
	return err
}

// keepKeys takes over the keys that still open the database.
func (s *seeder) keepKeys(ctx context.Context, d *demo, before map[string]string) error {
	for _, k := range []struct {
		env    domain.Environment
		secret string
		kept   *string
	}{{domain.Live, before["WAYBILL_LIVE_KEY"], &d.liveKey}, {domain.Sandbox, before["WAYBILL_TEST_KEY"], &d.testKey}} {
		if env, ok := domain.ParseAPIKey(k.secret); !ok || env != k.env {
			continue
		}
		credential, err := s.storage.Read().Tenancy.Credential(ctx, append(s.digest.Previous(k.secret), s.digest.Digest(k.secret))...)
		if errors.Is(err, domain.ErrNotFound) {
			continue // made on another database, or under another pepper
		}
		if err != nil {
			return err
		}
		if d.app.ID != "" && d.app.ID != credential.Application.ID || credential.Usable(s.clock.Now()) != nil {
			continue
		}
		d.business, d.app, *k.kept = credential.Business, credential.Application, k.secret
	}
	return nil
}

// findOrMake finds a demo customer whose keys are lost, or makes one.
func (s *seeder) findOrMake(ctx context.Context, d *demo) error {
	businesses, err := s.tenants.Businesses(ctx)
	if err != nil {
		return err
	}
	for _, b := range businesses {
		if b.Name != demoBusiness {
			continue
		}
		apps, err := s.tenants.Applications(ctx, b.ID)
		if err != nil {
			return err
		}
		for _, a := range apps {
			if a.Name == demoApp && !a.Disabled {
				d.business, d.app = b, a
				return nil
			}
		}
	}
	if d.business, err = s.tenants.CreateBusiness(ctx, d.by, demoBusiness, nil); err != nil {
		return err
	}
	d.app, err = s.tenants.CreateApplication(ctx, d.by, d.business.ID, demoApp)
	return err
}

// placePickups finds a location for each state that scripts try, and makes
// those that are missing. The ones told about last time come first.
func (s *seeder) placePickups(ctx context.Context, d *demo, before map[string]string) error {
	usable := func(p domain.PickupLocation) bool { return p.Active && p.Complete() }
	for _, want := range []struct {
		id   *domain.ID
		last string
		env  domain.Environment
		fits func(domain.PickupLocation) bool
		form pickuplocations.Form
	}{
		{&d.pickup, "WAYBILL_PICKUP_ID", domain.Sandbox, usable, demoPickup("Demo branch", true)},
		{&d.livePickup, "WAYBILL_LIVE_PICKUP_ID", domain.Live, usable, demoPickup("Osu branch", true)},
		{&d.inactive, "WAYBILL_PICKUP_INACTIVE_ID", domain.Sandbox,
			func(p domain.PickupLocation) bool { return !p.Active && p.Complete() }, demoPickup("Closed demo branch", false)},
		{&d.incomplete, "WAYBILL_PICKUP_INCOMPLETE_ID", domain.Sandbox,
			func(p domain.PickupLocation) bool { return p.Active && !p.Complete() },
			pickuplocations.Form{Name: "Unfinished demo branch", Address: "Spintex Road, Accra", Active: true}},
	} {
		tenant := domain.Tenant{BusinessID: d.business.ID, Environment: want.env}
		there, err := allPickups(ctx, s.pickups, tenant)
		if err != nil {
			return err
		}
		for _, p := range there { // newest first, so that the oldest one stands
			if want.fits(p) && (*want.id == "" || string(*want.id) != before[want.last]) {
				*want.id = p.ID
			}
		}
		if *want.id != "" {
			continue
		}
		made, err := s.pickups.Add(ctx, d.by, tenant, want.form)
		if err != nil {
			return err
		}
		*want.id = made.ID
	}
	return nil
}

func demoPickup(name string, active bool) pickuplocations.Form {
	return pickuplocations.Form{
		Name: name, Contact: "+233302000001", Address: "12 Oxford Street, Osu, Accra",
		Coordinates: &domain.Coordinates{Latitude: 5.5571, Longitude: -0.1818}, Active: active,
	}
}

// allPickups reads every location, newest first.
func allPickups(ctx context.Context, pickups *pickuplocations.PickupLocations, t domain.Tenant) ([]domain.PickupLocation, error) {
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
