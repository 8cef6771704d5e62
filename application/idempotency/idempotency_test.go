package idempotency_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

func TestAKeyThatWasUsedIsReplayedWithoutAnyWork(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.holds(recordOf(otherClaim, 1))
	got, err := s.gate.Once(t.Context(), keyed, neverPrepared(t))
	wantAnswer(t, got, err, true)
}

func TestAKeyThatWasUsedForAnotherRequestIsAConflict(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.holds(recordOf(otherClaim, 2))
	got, err := s.gate.Once(t.Context(), keyed, neverPrepared(t))
	e := wantRefusal(t, got, err, "IDEMPOTENCY_CONFLICT")
	if e.Details["first_used_at"] != "2026-03-14T11:00:00.000Z" {
		t.Errorf("details %v", e.Details)
	}
}

func TestNothingIsDoneWhileTheKeyCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.records.EXPECT().Find(gomock.Any(), tenant, keyed.Key).Return(domain.KeyRecord{}, errBroken)
	if _, err := s.gate.Once(t.Context(), keyed, neverPrepared(t)); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

func TestARepetitionIsToldToWaitWhileTheFirstRuns(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.records.EXPECT().Find(gomock.Any(), gomock.Any(), gomock.Any()).Return(domain.KeyRecord{}, domain.ErrNotFound).Times(4)
	sandbox, another := keyed, keyed
	sandbox.Tenant.Environment, another.Key = domain.Sandbox, "order-0002"
	_, err := s.gate.Once(t.Context(), keyed, func(context.Context) (idempotency.Attempt, error) {
		got, err := s.gate.Once(t.Context(), keyed, neverPrepared(t))
		if e := wantRefusal(t, got, err, "IDEMPOTENCY_IN_PROGRESS"); e.RetryAfter != time.Second {
			t.Errorf("retry after %s", e.RetryAfter)
		}
		for _, other := range []idempotency.Request{sandbox, another} {
			let := false
			_, err := s.gate.Once(t.Context(), other, func(context.Context) (idempotency.Attempt, error) { let = true; return nil, errBroken })
			if !let || !errors.Is(err, errBroken) {
				t.Errorf("%+v waits too: %v", other, err)
			}
		}
		return nil, errBroken
	})
	if !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

func TestAKeyIsFreeHoweverItsRequestEnds(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(context.Context) (idempotency.Attempt, error){
		"not prepared":       func(context.Context) (idempotency.Attempt, error) { return nil, errBroken },
		"not carried":        (&tries{t: t, ends: []error{errBroken}}).prepare,
		"a panic":            func(context.Context) (idempotency.Attempt, error) { panic("oops") },
		"a panic afterwards": func(context.Context) (idempotency.Attempt, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.records.EXPECT().Find(gomock.Any(), tenant, keyed.Key).Return(domain.KeyRecord{}, domain.ErrNotFound).Times(2)
			func() {
				defer func() { _ = recover() }()
				_, _ = s.gate.Once(t.Context(), keyed, prepare)
			}()
			again := false
			_, _ = s.gate.Once(t.Context(), keyed, func(context.Context) (idempotency.Attempt, error) { again = true; return nil, errBroken })
			if !again {
				t.Error("the key stayed busy")
			}
		})
	}
}

func TestTheFirstRequestIsCarriedOutUnderItsRecord(t *testing.T) {
	t.Parallel()
	s, a := newScene(t), &tries{t: t, ends: []error{nil}}
	s.isFirst()
	got, err := s.gate.Once(t.Context(), keyed, a.prepare)
	wantAnswer(t, got, err, false)
	r := a.records[0]
	if r.Key != keyed.Key || r.Fingerprint != keyed.Fingerprint || r.ClaimID != claim || !r.CreatedAt.Equal(noon) || r.Answer.Status != 0 {
		t.Errorf("record %+v", r)
	}
}

func TestWithoutAKeyNothingIsLookedUpOrLocked(t *testing.T) {
	t.Parallel()
	s, a := newScene(t), &tries{t: t, ends: []error{nil}}
	got, err := s.gate.Once(t.Context(), idempotency.Request{Tenant: tenant}, a.prepare)
	wantAnswer(t, got, err, false)
	if a.records[0].Key != "" {
		t.Errorf("record %+v", a.records[0])
	}
}

