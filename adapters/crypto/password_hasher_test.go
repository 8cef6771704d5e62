package crypto

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/ports"
	"waybill/test/conformance"
)

func TestArgon2idConforms(t *testing.T) {
	t.Parallel()
	conformance.ExaminePasswords(t, NewPasswordHasher())
}

// The vector is of the reference implementation: argon2 somesalt -id -t 2 -k 256 -p 1.
func TestAHashOfTheReferenceImplementationVerifiesAndIsOutdated(t *testing.T) {
	t.Parallel()
	const hash = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	for password, want := range map[string]bool{"password": true, "Password": false, "": false} {
		if matches, outdated, err := NewPasswordHasher().Verify(t.Context(), ports.Caller{}, hash, password); matches != want || !outdated || err != nil {
			t.Errorf("%q matches %v, outdated %v, %v", password, matches, outdated, err)
		}
	}
}

func TestOtherParametersStillVerifyAndAreReported(t *testing.T) {
	t.Parallel()
	weak := newHasher(PasswordParameters{Memory: 64, Passes: 1, Parallelism: 1}, 1, time.Minute)
	strong := newHasher(PasswordParameters{Memory: 128, Passes: 1, Parallelism: 1}, 1, time.Minute)
	hash, err := weak.Hash(t.Context(), ports.Caller{}, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	for h, want := range map[*PasswordHasher]bool{weak: false, strong: true} {
		if matches, outdated, err := h.Verify(t.Context(), ports.Caller{}, hash, "correct horse battery"); !matches || outdated != want || err != nil {
			t.Errorf("%v: matches %v, outdated %v, %v", h.parameters, matches, outdated, err)
		}
	}
}

func TestAHashThatAsksForTooMuchOrCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	const sound = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	for _, change := range [][2]string{
		{"argon2id", "argon2i"}, {"v=19", "v=16"}, {"m=256", "m=4294967295"}, {"m=256", "m=1048577"}, {"m=256", "m=7"}, {"t=2", "t=0"},
		{"t=2", "t=65"}, {"p=1", "p=0"}, {"p=1", "p=1,x=2"}, {"c29tZXNhbHQ", "c29t"}, {"nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4", "nf65"},
		{"nf65", "!!!!"}, {sound, "password"},
	} {
		if _, _, err := NewPasswordHasher().Verify(t.Context(), ports.Caller{}, strings.Replace(sound, change[0], change[1], 1), "password"); err == nil {
			t.Errorf("%s for %s was read", change[1], change[0])
		}
	}
}

func TestHashesLeaveHalfOfTheProcessorsToOthers(t *testing.T) {
	t.Parallel()
	for processors, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 64: 2} {
		if got := atOnce(processors); got != want {
			t.Errorf("%d hashes at a time on %d processors, want %d", got, processors, want)
		}
	}
}

func TestMoreThanTheFirstTwoWaitAndThenGiveUp(t *testing.T) {
	t.Parallel()
	h := newHasher(PasswordParameters{Memory: 64, Passes: 1, Parallelism: 1}, 2, 20*time.Millisecond)
	hold := func() { _ = h.strangers.Take(t.Context(), "", "") }
	hold()
	if _, err := h.Hash(t.Context(), ports.Caller{}, "one place is left"); err != nil {
		t.Error(err)
	}
	hold()
	if _, err := h.Hash(t.Context(), ports.Caller{}, "none is"); !errors.Is(err, ports.ErrPasswordsBusy) {
		t.Errorf("%v", err)
	}
	if _, err := h.Hash(t.Context(), ports.Caller{Known: true, Line: "biz_1"}, "who is known waits for no stranger"); err != nil {
		t.Error(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, _, err := h.Verify(gone, ports.Caller{}, "", "the caller has gone"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	h.strangers.Give("")
	h.strangers.Give("")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { _, _ = h.Hash(t.Context(), ports.Caller{}, "at once") })
	}
	wg.Wait()
	if !h.strangers.Idle() {
		t.Error("a place is held, or somebody waits")
	}
}
