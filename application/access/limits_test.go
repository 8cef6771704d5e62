package access_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/access"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

func TestTheLimitThatBitesIsTold(t *testing.T) {
	t.Parallel()
	own := &domain.RateLimit{Limit: 3, Window: 2 * time.Minute}
	for name, c := range map[string]struct {
		taken         map[string]int
		own           *domain.RateLimit
		scope         string
		limit, window int
	}{
		"of the key":              {map[string]int{"key key_1": 600}, nil, "key", 600, 60},
		"of the business":         {map[string]int{"business biz_1/live": 1200}, nil, "business", 1200, 60},
		"of the business's own":   {map[string]int{"business biz_1/live": 3}, own, "business", 3, 120},
		"of the other one is not": {map[string]int{"business biz_1/sandbox": 1200, "key key_2": 600}, nil, "", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t)
			g.limiter.taken = c.taken
			g.knows(liveKey, 1, func(cr *domain.Credential) { cr.Business.RateLimit = c.own })
			grant, err := g.credentials(t, liveKey)
			if c.scope == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			e := wantCode(t, err, domain.KindLimited, "RATE_LIMIT_EXCEEDED")
			if e.Details["scope"] != c.scope || e.Details["limit"] != c.limit || e.Details["window_seconds"] != c.window ||
				e.RetryAfter != 17*time.Second {
				t.Errorf("retry after %s, details %v", e.RetryAfter, e.Details)
			}
			if grant.Allowance.Scope != c.scope || grant.Allowance.Remaining != 0 || g.failures() != 0 {
				t.Errorf("allowance %+v, %d failures", grant.Allowance, g.failures())
			}
		})
	}
}

func TestASpentKeyIsToldItsOwnLimit(t *testing.T) {
	t.Parallel()
	for name, reset := range map[string]time.Duration{
		"of the key's window": 42 * time.Second, "of a business's longer window": time.Hour,
	} {
		g := newGate(t)
		grant := access.Grant{Credential: credential(liveKey, nil), Allowance: ports.Allowance{
			Admitted: true, Scope: "business", Limit: limits.PerBusiness, Remaining: 7, Reset: reset,
		}}
		e := wantCode(t, g.Spent(&grant), domain.KindLimited, "RATE_LIMIT_EXCEEDED")
		if e.Details["scope"] != "key" || e.Details["limit"] != 600 || e.Details["window_seconds"] != 60 || e.RetryAfter != time.Second ||
			e.Message != "600 requests a minute for this key are used up. Try again in 1 s." {
			t.Errorf("%s: %+v", name, e)
		}
		if a := grant.Allowance; a.Admitted || a.Scope != "key" || a.Limit != limits.PerKey || a.Remaining != 0 || a.Reset != e.RetryAfter {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestAnAnswerThatDoesNotCountIsGivenBack(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.knows(liveKey, 1, nil)
	grant, err := g.credentials(t, liveKey)
	if err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 2 { // the headers never promise more than the limit
		if err := g.GiveBack(gone, &grant); err != nil || grant.Allowance.Remaining != 600 {
			t.Errorf("%v, remaining %d", err, grant.Allowance.Remaining)
		}
	}
	if g.limiter.taken["key key_1"] != -1 || g.limiter.taken["business biz_1/live"] != -1 {
		t.Errorf("counted %v", g.limiter.taken)
	}
}

func TestAnswersWithoutNewsGoFreeTenTimesAsOftenAsAKeyMayAsk(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.knows(liveKey, 1, nil)
	free := 0
	for range 10*limits.PerKey.Limit + 100 {
		g.limiter.taken["key key_1"], g.limiter.taken["business biz_1/live"] = 0, 0
		grant, err := g.credentials(t, liveKey)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.GiveBackUnmodified(t.Context(), &grant); err != nil {
			t.Fatal(err)
		}
		if g.limiter.taken["key key_1"] == 0 {
			free++
		}
	}
	if want := 10 * limits.PerKey.Limit; free != want {
		t.Errorf("%d went free, want %d", free, want)
	}
}

// What ten times the greatest limit would be, no limiter can count.
func TestTheGreatestLimitStillLetsAnswersWithoutNewsGoFree(t *testing.T) {
	t.Parallel()
	ctrl := gomock.NewController(t)
	limiter := mocks.NewMockRateLimiter(ctrl)
	limiter.EXPECT().Take(gomock.Any(), ports.Bucket{Scope: "unmodified", Name: "key_1", Limit: plenty}).Return(
		ports.Allowance{Admitted: true}, nil)
	limiter.EXPECT().GiveBack(gomock.Any()).Return(nil)
	a := access.NewAdmission(nil, limiter, stage.Digester{}, &stage.Clock{}, access.Limits{PerKey: plenty})
	if err := a.GiveBackUnmodified(t.Context(), &access.Grant{Credential: credential(liveKey, nil)}); err != nil {
		t.Error(err)
	}
}

func TestAnUnknownCallerIsToldAboutItsAddressAndNotCounted(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	a, err := g.Anonymous(t.Context(), address)
	if err != nil || a.Scope != "address" || a.Remaining != 60 || g.failures() != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestGiveBackThatFailsPromisesNothing(t *testing.T) {
	t.Parallel()
	ctrl := gomock.NewController(t)
	limiter := mocks.NewMockRateLimiter(ctrl)
	limiter.EXPECT().GiveBack(gomock.Any()).Return(errBroken)
	a := access.NewAdmission(nil, limiter, stage.Digester{}, &stage.Clock{}, limits)
	grant := access.Grant{Allowance: ports.Allowance{Limit: limits.PerKey, Remaining: 5}}
	if err := a.GiveBack(t.Context(), &grant); !errors.Is(err, errBroken) || grant.Allowance.Remaining != 5 {
		t.Errorf("%v, remaining %d", err, grant.Allowance.Remaining)
	}
}
