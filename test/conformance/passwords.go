package conformance

import (
	"testing"

	"waybill/ports"
)

// ExaminePasswords examines an adapter of ports.Passwords.
func ExaminePasswords(t *testing.T, p ports.Passwords) {
	hash := func(t *testing.T, password string) string {
		t.Helper()
		hash, err := p.Hash(t.Context(), ports.Caller{}, password)
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	wantVerify := func(t *testing.T, hash, password string, want bool) {
		t.Helper()
		matches, outdated, err := p.Verify(t.Context(), ports.Caller{}, hash, password)
		if matches != want || outdated || err != nil {
			t.Errorf("matches %v, outdated %v, %v; want a match: %v", matches, outdated, err, want)
		}
	}

	t.Run("a hash is one of its password and of no other one", func(t *testing.T) {
		const password = "correct horse battery staple"
		h := hash(t, password)
		wantVerify(t, h, password, true)
		for _, other := range []string{"", "correct horse battery stapl", "correct horse battery staple ", "Correct horse battery staple"} {
			wantVerify(t, h, other, false)
		}
	})

	t.Run("two hashes of one password differ, and neither holds it", func(t *testing.T) {
		const password = "correct horse battery staple"
		a, b := hash(t, password), hash(t, password)
		if a == b || a == password || a == "" {
			t.Errorf("%q and %q", a, b)
		}
		wantVerify(t, b, password, true)
	})

	t.Run("all characters of a long password count", func(t *testing.T) {
		long := ""
		for range 128 {
			long += "é"
		}
		h := hash(t, long)
		wantVerify(t, h, long, true)
		wantVerify(t, h, long[:len(long)-len("é")]+"e", false)
	})

	t.Run("one spelling of a letter is as good as another", func(t *testing.T) {
		wantVerify(t, hash(t, "caf\u00e9 at the castle"), "cafe\u0301 at the castle", true)
	})

	t.Run("an empty hash is one of no password", func(t *testing.T) {
		for _, password := range []string{"", "correct horse battery staple"} {
			wantVerify(t, "", password, false)
		}
	})

	t.Run("what is no hash is an error", func(t *testing.T) {
		if matches, _, err := p.Verify(t.Context(), ports.Caller{}, "no hash", "no hash"); matches || err == nil {
			t.Errorf("matches %v, %v", matches, err)
		}
	})
}
