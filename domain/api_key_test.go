package domain_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"waybill/domain"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func drawKey(t *rapid.T) (string, domain.Environment) {
	e := rapid.SampledFrom([]domain.Environment{domain.Live, domain.Sandbox}).Draw(t, "environment")
	random := [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "random"))
	return domain.MakeAPIKey(e, random), e
}

func TestAKeyTellsItsEnvironment(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^svc_(live|test)_key_[0-9A-Za-z]{38}$`)
	rapid.Check(t, func(t *rapid.T) {
		key, e := drawKey(t)
		if !form.MatchString(key) || strings.HasPrefix(key, "svc_live_key_") != (e == domain.Live) ||
			!strings.HasPrefix(key, domain.KeyPrefix(e)) {
			t.Fatalf("%s key %q", e, key)
		}
		if got, ok := domain.ParseAPIKey(key); !ok || got != e {
			t.Fatalf("ParseAPIKey(%q) = %q, %t", key, got, ok)
		}
	})
}

// The checksum keeps a mistyped key away from the database, so it must detect typical typing
// errors.
func TestEveryWrongCharacterIsNoticed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key, _ := drawKey(t)
		for i := range key {
			for _, c := range []byte(base62 + "_-. é") {
				if wrong := key[:i] + string([]byte{c}) + key[i+1:]; wrong != key {
					if _, ok := domain.ParseAPIKey(wrong); ok {
						t.Fatalf("%q passes for %q", wrong, key)
					}
				}
			}
		}
	})
}

func TestEverySwapOfAdjacentDigitsIsNoticed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key, _ := drawKey(t)
		body := len(key) - 6
		for i := range len(key) - 1 {
			swapped := key[:i] + string([]byte{key[i+1], key[i]}) + key[i+2:]
			// The swap across the border of body and checksum changes both. Once in billions the
			// result is valid again.
			if _, ok := domain.ParseAPIKey(swapped); ok && swapped != key && i != body-1 {
				t.Fatalf("%q passes for %q", swapped, key)
			}
		}
	})
}

func TestWhatIsNoKey(t *testing.T) {
	t.Parallel()
	good := domain.MakeAPIKey(domain.Live, [32]byte{1, 2, 3})
	for name, key := range map[string]string{
		"nothing":               "",
		"the prefix alone":      "svc_live_key_",
		"cut off":               good[:len(good)-1],
		"one more":              good + "0",
		"a space in front":      " " + good,
		"a line end behind":     good + "\n",
		"the other environment": "svc_test_key_" + strings.TrimPrefix(good, "svc_live_key_"),
		"an unknown prefix":     "svc_prod_key_" + strings.TrimPrefix(good, "svc_live_key_"),
		"no prefix":             strings.TrimPrefix(good, "svc_live_key_"),
		"prefix in upper case":  "SVC_LIVE_KEY_" + strings.TrimPrefix(good, "svc_live_key_"),
	} {
		if e, ok := domain.ParseAPIKey(key); ok {
			t.Errorf("%s: %q is taken for a %s key", name, key, e)
		}
	}
}

func TestAKeyKeepsTheRandomnessItIsGiven(t *testing.T) {
	t.Parallel()
	for i := range 32 {
		var random [32]byte
		plain := domain.MakeAPIKey(domain.Live, random)
		random[i] = 1
		other := domain.MakeAPIKey(domain.Live, random)
		at := len("svc_live_key_") + i
		if plain[at] != '0' || other[at] != '1' || plain[:at] != other[:at] {
			t.Errorf("byte %d is not character %d: %q", i, at, other)
		}
	}
}

func TestScopesAreReadStrictly(t *testing.T) {
	t.Parallel()
	all := []domain.Scope{
		"quotes:read", "recipients:read", "recipients:write", "deliveries:read",
		"deliveries:write", "webhooks:read", "webhooks:write",
	}
	for text, want := range map[string][]domain.Scope{
		"all":                             all,
		"quotes:read":                     {"quotes:read"},
		"deliveries:write, quotes:read":   {"deliveries:write", "quotes:read"},
		" recipients:read ":               {"recipients:read"},
		"":                                nil,
		" ":                               nil,
		",":                               nil,
		"quotes:read,":                    nil,
		"quotes:read,quotes:read":         nil,
		"quotes:write":                    nil,
		"QUOTES:READ":                     nil,
		"all,quotes:read":                 nil,
		"ALL":                             nil,
		"quotes:read;deliveries:read":     nil,
		"quotes:read deliveries:read":     nil,
		"quotes:read,deliveries:read,all": nil,
	} {
		got, err := domain.ParseScopes(text)
		if want != nil {
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("ParseScopes(%q) = %v, %v", text, got, err)
			}
			continue
		}
		e := asError(t, err, domain.KindInvalid, "VALIDATION_ERROR")
		if got != nil || e.Fields[0].Field != "scopes" || !strings.Contains(e.Message, "deliveries:write") {
			t.Errorf("ParseScopes(%q) = %v, %v: it has to name the scopes there are", text, got, err)
		}
	}
	if got := domain.AllScopes(); !slices.Equal(got, all) {
		t.Errorf("AllScopes() = %v", got)
	}
}

func TestAKeyAllowsItsScopesOnly(t *testing.T) {
	t.Parallel()
	key := domain.APIKey{Scopes: []domain.Scope{domain.ScopeQuotesRead, domain.ScopeDeliveriesRead}}
	for _, s := range domain.AllScopes() {
		if want := s == "quotes:read" || s == "deliveries:read"; key.Allows(s) != want {
			t.Errorf("Allows(%s) = %t", s, !want)
		}
	}
}

func TestAKeyThatIsNotUsableTellsTheFirstReason(t *testing.T) {
	t.Parallel()
	before, after := noon.Add(-time.Millisecond), noon.Add(time.Millisecond)
	for name, c := range map[string]struct {
		disabled         bool
		revoked, expires *time.Time
		code             string
	}{
		"nothing is wrong":                   {code: ""},
		"it expires in a moment":             {expires: &after, code: ""},
		"it expires now":                     {expires: &noon, code: "API_KEY_EXPIRED"},
		"it expired":                         {expires: &before, code: "API_KEY_EXPIRED"},
		"it was revoked":                     {revoked: &before, code: "API_KEY_REVOKED"},
		"it was revoked and expired":         {revoked: &before, expires: &before, code: "API_KEY_REVOKED"},
		"the application is disabled":        {disabled: true, code: "INVALID_API_KEY"},
		"disabled, revoked and expired":      {disabled: true, revoked: &before, expires: &before, code: "INVALID_API_KEY"},
		"disabled while the key is fine yet": {disabled: true, expires: &after, code: "INVALID_API_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			credential := domain.Credential{
				Key:         domain.APIKey{LastFour: "wXyZ", RevokedAt: c.revoked, ExpiresAt: c.expires},
				Application: domain.Application{Disabled: c.disabled},
			}
			err := credential.Usable(noon)
			if c.code == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if e := asError(t, err, domain.KindUnauthenticated, c.code); !strings.Contains(e.Message, "wXyZ") {
				t.Errorf("message %q does not tell which key", e.Message)
			}
		})
	}
}

func TestADisabledApplicationIsAnUnknownKeyToProgramsAndTheTruthToPeople(t *testing.T) {
	t.Parallel()
	c := domain.Credential{Key: domain.APIKey{LastFour: "wXyZ"}, Application: domain.Application{Disabled: true}}
	got, unknown := asError(t, c.Usable(noon), domain.KindUnauthenticated, "INVALID_API_KEY"), domain.UnknownAPIKey("wXyZ")
	if got.Details["reason"] != unknown.Details["reason"] {
		t.Errorf("details %v, want those of %v", got.Details, unknown)
	}
	if !strings.Contains(got.Message, "switched off") {
		t.Errorf("message %q does not say what is wrong", got.Message)
	}
}

func TestACredentialSpeaksForItsTenant(t *testing.T) {
	t.Parallel()
	c := domain.Credential{
		Key:         domain.APIKey{ID: "key_1", Environment: domain.Live},
		Application: domain.Application{ID: "app_1"}, Business: domain.Business{ID: "biz_1"},
	}
	if got := c.Tenant(); got != (domain.Tenant{BusinessID: "biz_1", ApplicationID: "app_1", Environment: domain.Live}) {
		t.Errorf("tenant %+v", got)
	}
}
