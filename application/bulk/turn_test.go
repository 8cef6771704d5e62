package bulk_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"waybill/application/bulk"
	"waybill/domain"
	"waybill/test/stage"
)

// line gives out the turns of bulks when a test says so.
type line struct {
	waiting int
	next    chan error // the result of the next turn
	ended   int
}

func (l *line) turn(ctx context.Context) (context.Context, func(), error) {
	l.waiting++
	defer func() { l.waiting-- }()
	return ctx, func() { l.ended++ }, <-l.next
}

func TestABulkThatWaitsForItsTurnIsInProgressForEveryRepetition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, l := newScene(t), &line{next: make(chan error)}
		a := s.start("a")
		one := func() ([]bulk.Item, error) { return orders(1), nil }
		first := make(chan error)
		go func() {
			got, err := a.Create(t.Context(), s.ask, l.turn, one, a.rendering())
			if err == nil {
				s.wantOutcome(t, got, err, 1, 0)
			}
			first <- err
		}()
		synctest.Wait()
		if l.waiting != 1 || !a.AtWork(s.tenant, s.ask.Key) || a.AtWork(s.NewTenant(t), s.ask.Key) {
			t.Fatalf("%d wait; the key is at work: %v", l.waiting, a.AtWork(s.tenant, s.ask.Key))
		}
		got, err := a.send(t.Context(), s.ask, orders(1))
		wantInProgress(t, got, err)
		got, err = a.send(t.Context(), stage.Key(s.tenant, s.ask.Key, 2), orders(2))
		wantInProgress(t, got, err)
		s.untouched(t)

		l.next <- nil
		if err := <-first; err != nil || l.ended != 1 || a.AtWork(s.tenant, s.ask.Key) {
			t.Errorf("%v; %d turns have ended", err, l.ended)
		}
		got, err = a.Create(t.Context(), s.ask, l.turn, nil, a.rendering()) // a replay waits for nothing
		if s.wantOutcome(t, got, err, 1, 0); !got.Replayed || l.ended != 1 {
			t.Errorf("replayed %v; %d turns have ended", got.Replayed, l.ended)
		}
	})
}

func TestABulkWhoseTurnDoesNotComeLeavesNothing(t *testing.T) {
	t.Parallel()
	s, l := newScene(t), &line{next: make(chan error, 1)}
	a := s.start("a")
	refusal := &domain.Error{Kind: domain.KindLimited, Code: domain.CodeRateLimitExceeded}
	l.next <- refusal
	_, err := a.Create(t.Context(), s.ask, l.turn, func() ([]bulk.Item, error) { return orders(3), nil }, a.rendering())
	if !errors.Is(err, refusal) || a.AtWork(s.tenant, s.ask.Key) {
		t.Errorf("got %v", err)
	}
	s.untouched(t)
	// An invalid request is refused without a wait.
	tooMany := domain.Invalid(domain.FieldError{Field: "deliveries", Code: domain.FieldTooLong})
	if _, err := a.Create(t.Context(), s.ask, l.turn, func() ([]bulk.Item, error) { return nil, tooMany }, a.rendering()); !errors.Is(err, tooMany) {
		t.Errorf("got %v", err)
	}
	got, err := a.send(t.Context(), s.ask, orders(3))
	s.wantOutcome(t, got, err, 3, 0)
}

// A bulk works in the context that its turn returns.
func TestABulkWorksInTheContextOfItsTurn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	a := s.start("a")
	ended := 0
	over := func(ctx context.Context) (context.Context, func(), error) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx, func() { ended++ }, nil
	}
	_, err := a.Create(t.Context(), s.ask, over, func() ([]bulk.Item, error) { return orders(1), nil }, a.rendering())
	if !errors.Is(err, context.Canceled) || ended != 1 {
		t.Errorf("got %v; %d turns have ended", err, ended)
	}
	s.untouched(t)
}
