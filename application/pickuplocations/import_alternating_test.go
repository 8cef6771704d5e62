package pickuplocations_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/pickuplocations"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// stuck is a storage whose transactions end when they are told to.
type stuck struct {
	ports.Storage
	under int
	most  int
	end   chan struct{}
}

func (s *stuck) InTx(context.Context, func(context.Context, ports.Stores) error) error {
	s.under++
	s.most = max(s.most, s.under)
	<-s.end
	s.under--
	return nil
}

func TestImportsAlternateAndNoneWaitsForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{end: make(chan struct{})}
		use := pickuplocations.New(s, nil, &stage.Clock{}, &stage.IDs{})
		results := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := use.Import(t.Context(), by, domain.Tenant{}, nil, false, nil)
				results <- err
			}()
			synctest.Wait()
		}
		begun := time.Now()
		err := <-results
		if took := time.Since(begun); !errorIsBusy(err) || took != 20*time.Second {
			t.Errorf("the second one: %v after %v", err, took)
		}
		close(s.end)
		if err := <-results; err != nil || s.most != 1 {
			t.Errorf("the first one: %v; %d at once", err, s.most)
		}
		if _, err := use.Import(t.Context(), by, domain.Tenant{}, nil, false, nil); err != nil {
			t.Errorf("the next one: %v", err)
		}
	})
}

func errorIsBusy(err error) bool {
	var e *domain.Error
	return errors.As(err, &e) && e.Kind == domain.KindUnavailable && e.RetryAfter >= time.Second && e.RetryAfter <= 5*time.Second
}
