package access_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"waybill/domain"
)

func revoked(c *domain.Credential) { c.Key.RevokedAt = &noon }

func TestAnAnnouncedRevocationStopsTheKeyAtOnce(t *testing.T) {
	t.Parallel()
	for name, announced := range map[string]domain.ID{"of its application": "app_1", "of all": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t)
			gomock.InOrder(g.knows(liveKey, 1, nil), g.knows(liveKey, 1, revoked))
			if _, err := g.credentials(t, liveKey); err != nil {
				t.Fatal(err)
			}
			g.Forget(announced)
			for range 2 { // the answer is remembered as any other
				_, err := g.credentials(t, liveKey)
				wantCode(t, err, domain.KindUnauthenticated, "API_KEY_REVOKED")
			}
		})
	}
}

func TestAnAnnouncementCostsOtherApplicationsNoLookUp(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.knows(liveKey, 1, nil) // once
	for range 3 {
		if _, err := g.credentials(t, liveKey); err != nil {
			t.Fatal(err)
		}
		g.Forget("app_2")
	}
}

func TestAnAnnouncementForgetsWhichKeysAreUnknown(t *testing.T) {
	t.Parallel()
	for _, announced := range []domain.ID{"app_1", "app_2", ""} {
		g := newGate(t)
		gomock.InOrder(g.knowsNothingOf(liveKey, 1), g.knows(liveKey, 1, nil))
		_, err := g.credentials(t, liveKey)
		wantCode(t, err, domain.KindUnauthenticated, "INVALID_API_KEY")
		g.Forget(announced)
		if _, err := g.credentials(t, liveKey); err != nil {
			t.Errorf("announced %q: %v", announced, err)
		}
	}
}

func TestAnAnnouncementTakesNoTrustAway(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.knows(liveKey, 2, nil)
	if _, err := g.credentials(t, liveKey); err != nil {
		t.Fatal(err)
	}
	g.lockOut()
	g.Forget("")
	if _, err := g.credentials(t, liveKey); err != nil {
		t.Errorf("another caller's failures shut out a key that works: %v", err)
	}
}

func TestALookUpThatAnAnnouncementOvertookIsNotRemembered(t *testing.T) {
	t.Parallel()
	unknown := func(context.Context, ...[32]byte) (domain.Credential, error) {
		return domain.Credential{}, domain.ErrNotFound
	}
	for name, c := range map[string]struct {
		before, behind func(context.Context, ...[32]byte) (domain.Credential, error)
		announced      domain.ID
		first, then    string
	}{
		"of its application": {found(nil), found(revoked), "app_1", "", "API_KEY_REVOKED"},
		"of all":             {found(nil), found(revoked), "", "", "API_KEY_REVOKED"},
		"of an unknown key":  {unknown, found(nil), "app_1", "INVALID_API_KEY", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t)
			gomock.InOrder(
				g.store.EXPECT().Credential(gomock.Any(), gomock.Any()).DoAndReturn(func(ctx context.Context, digests ...[32]byte) (domain.Credential,
					error) {
					g.Forget(c.announced) // the change was committed behind the read
					return c.before(ctx, digests...)
				}),
				g.store.EXPECT().Credential(gomock.Any(), gomock.Any()).DoAndReturn(c.behind),
			)
			for _, want := range []string{c.first, c.then, c.then} {
				if _, err := g.credentials(t, liveKey); want == "" && err != nil || want != "" && !domain.HasCode(err, want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}

func found(change func(*domain.Credential)) func(context.Context, ...[32]byte) (domain.Credential, error) {
	return func(context.Context, ...[32]byte) (domain.Credential, error) { return credential(liveKey, change), nil }
}
