package idempotency_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

func TestACommitOfUnknownOutcomeIsRetried(t *testing.T) {
	t.Parallel()
	unknown := errors.Join(ports.ErrOutcomeUnknown, errBroken)
	refused := &domain.Error{Kind: domain.KindConflict, Code: domain.CodeDeliveryNotCancellable}
	const allPauses = (100 + 200 + 400 + 800 + 1600) * time.Millisecond
	for name, c := range map[string]struct {
		ends  []error
		found *domain.KeyRecord
		pause time.Duration
		err   error // nil: the answer, not flagged as replayed
	}{
		"it had not been committed": {ends: []error{unknown, nil}, pause: 100 * time.Millisecond},
		"it had been committed": {ends: []error{unknown, ports.ErrKeyTaken}, found: &domain.KeyRecord{ClaimID: claim},
			pause: 100 * time.Millisecond},
		"it stays unknown for a while":    {ends: []error{unknown, unknown, unknown, nil}, pause: 700 * time.Millisecond},
		"the database is not back yet":    {ends: []error{unknown, errBroken, errBroken, nil}, pause: 700 * time.Millisecond},
		"an internal error is no refusal": {ends: []error{unknown, domain.Internal(errBroken), nil}, pause: 300 * time.Millisecond},
		"the storage refuses then":        {ends: []error{unknown, refused}, pause: 100 * time.Millisecond, err: refused},
		"it is never known": {ends: []error{unknown, unknown, unknown, unknown, unknown, unknown}, pause: allPauses,
			err: ports.ErrOutcomeUnknown},
		"the database never comes back": {ends: []error{unknown, errBroken, errBroken, errBroken, errBroken, errBroken},
			pause: allPauses, err: errBroken},
		"a failure before any commit is returned": {ends: []error{errBroken}, err: errBroken},
		"a refusal is returned":                   {ends: []error{refused}, err: refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, a := newScene(t), &tries{t: t, ends: c.ends}
				s.isFirst()
				if c.found != nil {
					s.holds(recordOf(c.found.ClaimID, 1))
				}
				start := time.Now()
				got, err := s.gate.Once(t.Context(), keyed, a.prepare)
				if c.err == nil {
					wantAnswer(t, got, err, false)
				} else if !errors.Is(err, c.err) || got.Answer.Status != 0 {
					t.Errorf("got %+v, %v; want %v", got, err, c.err)
				}
				if len(a.records) != len(c.ends) || time.Since(start) != c.pause {
					t.Errorf("%d tries in %s, want %d in %s", len(a.records), time.Since(start), len(c.ends), c.pause)
				}
				for _, r := range a.records {
					if r.ClaimID != a.records[0].ClaimID || !r.CreatedAt.Equal(a.records[0].CreatedAt) {
						t.Errorf("a repeated try has another record: %+v", r)
					}
				}
			})
		})
	}
}

func TestTheDeadlineOfItsCallerEndsAnAttemptAndABudgetOfItsOwnDoesWithoutOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ patience, want time.Duration }{
		"the caller's deadline":     {8 * time.Second, 8 * time.Second},
		"a deadline behind its own": {time.Hour, 15 * time.Second},
		"no deadline":               {0, 15 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, attempts := newScene(t), 0
			s.isFirst()
			ctx := t.Context()
			if c.patience > 0 {
				limited, cancel := context.WithTimeout(ctx, c.patience)
				defer cancel()
				ctx = limited
			}
			start := time.Now()
			_, err := s.gate.Once(ctx, keyed, func(context.Context) (idempotency.Attempt, error) {
				return func(ctx context.Context, _ domain.KeyRecord) (domain.Answer, error) {
					attempts++
					select {
					case <-ctx.Done():
						return domain.Answer{}, ctx.Err()
					case <-time.After(5 * time.Second):
						return domain.Answer{}, ports.ErrOutcomeUnknown
					}
				}, nil
			})
			if !errors.Is(err, context.DeadlineExceeded) || attempts < 2 || time.Since(start) != c.want {
				t.Errorf("%s: %v after %d tries in %s, want that to end it after %s", name, err, attempts, time.Since(start), c.want)
			}
		})
	}
}

type traceID struct{}

func TestACallerThatHangsUpAfterPrepareStopsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a := newScene(t), &tries{t: t, ends: []error{ports.ErrOutcomeUnknown, nil}}
		s.isFirst()
		ctx, hangUp := context.WithCancel(context.WithValue(t.Context(), traceID{}, "trace-1"))
		defer hangUp()
		got, err := s.gate.Once(ctx, keyed, func(context.Context) (idempotency.Attempt, error) {
			return func(ctx context.Context, r domain.KeyRecord) (domain.Answer, error) {
				hangUp()
				if ctx.Err() != nil || ctx.Value(traceID{}) != "trace-1" {
					t.Errorf("the attempt's context: %v, trace %v", ctx.Err(), ctx.Value(traceID{}))
				}
				return a.attempt(ctx, r)
			}, nil
		})
		wantAnswer(t, got, err, false)
	})
}

func TestACallerThatHangsUpBeforeTheAttemptStopsIt(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"with a key": keyed.Key, "without a key": ""} {
		for moment, early := range map[string]bool{"before": true, "while preparing": false} {
			t.Run(name+" "+moment, func(t *testing.T) {
				t.Parallel()
				s, a := newScene(t), &tries{t: t}
				if key != "" {
					s.isFirst()
				}
				ctx, hangUp := context.WithCancel(t.Context())
				defer hangUp()
				if early {
					hangUp()
				}
				_, err := s.gate.Once(ctx, idempotency.Request{Tenant: tenant, Key: key}, func(context.Context) (idempotency.Attempt, error) {
					hangUp() // prepare does not notice
					return a.attempt, nil
				})
				if !errors.Is(err, context.Canceled) || len(a.records) != 0 {
					t.Errorf("%v after %d tries", err, len(a.records))
				}
			})
		}
	}
}
