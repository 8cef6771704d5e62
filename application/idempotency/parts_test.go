package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/domain"
	"waybill/ports"
)

// These tests cover the parts of the gate that requests of many transactions use.

func unanswered(fingerprint byte, left time.Duration) domain.KeyRecord {
	r := recordOf(otherClaim, fingerprint)
	r.Answer, r.LeaseLeft = domain.Answer{}, left
	return r
}

func TestWhatIsKnownOfAKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		found      domain.KeyRecord // the zero record: none is stored
		claim      string
		answered   bool
		unfinished bool
		code       string
		wait       time.Duration
	}{
		"nothing":                           {},
		"the answer":                        {found: recordOf(otherClaim, 1), claim: otherClaim, answered: true},
		"that another request was answered": {found: recordOf(otherClaim, 2), code: "IDEMPOTENCY_CONFLICT"},
		"that somebody works on it": {found: unanswered(1, 17*time.Second), code: "IDEMPOTENCY_IN_PROGRESS",
			wait: 17 * time.Second},
		"that somebody has a millisecond left": {found: unanswered(1, time.Millisecond), code: "IDEMPOTENCY_IN_PROGRESS",
			wait: time.Millisecond},
		"that nobody works on it any more":        {found: unanswered(1, 0), claim: otherClaim, unfinished: true},
		"that nobody has for long":                {found: unanswered(1, -time.Hour), claim: otherClaim, unfinished: true},
		"that somebody works on another request":  {found: unanswered(2, 17*time.Second), code: "IDEMPOTENCY_CONFLICT"},
		"that another request was begun and left": {found: unanswered(2, -time.Hour), code: "IDEMPOTENCY_CONFLICT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			if c.found.Key == "" {
				s.holdsNothing()
			} else {
				s.holds(c.found)
			}
			got, err := s.gate.Recall(t.Context(), keyed)
			if c.code != "" {
				e := wantRefusal(t, got.Result, err, c.code)
				if e.RetryAfter != c.wait || got.Answered || got.Unfinished || got.ClaimID != "" {
					t.Errorf("retry after %s, known %+v; want %s and nothing", e.RetryAfter, got, c.wait)
				}
				return
			}
			if c.answered {
				wantAnswer(t, got.Result, err, true)
			} else if err != nil || got.Result.Answer.Status != 0 || got.Result.Replayed {
				t.Errorf("%+v, %v", got.Result, err)
			}
			if got.ClaimID != c.claim || got.Answered != c.answered || got.Unfinished != c.unfinished {
				t.Errorf("known %+v", got)
			}
		})
	}
	t.Run("nothing for sure, when the look-up fails", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.records.EXPECT().Find(gomock.Any(), tenant, keyed.Key).Return(domain.KeyRecord{}, errBroken)
		if got, err := s.gate.Recall(t.Context(), keyed); !errors.Is(err, errBroken) || got.Answered || got.Unfinished {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestARefusalIsExplainedByWhatIsKnownNow(t *testing.T) {
	t.Parallel()
	invalid := &domain.Error{Kind: domain.KindInvalid, Code: domain.CodeBulkValidationFailed}
	for name, c := range map[string]struct {
		found domain.KeyRecord
		code  string // empty: the answer
		wait  time.Duration
	}{
		"nothing":                       {code: "BULK_VALIDATION_FAILED"},
		"the answer":                    {found: recordOf(otherClaim, 1)},
		"another request":               {found: recordOf(otherClaim, 2), code: "IDEMPOTENCY_CONFLICT"},
		"it is under way":               {found: unanswered(1, 17*time.Second), code: "IDEMPOTENCY_IN_PROGRESS", wait: 17 * time.Second},
		"it was begun and left by then": {found: unanswered(1, -time.Second), code: "IDEMPOTENCY_IN_PROGRESS", wait: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			if c.found.Key == "" {
				s.holdsNothing()
			} else {
				s.holds(c.found)
			}
			got, err := s.gate.Explain(t.Context(), keyed, invalid)
			if c.code == "" {
				wantAnswer(t, got, err, true)
			} else if e := wantRefusal(t, got, err, c.code); e.RetryAfter != c.wait {
				t.Errorf("retry after %s, want %s", e.RetryAfter, c.wait)
			}
		})
	}
	for name, cause := range map[string]error{
		"a failure": errBroken, "a failure of ours": domain.Internal(errBroken), "an unknown outcome": ports.ErrOutcomeUnknown,
	} {
		t.Run(name+" needs no explanation", func(t *testing.T) {
			t.Parallel()
			s := newScene(t) // expects no look-up
			if got, err := s.gate.Explain(t.Context(), keyed, cause); !errors.Is(err, cause) || got.Answer.Status != 0 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestARefusalOfTheStorageEndsTheRetries(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{
		ports.ErrKeyTaken, ports.ErrKeyBusy, ports.ErrLeaseLost, ports.ErrItemDone,
		&domain.Error{Kind: domain.KindConflict, Code: domain.CodeExternalIDConflict},
		&domain.Error{Kind: domain.KindUnavailable, Code: domain.CodeQuoteUnavailable},
	} {
		for before, unknown := range map[string]int{"at once": 0, "behind an unknown outcome": 1} {
			t.Run(fmt.Sprintf("%v %s", refusal, before), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s, tries := newScene(t), 0
					err := s.gate.RetryUnknownCommit(t.Context(), func(context.Context) error {
						if tries++; tries <= unknown {
							return fmt.Errorf("commit: %w", ports.ErrOutcomeUnknown)
						}
						return fmt.Errorf("wrapped: %w", refusal)
					})
					if !errors.Is(err, refusal) || tries != unknown+1 {
						t.Errorf("%v after %d tries", err, tries)
					}
				})
			})
		}
	}
}

func TestRetriesOfAnUnknownCommitEndWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, tries := newScene(t), 0
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		start := time.Now()
		err := s.gate.RetryUnknownCommit(ctx, func(given context.Context) error {
			if given != ctx {
				t.Error("the attempt has another context")
			}
			tries++
			return ports.ErrOutcomeUnknown
		})
		// After a pause of 100 ms there is a second try. The next pause of 200 ms would end after
		// the deadline.
		if !errors.Is(err, ports.ErrOutcomeUnknown) || tries != 2 || time.Since(start) != 250*time.Millisecond {
			t.Errorf("%v after %d tries in %s", err, tries, time.Since(start))
		}
	})
}

