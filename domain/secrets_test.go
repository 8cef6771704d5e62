package domain_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waybill/domain"
)

// drawSecret draws a secret that people or programs hold.
func drawSecret(t *rapid.T) string {
	random := [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "random"))
	return rapid.SampledFrom([]string{domain.MakeAPIKey(domain.Live, random), domain.MakeAPIKey(domain.Sandbox, random),
		domain.MakeOperatorToken(random), domain.FormatSigningSecret(random[:])}).Draw(t, "secret")
}

func TestASecretIsFoundWhereverItStands(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := drawSecret(t)
		around := rapid.SampledFrom([]string{"", "key: ", "svc_", "svc_live_key_", "https://shop.example/?k=", "Ä\n"})
		text := around.Draw(t, "before") + secret + around.Draw(t, "behind")
		if !domain.HoldsSecret(text) || domain.SecretFault(text) == "" {
			t.Fatalf("not found in %q", text)
		}
		if part := secret[:len(secret)-2]; !domain.HoldsSecret(part) || domain.SecretFault(part) != "" {
			t.Fatalf("%q is a part of one", part)
		}
	})
}

func TestAnOrdinaryTextIsNoSecret(t *testing.T) {
	t.Parallel()
	key := domain.MakeAPIKey(domain.Live, [32]byte{1, 2, 3})
	for _, text := range []string{"", "order-1", "svc_live_key_", "svc_ops_dashboard is down", "whsec_", "the key begins with svc_test_key_",
		key[:len(key)-1] + "x", "svc_ops_" + strings.Repeat("0", 38), "whsec_" + strings.Repeat("0", 44), "whsec_" + strings.Repeat("=", 44)} {
		if domain.SecretFault(text) != "" {
			t.Errorf("%q is taken for a secret", text)
		}
	}
	for _, rule := range []domain.TextRule{domain.NameRule, domain.NotesRule, domain.AddressRule, domain.ExternalIDRule, domain.LabelRule,
		domain.MunicipalityRule, domain.DescriptionRule, domain.ViewReasonRule} {
		if code, _ := rule.Judge("Our key is " + key); code == "" {
			t.Errorf("a text of %s takes a key", rule)
		}
	}
	if code, _ := domain.ExternalIDRule.Judge("svc_live_key_of order 7"); code != "" {
		t.Errorf("the prefix alone: %s", code)
	}
}

func TestTheSecretOfALinkIsFoundInALongerWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := domain.MakeBearerSecret([32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "random")))
		glue := rapid.SampledFrom([]string{"", "_", "-", "3D", "__", "a.b=", "waybill_portal_", " "})
		text := glue.Draw(t, "before") + secret + glue.Draw(t, "behind")
		if domain.IsBearerSecret(secret) && strings.Count(secret, "-")+strings.Count(secret, "_") <= 6 && !domain.HoldsBearerSecret(text) {
			t.Fatalf("not found in %q", text)
		}
	})
	for _, text := range []string{"", "7 Independence Avenue, Accra, near the Mall, 2nd gate, ask for Ama", "Order-2026-11-28-Accra-Central-Warehouse-Batch-12b",
		"dlv_0190f3a5b2c47d8e9f0a1b2c3d4e5f60_0190f3a5b2c47d8e9f0a1b2c3d4e5f60"} {
		if domain.HoldsBearerSecret(text) {
			t.Errorf("%q is taken for one", text)
		}
	}
}

func TestTheSecretOfALinkIsKnownByItsForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := domain.MakeBearerSecret([32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "random")))
		mixed := strings.ContainsAny(secret, "0123456789") && strings.ToUpper(secret) != secret && strings.ToLower(secret) != secret
		if domain.IsBearerSecret(secret) != mixed {
			t.Fatalf("%q", secret)
		}
	})
	for _, text := range []string{"", "order-1", "a-long-name-of-an-order-without-any-numbers", "dlv_0190f3a5b2c47d8e9f0a1b2c3d4e5f60",
		strings.Repeat("A1b", 14) + "B", strings.Repeat("A1b", 15)} {
		if domain.IsBearerSecret(text) {
			t.Errorf("%q is taken for one", text)
		}
	}
}
