package domain_test

import (
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

func TestAnOperatorTokenIsRecognizedByItsFormAndChecksum(t *testing.T) {
	t.Parallel()
	token := domain.MakeOperatorToken([32]byte{1, 2, 3})
	if !strings.HasPrefix(token, "svc_ops_") || len(token) != len("svc_ops_")+32+6 || !domain.SoundOperatorToken(token) {
		t.Fatalf("%q is no token", token)
	}
	key := domain.MakeAPIKey(domain.Live, [32]byte{1, 2, 3})
	for name, wrong := range map[string]string{
		"nothing": "", "the prefix alone": "svc_ops_", "cut off": token[:len(token)-1], "longer": token + "0",
		"another character": token[:12] + "-" + token[13:], "mistyped": token[:12] + string(token[12]^1) + token[13:], "a key": key,
	} {
		if domain.SoundOperatorToken(wrong) {
			t.Errorf("%s: %q passes for a token", name, wrong)
		}
	}
	if _, ok := domain.ParseAPIKey(token); ok {
		t.Error("a token passes for a key")
	}
}

func TestATokenWorksUntilItExpiresOrIsRevoked(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		token domain.OperatorToken
		code  string
	}{
		"a fresh one":       {domain.OperatorToken{}, ""},
		"the last moment":   {domain.OperatorToken{ExpiresAt: new(now.Add(time.Millisecond))}, ""},
		"just expired":      {domain.OperatorToken{ExpiresAt: &now}, "OPERATOR_TOKEN_EXPIRED"},
		"revoked":           {domain.OperatorToken{RevokedAt: &now}, "OPERATOR_TOKEN_REVOKED"},
		"revoked, later on": {domain.OperatorToken{RevokedAt: &now, ExpiresAt: &now}, "OPERATOR_TOKEN_REVOKED"},
	} {
		err := c.token.Usable(now)
		if c.code == "" && err != nil || c.code != "" && !domain.HasCode(err, c.code) {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		}
	}
}

func TestEveryActionIsListedOnce(t *testing.T) {
	t.Parallel()
	seen := map[domain.Action]bool{}
	for _, a := range domain.Actions() {
		if seen[a] || !strings.Contains(string(a), ".") {
			t.Errorf("%q", a)
		}
		seen[a] = true
	}
	if len(seen) != 54 {
		t.Errorf("%d actions", len(seen))
	}
}

func TestALifetimeIsANumberAndAUnit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"1s": time.Second, "2h": 2 * time.Hour, "90d": 90 * 24 * time.Hour, "1h30m": 90 * time.Minute, "3650d": 3650 * 24 * time.Hour,
	} {
		if got, err := domain.ParseLifetime(text); err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "90", "d", "0s", "0d", "-1d", "-1s", "1.5d", "3651d", "99999999d", "1us", "1y", "+1d"} {
		if got, err := domain.ParseLifetime(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}
