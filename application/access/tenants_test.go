package access_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/application/access"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// use reports why a key does not work now.
func (o *scene) use(t *testing.T, secret string) error {
	t.Helper()
	credential, err := o.Store.Read().Tenancy.Credential(t.Context(), stage.Digester{}.Digest(secret))
	if err != nil {
		t.Fatal(err)
	}
	return credential.Usable(o.Clock.Now())
}

func (o *scene) locations(t *testing.T, b domain.ID, e domain.Environment) []domain.PickupLocation {
	t.Helper()
	found, err := o.Store.Read().PickupLocations.List(t.Context(), domain.Tenant{BusinessID: b, Environment: e},
		domain.PickupLocationFilter{}, domain.PageRequest{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestANewBusinessHasThreeSandboxLocations(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	b, err := o.CreateBusiness(t.Context(), boss, "  Shop ", &domain.RateLimit{Limit: 5, Window: time.Second})
	if err != nil || b.Name != "Shop" || !b.CreatedAt.Equal(noon) {
		t.Fatalf("%+v, %v", b, err)
	}
	stored, err := o.Store.Read().Tenancy.Business(t.Context(), b.ID)
	if err != nil || stored.Name != "Shop" || *stored.RateLimit != *b.RateLimit {
		t.Errorf("stored %+v, %v", stored, err)
	}
	var outcomes []string
	for _, p := range o.locations(t, b.ID, domain.Sandbox) {
		_, err := p.Pickup()
		var e *domain.Error
		if errors.As(err, &e) {
			outcomes = append(outcomes, e.Code)
			continue
		}
		outcomes = append(outcomes, "good")
	}
	slices.Sort(outcomes)
	if want := []string{"PICKUP_LOCATION_INACTIVE", "PICKUP_LOCATION_INCOMPLETE", "good"}; !slices.Equal(outcomes, want) {
		t.Errorf("locations %v, want %v", outcomes, want)
	}
	for _, p := range o.locations(t, b.ID, domain.Sandbox) {
		if !p.Active && !p.Complete() {
			t.Errorf("%s is off and incomplete, so that nobody can tell why it fails", p.Name)
		}
	}
	if live := o.locations(t, b.ID, domain.Live); len(live) != 0 {
		t.Errorf("live locations %+v", live)
	}
}

// shakyLocations fail the nth insert.
type shakyLocations struct {
	ports.PickupLocationStore
	left *int
}

func (s shakyLocations) Insert(ctx context.Context, t domain.Tenant, p domain.PickupLocation) error {
	if *s.left--; *s.left < 0 {
		return errBroken
	}
	return s.PickupLocationStore.Insert(ctx, t, p)
}

func TestABusinessIsThereWithItsLocationsOrNotAtAll(t *testing.T) {
	t.Parallel()
	for inserts := range 3 {
		o := newScene(t)
		left := inserts
		o.on(stage.Between{Storage: o.Store, Change: func(tx *ports.Stores) {
			tx.PickupLocations = shakyLocations{tx.PickupLocations, &left}
		}})
		if _, err := o.CreateBusiness(t.Context(), boss, "Shop", nil); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		if all, err := o.Businesses(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("after %d locations: %+v, %v", inserts, all, err)
		}
	}
}

func TestNamesHaveOneToAHundredAndTwentyEightCharacters(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	b := o.newBusiness(t)
	for name, good := range map[string]bool{
		"": false, "   ": false, "A": true, strings.Repeat("é", 128): true, strings.Repeat("é", 129): false,
		" " + strings.Repeat("x", 128) + " ": true,
	} {
		_, business := o.CreateBusiness(t.Context(), boss, name, nil)
		_, app := o.CreateApplication(t.Context(), boss, b.ID, name)
		for what, err := range map[string]error{"business": business, "application": app} {
			if good != (err == nil) || !good && !domain.HasCode(err, "VALIDATION_ERROR") {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
	}
}

func TestAnApplicationBelongsToABusiness(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	app := o.newApplication(t)
	if all, err := o.Applications(t.Context(), app.BusinessID); err != nil || len(all) != 1 || all[0].ID != app.ID {
		t.Errorf("%+v, %v", all, err)
	}
	nobody := o.IDs.ID(domain.PrefixBusiness)
	if _, err := o.CreateApplication(t.Context(), boss, nobody, "App"); !domain.HasCode(err, "NOT_FOUND") {
		t.Errorf("an application of nobody: %v", err)
	}
	if _, err := o.Applications(t.Context(), nobody); !domain.HasCode(err, "NOT_FOUND") {
		t.Errorf("the applications of nobody: %v", err)
	}
}

func TestAnIssuedKeyOpensAndItsSecretIsNotKept(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	k := o.issue(t, nil)
	if e, ok := domain.ParseAPIKey(k.Secret); !ok || e != domain.Live {
		t.Errorf("secret %q", k.Secret)
	}
	stored, err := o.Store.Read().Tenancy.APIKey(t.Context(), k.ID)
	if err != nil || stored.Digest != (stage.Digester{}).Digest(k.Secret) || stored.LastFour != k.Secret[len(k.Secret)-4:] ||
		stored.ExpiresAt != nil || stored.RevokedAt != nil || stored.Environment != domain.Live ||
		!slices.Equal(stored.Scopes, []domain.Scope{"quotes:read", "deliveries:write"}) {
		t.Errorf("stored %+v, %v", stored, err)
	}
	if err := o.use(t, k.Secret); err != nil {
		t.Errorf("refused: %v", err)
	}
}

func TestAKeyLivesAsLongAsItWasMadeFor(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	day := 24 * time.Hour
	k := o.issue(t, &day)
	if k.ExpiresAt == nil || !k.ExpiresAt.Equal(noon.Add(day)) {
		t.Errorf("expires %v", k.ExpiresAt)
	}
	for _, lifetime := range []time.Duration{0, -time.Second} {
		if _, err := o.IssueKey(t.Context(), boss, k.ApplicationID, domain.Live, nil, &lifetime); !domain.HasCode(err,
			"VALIDATION_ERROR") {
			t.Errorf("a lifetime of %s: %v", lifetime, err)
		}
	}
	if _, err := o.IssueKey(t.Context(), boss, o.IDs.ID(domain.PrefixApplication), domain.Live, nil,
		nil); !domain.HasCode(err, "NOT_FOUND") {
		t.Errorf("a key of nobody: %v", err)
	}
	if all, err := o.Keys(t.Context(), k.ApplicationID); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := o.Keys(t.Context(), o.IDs.ID(domain.PrefixApplication)); !domain.HasCode(err, "NOT_FOUND") {
		t.Errorf("the keys of nobody: %v", err)
	}
}

func TestARotatedKeyHasASuccessorAndWorksOn(t *testing.T) {
	t.Parallel()
	for name, lifetime := range map[string]*time.Duration{"that expires": new(10 * 24 * time.Hour), "that does not": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newScene(t)
			old := o.issue(t, lifetime)
			o.Clock.GoOn(9 * 24 * time.Hour)
			next, err := o.RotateKey(t.Context(), boss, old.ID)
			if err != nil || next.ID == old.ID || next.Secret == old.Secret || next.ApplicationID != old.ApplicationID ||
				next.Environment != old.Environment || !slices.Equal(next.Scopes, old.Scopes) || next.RevokedAt != nil {
				t.Fatalf("%+v, %v", next, err)
			}
			if (lifetime == nil) != (next.ExpiresAt == nil) || lifetime != nil && !next.ExpiresAt.Equal(o.Clock.Now().Add(*lifetime)) {
				t.Errorf("expires %v", next.ExpiresAt)
			}
			if a, b := o.use(t, old.Secret), o.use(t, next.Secret); a != nil || b != nil {
				t.Errorf("old: %v, new: %v", a, b)
			}
			if all, err := o.Keys(t.Context(), old.ApplicationID); err != nil || len(all) != 2 || all[0].ID != old.ID {
				t.Errorf("%+v, %v", all, err)
			}
		})
	}
	if _, err := newScene(t).RotateKey(t.Context(), boss,
		domain.MakeID(domain.PrefixAPIKey, [16]byte{9})); !domain.HasCode(err, "NOT_FOUND") {
		t.Errorf("an unknown key: %v", err)
	}
}

func TestARevokedKeyHasNoSuccessor(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	old := o.issue(t, nil)
	if _, err := o.RevokeKey(t.Context(), boss, old.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := o.RotateKey(t.Context(), boss, old.ID); !domain.HasCode(err, "API_KEY_REVOKED") {
		t.Errorf("rotated: %v", err)
	}
	if all, err := o.Keys(t.Context(), old.ApplicationID); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestARevokedKeyStaysRevokedAtItsFirstTime(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	k := o.issue(t, nil)
	for range 2 {
		revoked, err := o.RevokeKey(t.Context(), boss, k.ID)
		if err != nil || revoked.ID != k.ID || revoked.RevokedAt == nil || !revoked.RevokedAt.Equal(noon) {
			t.Errorf("%+v, %v", revoked, err)
		}
		o.Clock.GoOn(time.Hour)
	}
	if err := o.use(t, k.Secret); !domain.HasCode(err, "API_KEY_REVOKED") {
		t.Errorf("got %v", err)
	}
	if all, err := o.Keys(t.Context(), k.ApplicationID); err != nil || len(all) != 1 {
		t.Errorf("revoked keys are listed: %+v, %v", all, err)
	}
	if _, err := o.RevokeKey(t.Context(), boss, o.IDs.ID(domain.PrefixAPIKey)); !domain.HasCode(err, "NOT_FOUND") {
		t.Errorf("an unknown key: %v", err)
	}
}

func TestADisabledApplicationsKeysStopAndComeBack(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	k := o.issue(t, nil)
	for _, disabled := range []bool{true, true, false} {
		app, err := o.SetDisabled(t.Context(), boss, k.ApplicationID, disabled)
		if err != nil || app.ID != k.ApplicationID || app.Disabled != disabled {
			t.Errorf("%+v, %v", app, err)
		}
		if err := o.use(t, k.Secret); disabled != domain.HasCode(err, "INVALID_API_KEY") || !disabled && err != nil {
			t.Errorf("disabled %t: %v", disabled, err)
		}
	}
	if _, err := o.SetDisabled(t.Context(), boss, o.IDs.ID(domain.PrefixApplication), true); !domain.HasCode(err,
		"NOT_FOUND") {
		t.Errorf("an unknown application: %v", err)
	}
}

func TestApplicationsAndUsableKeysHaveALimit(t *testing.T) {
	t.Parallel()
	o, by := newScene(t), boss
	business := o.newBusiness(t).ID
	var app domain.Application
	var once domain.ID
	for range domain.MaxApplications {
		var err error
		once = o.IDs.ID(domain.PrefixApplication)
		if app, err = o.CreateApplicationOnce(t.Context(), by, once, business, "App"); err != nil {
			t.Fatal(err)
		}
	}
	_, err := o.CreateApplication(t.Context(), by, business, "App")
	if e := wantCode(t, err, domain.KindConflict, "APPLICATION_LIMIT"); e.Details["limit"] != 100 || !strings.Contains(e.Message, "100 applications") {
		t.Errorf("%+v", e)
	}
	_, err = o.CreateApplicationOnce(t.Context(), by, once, business, "App")
	wantCode(t, err, domain.KindConflict, "FORM_ALREADY_SENT") // the form that made the last one
	o.newApplication(t)                                        // of another business

	issue := func(e domain.Environment, lifetime *time.Duration) (access.IssuedKey, error) {
		return o.IssueKey(t.Context(), by, app.ID, e, domain.AllScopes(), lifetime)
	}
	var keys []access.IssuedKey
	for i := range domain.MaxUsableKeys {
		var lifetime *time.Duration
		if i == 0 {
			lifetime = new(time.Hour)
		}
		key, err := issue(domain.Live, lifetime)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	_, err = issue(domain.Live, nil)
	if e := wantCode(t, err, domain.KindConflict, "API_KEY_LIMIT"); e.Details["limit"] != 100 || !strings.Contains(e.Message, "100 usable live keys") {
		t.Errorf("%+v", e)
	}
	_, err = o.RotateKey(t.Context(), by, keys[1].ID)
	wantCode(t, err, domain.KindConflict, "API_KEY_LIMIT")
	if _, err := issue(domain.Sandbox, nil); err != nil {
		t.Errorf("a key of the other environment: %v", err)
	}
	// What is revoked or expired makes room.
	if _, err := o.RevokeKey(t.Context(), by, keys[2].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := o.RotateKey(t.Context(), by, keys[1].ID); err != nil {
		t.Errorf("after one was revoked: %v", err)
	}
	o.Clock.GoOn(time.Hour)
	if _, err := issue(domain.Live, nil); err != nil {
		t.Errorf("after one expired: %v", err)
	}
	_, err = issue(domain.Live, nil)
	wantCode(t, err, domain.KindConflict, "API_KEY_LIMIT")
}

// Of calls at once each has to see what the others made.
func TestLimitsAreDecidedWhileTheBusinessIsHeld(t *testing.T) {
	t.Parallel()
	o, by := newScene(t), boss
	key := o.issue(t, nil)
	app, err := o.Application(t.Context(), key.ApplicationID)
	if err != nil {
		t.Fatal(err)
	}
	o.on(holding{Storage: o.Store, t: t})
	for what, do := range map[string]func() error{
		"an application": func() error {
			_, err := o.CreateApplication(t.Context(), by, app.BusinessID, "App")
			return err
		},
		"a key": func() error {
			_, err := o.IssueKey(t.Context(), by, app.ID, domain.Live, domain.AllScopes(), nil)
			return err
		},
		"a successor": func() error {
			_, err := o.RotateKey(t.Context(), by, key.ID)
			return err
		},
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// holding fails the test where applications or keys are counted in a transaction that does not
// hold the business.
type holding struct {
	ports.Storage
	t *testing.T
}

func (h holding) InTx(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
	return h.Storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		tx.Tenancy = &heldTenancy{TenancyStore: tx.Tenancy, t: h.t}
		return fn(ctx, tx)
	})
}

type heldTenancy struct {
	ports.TenancyStore
	t    *testing.T
	held bool
}

func (h *heldTenancy) LockBusiness(ctx context.Context, id domain.ID) (domain.Business, error) {
	h.held = true
	return h.TenancyStore.LockBusiness(ctx, id)
}

func (h *heldTenancy) count() {
	if !h.held {
		h.t.Error("counted before the business was held")
	}
}

func (h *heldTenancy) ApplicationsPage(ctx context.Context, business domain.ID, p domain.PageRequest) ([]domain.Application, error) {
	h.count()
	return h.TenancyStore.ApplicationsPage(ctx, business, p)
}

func (h *heldTenancy) APIKeys(ctx context.Context, app domain.ID, now time.Time) ([]domain.APIKey, error) {
	h.count()
	return h.TenancyStore.APIKeys(ctx, app, now)
}
