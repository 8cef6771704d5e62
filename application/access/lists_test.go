package access_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"waybill/domain"
)

func TestTheFifthListWaitsThenIsRefusedAndCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		g.knows(liveKey, 1, nil)
		const most = 4
		var leave [most]func()
		for i := range leave {
			grant, err := g.credentials(t, liveKey)
			if err != nil {
				t.Fatal(err)
			}
			if leave[i], err = g.EnterList(t.Context(), &grant); err != nil {
				t.Fatal(err)
			}
		}
		grant, err := g.credentials(t, liveKey)
		if err != nil {
			t.Fatal(err)
		}
		charged := grant.Allowance.Remaining
		begun := time.Now()
		_, err = g.EnterList(t.Context(), &grant)
		var refused *domain.Error
		if !errors.As(err, &refused) || refused.Code != domain.CodeRateLimitExceeded || refused.Details["scope"] != "concurrency" ||
			refused.Details["limit"] != most || refused.RetryAfter <= 0 {
			t.Errorf("refused with %+v", err)
		}
		if time.Since(begun) != time.Second || grant.Allowance.Remaining != charged+1 {
			t.Errorf("after %v, with %d left, before it %d", time.Since(begun), grant.Allowance.Remaining, charged)
		}
		if done, err := g.Enter(t.Context(), &grant); err != nil {
			t.Errorf("another request: %v", err)
		} else {
			done()
		}
		waits, err := g.credentials(t, liveKey)
		if err != nil {
			t.Fatal(err)
		}
		entered := make(chan error)
		go func() { _, err := g.EnterList(t.Context(), &waits); entered <- err }()
		synctest.Wait()
		leave[0]()
		if err := <-entered; err != nil {
			t.Errorf("the one that waited, when another one had ended: %v", err)
		}
	})
}
