package crypto_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"waybill/adapters/crypto"
)

// The expectation was computed by openssl dgst -sha256 -hmac. A difference
// would make every stored key unknown.
func TestTheDigestIsTheHMACOfTheSecretUnderThePepper(t *testing.T) {
	t.Parallel()
	d, err := crypto.NewKeyDigester("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	digest := d.Digest("svc_test_key_example")
	const want = "bf7b84d0ce5db260b9943cabca88aa32bea102cffb8badbcd608facbd624e9cf"
	if got := hex.EncodeToString(digest[:]); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	if d.Digest("svc_test_key_example") != digest {
		t.Error("the second digest of one secret differs from the first")
	}
}

func TestAnotherPepperGivesAnotherDigest(t *testing.T) {
	t.Parallel()
	a, errA := crypto.NewKeyDigester(strings.Repeat("a", 32))
	b, errB := crypto.NewKeyDigester(strings.Repeat("b", 32))
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if a.Digest("secret") == b.Digest("secret") {
		t.Error("two peppers give one digest")
	}
}

func TestAPepperThatCouldBeSearchedForIsRefused(t *testing.T) {
	t.Parallel()
	for _, pepper := range []string{"", "fifteen bytes.."} {
		if _, err := crypto.NewKeyDigester(pepper); err == nil {
			t.Errorf("New(%q) succeeded", pepper)
		}
	}
}