func TestWithoutAKeyAConflictIsToldAsItIs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	conflict := &domain.Error{Kind: domain.KindConflict, Code: domain.CodeExternalIDConflict}
	got, err := s.gate.Once(t.Context(), idempotency.Request{Tenant: tenant},
		func(context.Context) (idempotency.Attempt, error) { return nil, conflict })
	wantRefusal(t, got, err, "EXTERNAL_ID_CONFLICT")
}

func TestARefusalIsNotToldBeforeTheKeyWasLookedUpAgain(t *testing.T) {
	t.Parallel()
	conflict := &domain.Error{Kind: domain.KindConflict, Code: domain.CodeExternalIDConflict}
	refuse := func(err error) func(context.Context) (idempotency.Attempt, error) {
		return func(context.Context) (idempotency.Attempt, error) { return nil, err }
	}
	t.Run("its own first try committed meanwhile", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.holds(recordOf(otherClaim, 1)).After(s.isFirst())
		got, err := s.gate.Once(t.Context(), keyed, refuse(conflict))
		wantAnswer(t, got, err, true)
	})
	t.Run("another request took the key meanwhile", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.holds(recordOf(otherClaim, 2)).After(s.isFirst())
		got, err := s.gate.Once(t.Context(), keyed, refuse(conflict))
		wantRefusal(t, got, err, "IDEMPOTENCY_CONFLICT")
	})
	t.Run("nobody used the key", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.holdsNothing().After(s.isFirst())
		got, err := s.gate.Once(t.Context(), keyed, refuse(conflict))
		wantRefusal(t, got, err, "EXTERNAL_ID_CONFLICT")
	})
	t.Run("the second look fails", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.records.EXPECT().Find(gomock.Any(), tenant, keyed.Key).Return(domain.KeyRecord{}, errBroken).After(s.isFirst())
		if _, err := s.gate.Once(t.Context(), keyed, refuse(conflict)); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a refusal of any kind is looked up", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.holds(recordOf(otherClaim, 1)).After(s.isFirst())
		got, err := s.gate.Once(t.Context(), keyed, refuse(&domain.Error{Kind: domain.KindInvalid, Code: domain.CodeValidation}))
		wantAnswer(t, got, err, true)
	})
	t.Run("it was begun in many transactions and left", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		left := recordOf(otherClaim, 1)
		left.Answer = domain.Answer{}
		s.holds(left).After(s.isFirst())
		got, err := s.gate.Once(t.Context(), keyed, refuse(conflict))
		wantRefusal(t, got, err, "IDEMPOTENCY_IN_PROGRESS")
	})
	t.Run("a failure is told at once", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.isFirst()
		if _, err := s.gate.Once(t.Context(), keyed, refuse(errBroken)); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTheLoserOfARaceGetsWhatTheWinnerStored(t *testing.T) {
	t.Parallel()
	lose := func(t *testing.T, found func(*scene)) (idempotency.Result, error) {
		s, a := newScene(t), &tries{t: t, ends: []error{ports.ErrKeyTaken}}
		gomock.InOrder(s.isFirst())
		found(s)
		return s.gate.Once(t.Context(), keyed, a.prepare)
	}
	t.Run("the winner sent the same request", func(t *testing.T) {
		t.Parallel()
		got, err := lose(t, func(s *scene) { s.holds(recordOf(otherClaim, 1)) })
		wantAnswer(t, got, err, true)
	})
	t.Run("the winner sent another request", func(t *testing.T) {
		t.Parallel()
		got, err := lose(t, func(s *scene) { s.holds(recordOf(otherClaim, 2)) })
		wantRefusal(t, got, err, "IDEMPOTENCY_CONFLICT")
	})
	t.Run("the winner is this very attempt", func(t *testing.T) {
		t.Parallel()
		got, err := lose(t, func(s *scene) { s.holds(recordOf(claim, 1)) })
		wantAnswer(t, got, err, false)
	})
	t.Run("the record is gone again", func(t *testing.T) {
		t.Parallel()
		got, err := lose(t, func(s *scene) { s.holdsNothing() })
		wantRefusal(t, got, err, "IDEMPOTENCY_IN_PROGRESS")
	})
	t.Run("the record cannot be read", func(t *testing.T) {
		t.Parallel()
		_, err := lose(t, func(s *scene) {
			s.records.EXPECT().Find(gomock.Any(), tenant, keyed.Key).Return(domain.KeyRecord{}, errBroken)
		})
		if !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
	})
}
