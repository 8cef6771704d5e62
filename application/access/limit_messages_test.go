package access_test

import (
	"testing"

	"waybill/domain"
)

func TestARefusalForALimitSaysWhoseItIsAndHowLongToWait(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.lockOut()
	_, err := g.credentials(t, "guess")
	e := wantCode(t, err, domain.KindLimited, "RATE_LIMIT_EXCEEDED")
	if want := "60 failed authentications a minute from this address are used up. Try again in 17 s."; e.Message != want {
		t.Errorf("got %q, want %q", e.Message, want)
	}
}
