package httpapi

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"

	"waybill/adapters/web"
	"waybill/application/access"
	"waybill/domain"
	"waybill/ports"
)

// charged is a limiter that counts the requests given back.
type charged struct {
	ports.RateLimiter
	givenBack int
}

func (c *charged) GiveBack(context.Context, ...ports.Bucket) error {
	c.givenBack++
	return nil
}

func TestABulkWaitsForItsTurnInNoneOfItsTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end    func(turnOver, leave, stop func()) // after three seconds
		wait   time.Duration
		status int // 0: its turn came
	}{
		"its turn comes":     {func(turnOver, _, _ func()) { turnOver() }, 3 * time.Second, 0},
		"its caller leaves":  {func(_, leave, _ func()) { leave() }, 3 * time.Second, 429},
		"the server stops":   {func(_, _, stop func()) { stop() }, 3 * time.Second, 503},
		"no other bulk ends": {func(_, _, _ func()) {}, access.BulkPatience, 429},
	} {
		synctest.Test(t, func(t *testing.T) {
			limiter := &charged{}
			a := &API{UseCases: UseCases{Admission: access.NewAdmission(nil, limiter, nil, nil, access.Limits{})}, closing: make(chan struct{})}
			first := aBulkCall(t)
			for range access.MaxBulks - 1 {
				if _, _, err := a.awaitBulkTurn(aBulkCall(t)); err != nil {
					t.Fatal(err)
				}
			}
			_, turnOver, err := a.awaitBulkTurn(first)
			if err != nil {
				t.Fatal(err)
			}
			fifth := aBulkCall(t)
			gone, leave := context.WithCancel(t.Context())
			fifth.gone = gone.Done
			fifth.setDeadline(2 * time.Second)
			go func() {
				time.Sleep(3 * time.Second)
				c.end(turnOver, leave, func() { close(a.closing) })
			}()
			begun := time.Now()
			work, _, err := a.awaitBulkTurn(fifth)
			if waited := time.Since(begun); waited != c.wait {
				t.Errorf("%s: waited %s, want %s", name, waited, c.wait)
			}
			if deadline, _ := fifth.Request.Context().Deadline(); time.Until(deadline) != 2*time.Second {
				t.Errorf("%s: %s are left for the work, want the 2 s of before", name, time.Until(deadline))
			}
			switch {
			case c.status == 0:
				if err != nil || work != fifth.Request.Context() || limiter.givenBack != 0 {
					t.Errorf("%s: %v, %d given back", name, err, limiter.givenBack)
				}
			default:
				var e *domain.Error
				if !errors.As(err, &e) || web.Status(e.Kind) != c.status || e.RetryAfter != time.Second || limiter.givenBack != 1 {
					t.Errorf("%s: %v, %d given back; want a %d that is not counted", name, err, limiter.givenBack, c.status)
				}
			}
			fifth.stop()
			leave()
		})
	}
}

func aBulkCall(t *testing.T) *call {
	g, _ := gin.CreateTestContext(httptest.NewRecorder())
	g.Request = httptest.NewRequestWithContext(t.Context(), "POST", "/v1/deliveries/bulk", nil)
	c := &call{Context: g, gone: g.Request.Context().Done}
	c.setDeadline(changeBudget)
	t.Cleanup(func() { c.stop() })
	return c
}
