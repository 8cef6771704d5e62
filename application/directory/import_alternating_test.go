package directory_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/directory"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// stuck is a storage whose transactions end when a test says so.
type stuck struct {
	ports.Storage
	end chan struct{}

	mu    sync.Mutex
	under int
	most  int
}

func (s *stuck) InTx(context.Context, func(context.Context, ports.Stores) error) error {
	s.count(1)
	<-s.end
	s.count(-1)
	return nil
}

func (s *stuck) count(more int) (under, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under += more
	s.most = max(s.most, s.under)
	return s.under, s.most
}

func TestImportsAlternateAndNoneWaitsForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{end: make(chan struct{})}
		use := directory.NewPickupLocations(s, nil, &stage.Clock{}, &stage.IDs{})
		live := domain.Tenant{BusinessID: "biz_1", Environment: domain.Live}
		results := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := use.Import(t.Context(), by, live, nil, false, nil)
				results <- err
			}()
			synctest.Wait()
		}
		begun := time.Now()
		if _, err := use.Import(t.Context(), by, live, nil, false, nil); !errorIsBusy(err) || time.Since(begun) != 0 {
			t.Errorf("a second one of the business that would wait: %v after %v", err, time.Since(begun))
		}
		begun = time.Now()
		err := <-results
		if took := time.Since(begun); !errorIsBusy(err) || took != 20*time.Second {
			t.Errorf("the second one: %v after %v", err, took)
		}
		if _, most := s.count(0); most != 1 {
			t.Errorf("%d at once", most)
		}
		elsewhere := make(chan error, 1)
		go func() {
			_, err := use.Import(t.Context(), by, domain.Tenant{BusinessID: "biz_2", Environment: domain.Sandbox}, nil, false, nil)
			elsewhere <- err
		}()
		synctest.Wait()
		if under, _ := s.count(0); under != 2 {
			t.Error("the sandbox waits for live")
		}
		close(s.end)
		if err := errors.Join(<-results, <-elsewhere); err != nil {
			t.Errorf("those under way: %v", err)
		}
		if _, err := use.Import(t.Context(), by, live, nil, false, nil); err != nil {
			t.Errorf("the next one: %v", err)
		}
	})
}

func errorIsBusy(err error) bool {
	var e *domain.Error
	return errors.As(err, &e) && e.Kind == domain.KindUnavailable && e.RetryAfter >= time.Second && e.RetryAfter <= 5*time.Second
}
