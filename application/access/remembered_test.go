package access_test

import (
	"context"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/domain"
)

func TestARevokedKeyStopsWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	gomock.InOrder(g.knows(liveKey, 1, nil), g.knows(liveKey, 1, func(c *domain.Credential) { c.Key.RevokedAt = &noon }))
	if _, err := g.credentials(t, liveKey); err != nil {
		t.Fatal(err)
	}
	served := time.Duration(0) // for how long after it was revoked
	for range 200 {
		g.clock.GoOn(10 * time.Millisecond)
		if _, err := g.credentials(t, liveKey); err != nil {
			wantCode(t, err, domain.KindUnauthenticated, "API_KEY_REVOKED")
			if served >= 2*time.Second || served < time.Second {
				t.Errorf("served for %s; the cache is there to serve for at least one", served)
			}
			return
		}
		served += 10 * time.Millisecond
	}
	t.Errorf("still served after %s", served)
}

func TestASlowLookUpDoesNotProlongAKey(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.store.EXPECT().Credential(gomock.Any(), gomock.Any()).DoAndReturn(func(context.Context, ...[32]byte) (domain.Credential, error) {
		found := credential(liveKey, nil)
		g.clock.GoOn(1400 * time.Millisecond) // it was revoked right behind the read
		return found, nil
	})
	if _, err := g.credentials(t, liveKey); err != nil {
		t.Fatal(err)
	}
	g.clock.GoOn(500 * time.Millisecond)
	g.knows(liveKey, 1, func(c *domain.Credential) { c.Key.RevokedAt = &noon })
	_, err := g.credentials(t, liveKey)
	wantCode(t, err, domain.KindUnauthenticated, "API_KEY_REVOKED")
}

func TestAClockThatStepsBackDoesNotProlongAKey(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	gomock.InOrder(g.knows(liveKey, 1, nil), g.knows(liveKey, 1, func(c *domain.Credential) { c.Key.RevokedAt = &noon }))
	if _, err := g.credentials(t, liveKey); err != nil {
		t.Fatal(err)
	}
	g.clock.GoOn(-time.Hour)
	_, err := g.credentials(t, liveKey)
	wantCode(t, err, domain.KindUnauthenticated, "API_KEY_REVOKED")
}

func TestAKeyExpiresToTheMillisecondWhileItIsRemembered(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	expires := noon.Add(700 * time.Millisecond)
	g.knows(liveKey, 1, func(c *domain.Credential) { c.Key.ExpiresAt = &expires })
	for _, wait := range []time.Duration{0, 699 * time.Millisecond} {
		g.clock.GoOn(wait)
		if _, err := g.credentials(t, liveKey); err != nil {
			t.Fatalf("after %s: %v", wait, err)
		}
	}
	g.clock.GoOn(time.Millisecond)
	_, err := g.credentials(t, liveKey)
	wantCode(t, err, domain.KindUnauthenticated, "API_KEY_EXPIRED")
}

func TestAnUnknownKeyIsLookedUpOncePerSecond(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.knowsNothingOf(liveKey, 1)
	for _, wait := range []time.Duration{0, 500 * time.Millisecond, 499 * time.Millisecond} {
		g.clock.GoOn(wait)
		_, err := g.credentials(t, liveKey)
		wantCode(t, err, domain.KindUnauthenticated, "INVALID_API_KEY")
	}
	if g.failures() != 3 {
		t.Errorf("%d failures counted, want each", g.failures())
	}
	g.clock.GoOn(time.Millisecond)
	g.knows(liveKey, 1, nil)
	if _, err := g.credentials(t, liveKey); err != nil {
		t.Errorf("it was issued meanwhile: %v", err)
	}
}

func TestAKeyThatExpiresDuringItsLookUpIsNotLetIn(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	expires := noon.Add(30 * time.Millisecond)
	g.store.EXPECT().Credential(gomock.Any(), gomock.Any()).DoAndReturn(func(context.Context, ...[32]byte) (domain.Credential, error) {
		g.clock.GoOn(30 * time.Millisecond)
		return credential(liveKey, func(c *domain.Credential) { c.Key.ExpiresAt = &expires }), nil
	})
	for range 2 { // looked up, and remembered
		_, err := g.credentials(t, liveKey)
		wantCode(t, err, domain.KindUnauthenticated, "API_KEY_EXPIRED")
	}
}