func TestTheLoserOfARaceToARequestOfManyTransactions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		found    domain.KeyRecord
		own      string // the claim of the loser
		code     string // empty: the answer
		wait     time.Duration
		replayed bool
	}{
		"waits while the winner works": {found: unanswered(1, 17*time.Second), own: claim, code: "IDEMPOTENCY_IN_PROGRESS",
			wait: 17 * time.Second},
		"may try again where the winner is gone": {found: unanswered(1, -time.Second), own: claim, code: "IDEMPOTENCY_IN_PROGRESS",
			wait: time.Second},
		"waits no more than a moment for nobody":   {own: claim, code: "IDEMPOTENCY_IN_PROGRESS", wait: time.Second},
		"gets what the winner answered":            {found: recordOf(otherClaim, 1), own: claim, replayed: true},
		"is no replay where it is its own answer":  {found: recordOf(claim, 1), own: claim},
		"is in conflict where the request differs": {found: unanswered(2, 17*time.Second), own: claim, code: "IDEMPOTENCY_CONFLICT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			if c.found.Key == "" {
				s.holdsNothing()
			} else {
				s.holds(c.found)
			}
			got, err := s.gate.LostRace(t.Context(), keyed, c.own)
			if c.code == "" {
				wantAnswer(t, got, err, c.replayed)
			} else if e := wantRefusal(t, got, err, c.code); e.RetryAfter != c.wait {
				t.Errorf("retry after %s, want %s", e.RetryAfter, c.wait)
			}
		})
	}
}

func TestACreateWhoseKeyIsLockedForTooLongIsToldToWait(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string][]error{
		"at once":                   {fmt.Errorf("claim: %w", ports.ErrKeyBusy)},
		"behind an unknown outcome": {ports.ErrOutcomeUnknown, ports.ErrKeyBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, a := newScene(t), &tries{t: t, ends: ends}
				s.isFirst() // no second lookup: the holder of the lock has not committed
				got, err := s.gate.Once(t.Context(), keyed, a.prepare)
				if e := wantRefusal(t, got, err, "IDEMPOTENCY_IN_PROGRESS"); e.RetryAfter != time.Second {
					t.Errorf("retry after %s", e.RetryAfter)
				}
				if len(a.records) != len(ends) {
					t.Errorf("%d tries", len(a.records))
				}
			})
		})
	}
}

func TestACreateDoesNotResumeAnotherRequest(t *testing.T) {
	t.Parallel()
	s, a := newScene(t), &tries{t: t, ends: []error{ports.ErrKeyTaken}}
	gomock.InOrder(
		s.holds(unanswered(1, -time.Second)),
		s.holds(unanswered(1, -time.Second)),
	)
	got, err := s.gate.Once(t.Context(), keyed, a.prepare)
	wantRefusal(t, got, err, "IDEMPOTENCY_IN_PROGRESS")
}

func TestANewRecordIsUnansweredUnderAClaimOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	want := domain.KeyRecord{Key: keyed.Key, Fingerprint: keyed.Fingerprint, ClaimID: claim, CreatedAt: noon}
	if r := s.gate.NewRecord(keyed); r.Answered() || r.Key != want.Key || r.Fingerprint != want.Fingerprint || r.ClaimID != want.ClaimID ||
		!r.CreatedAt.Equal(want.CreatedAt) || r.LeaseLeft != 0 {
		t.Errorf("record %+v, want %+v", r, want)
	}
}
