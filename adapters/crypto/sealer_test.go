package crypto_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waybill/adapters/crypto"
)

var (
	secretA = []byte(strings.Repeat("a", 32))
	secretB = []byte(strings.Repeat("b", 32))
	secretC = []byte(strings.Repeat("c", 32))
)

func sealer(t interface{ Fatal(...any) }, current []byte, previous ...[]byte) *crypto.Sealer {
	s, err := crypto.NewSealer(current, previous...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func seal(t interface{ Fatal(...any) }, s *crypto.Sealer, purpose string, plain []byte) []byte {
	sealed, err := s.Seal(purpose, plain)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func TestWhatIsSealedOpensForItsPurposeOnly(t *testing.T) {
	t.Parallel()
	s := sealer(t, secretA)
	rapid.Check(t, func(t *rapid.T) {
		purpose := rapid.String().Draw(t, "purpose")
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		sealed := seal(t, s, purpose, plain)
		if got, err := s.Open(purpose, sealed); err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("opened %x, %v", got, err)
		}
		if len(plain) > 3 && bytes.Contains(sealed, plain) {
			t.Fatal("the text shows")
		}
		if other := rapid.String().Draw(t, "other"); other != purpose {
			if _, err := s.Open(other, sealed); err == nil {
				t.Fatalf("%q opens what was sealed for %q", other, purpose)
			}
		}
		if again := seal(t, s, purpose, plain); bytes.Equal(again, sealed) {
			t.Fatal("sealed alike twice")
		}
	})
}

func TestNothingOpensAfterAChange(t *testing.T) {
	t.Parallel()
	s := sealer(t, secretA, secretB)
	sealed := seal(t, s, "whe_1", []byte("a secret of 32 bytes, or so it is"))
	for i := range sealed {
		for bit := range 8 {
			changed := bytes.Clone(sealed)
			changed[i] ^= 1 << bit
			if _, err := s.Open("whe_1", changed); err == nil {
				t.Fatalf("byte %d, bit %d", i, bit)
			}
		}
	}
	for n := range sealed {
		if _, err := s.Open("whe_1", sealed[:n]); err == nil {
			t.Fatalf("the first %d bytes open", n)
		}
	}
	if _, err := s.Open("whe_1", append(bytes.Clone(sealed), 0)); err == nil {
		t.Error("it opens with a byte behind")
	}
	// Not even where the ID names another key that is known.
	underB := seal(t, sealer(t, secretB), "whe_1", []byte("x"))
	if _, err := s.Open("whe_1", append(bytes.Clone(underB[:9]), sealed[9:]...)); err == nil {
		t.Error("it opens under another key's ID")
	}
}

func TestAPreviousKeyStillOpens(t *testing.T) {
	t.Parallel()
	old := seal(t, sealer(t, secretA), "whe_1", []byte("plain"))
	rotated := sealer(t, secretC, secretB, secretA)
	if got, err := rotated.Open("whe_1", old); err != nil || string(got) != "plain" {
		t.Errorf("opened %q, %v", got, err)
	}
	anew := seal(t, rotated, "whe_1", []byte("plain"))
	if got, err := sealer(t, secretC).Open("whe_1", anew); err != nil || string(got) != "plain" {
		t.Errorf("the current key alone opens %q, %v", got, err)
	}
	for _, s := range []*crypto.Sealer{sealer(t, secretA), sealer(t, secretB, secretA)} {
		if _, err := s.Open("whe_1", anew); err == nil || !strings.Contains(err.Error(), "not known") {
			t.Errorf("an unknown key: %v", err)
		}
	}
}

func TestASealerKnowsWhatIsUnderItsCurrentKey(t *testing.T) {
	t.Parallel()
	s := sealer(t, secretB, secretA)
	for what, c := range map[string]struct {
		sealed []byte
		want   bool
	}{
		"its own":              {seal(t, s, "whe_1", []byte("plain")), true},
		"another's of the key": {seal(t, sealer(t, secretB), "whe_2", nil), true},
		"a previous key's":     {seal(t, sealer(t, secretA), "whe_1", nil), false},
		"an unknown key's":     {seal(t, sealer(t, secretC, secretB), "whe_1", nil), false},
		"nothing":              {nil, false},
		"less than a header":   {seal(t, s, "whe_1", nil)[:8], false},
	} {
		if got := s.Current(c.sealed); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// This package made the text once. A difference would make every stored secret unreadable.
func TestWhatEarlierVersionsSealedStillOpens(t *testing.T) {
	t.Parallel()
	sealed, err := hex.DecodeString(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sealer(t, secretA).Open("whe_1", sealed); err != nil || string(got) != "plain" {
		t.Errorf("opened %q, %v", got, err)
	}
}

const golden = "0191a79dbe84c2685f41af22b86dd6f1c2bb2506f12427ea3fa94b27a6e7f432d5f1372d6f4cb1b756e9"

func TestASecretThatCouldBeSearchedForIsRefused(t *testing.T) {
	t.Parallel()
	short := []byte("fifteen bytes..")
	for _, secrets := range [][][]byte{{nil}, {short}, {secretA, short}, {short, secretA}} {
		if _, err := crypto.NewSealer(secrets[0], secrets[1:]...); err == nil {
			t.Errorf("New(%q) succeeded", secrets)
		}
	}
}

func TestADerivedSecretIsOfItsPurposeAndKey(t *testing.T) {
	derive := func(secret []byte, purpose string) [32]byte {
		derived, err := sealer(t, secret).Derive(purpose)
		if err != nil {
			t.Fatal(err)
		}
		return derived
	}
	first, again := derive(secretA, "x"), derive(secretA, "x")
	if first != again {
		t.Error("the same purpose gives another secret")
	}
	if derive(secretA, "x") == derive(secretA, "y") || derive(secretA, "x") == derive(secretB, "x") {
		t.Error("another purpose or key gives the same secret")
	}
}
