package idempotency_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
)

const (
	claim     = "0123456789abcdef0123456789abcdef"
	stranger  = "ffffffffffffffffffffffffffffffff"
	retention = 24 * time.Hour
)

var (
	noon   = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	tenant = domain.Tenant{BusinessID: "biz_1", ApplicationID: "app_1", Environment: domain.Live}
	keyed  = idempotency.Request{Tenant: tenant, Key: "order-0001", Fingerprint: [32]byte{1}}
	made   = domain.Answer{Status: 201, Location: "/v1/things/1", Body: []byte(`{"thing": 1}`)}

	errBroken = errors.New("the disk is on fire")
)

// scene is a gate in front of mocks: what it may touch has to be expected.
type scene struct {
	gate     *idempotency.Gate
	storage  *mocks.MockStorage
	records  *mocks.MockIdempotencyReader
	locks    *mocks.MockLocks
	released int
}

func newScene(t *testing.T) *scene {
	ctrl := gomock.NewController(t)
	s := &scene{
		storage: mocks.NewMockStorage(ctrl), records: mocks.NewMockIdempotencyReader(ctrl), locks: mocks.NewMockLocks(ctrl),
	}
	clock, ids := mocks.NewMockClock(ctrl), mocks.NewMockIdentifiers(ctrl)
	clock.EXPECT().Now().Return(noon).AnyTimes()
	ids.EXPECT().ID(domain.Prefix("")).Return(domain.ID(claim)).MaxTimes(1) // one claim, however many tries
	s.storage.EXPECT().Read().Return(ports.Readers{Idempotency: s.records}).AnyTimes()
	s.gate = idempotency.NewGate(s.storage, s.locks, clock, ids, slog.New(slog.DiscardHandler), idempotency.Retention(retention))
	return s
}

func (s *scene) holds(record domain.KeyRecord) *gomock.Call {
	return s.records.EXPECT().Find(gomock.Any(), tenant, keyed.Key).Return(record, nil)
}

func (s *scene) holdsNothing() *gomock.Call {
	return s.records.EXPECT().Find(gomock.Any(), tenant, keyed.Key).Return(domain.KeyRecord{}, domain.ErrNotFound)
}

// isFirst lets the key through to its one prepare.
func (s *scene) isFirst() *gomock.Call {
	lock := s.locks.EXPECT().TryLock(gomock.Any(), gomock.Any()).Return(func() { s.released++ }, true)
	return lock.After(s.holdsNothing())
}

func recordOf(claimID string, fingerprint byte) domain.KeyRecord {
	return domain.KeyRecord{
		Key: keyed.Key, Fingerprint: [32]byte{fingerprint}, ClaimID: claimID, Answer: made, CreatedAt: noon.Add(-time.Hour),
	}
}

// tries is an attempt that ends in the given ways, one after the other.
type tries struct {
	t       *testing.T
	ends    []error
	records []domain.KeyRecord
	ctx     context.Context
}

func (a *tries) attempt(ctx context.Context, r domain.KeyRecord) (domain.Answer, error) {
	a.ctx, a.records = ctx, append(a.records, r)
	if len(a.records) > len(a.ends) {
		a.t.Fatalf("try %d, want at most %d", len(a.records), len(a.ends))
	}
	if err := a.ends[len(a.records)-1]; err != nil {
		return domain.Answer{Status: 201, Body: []byte("never to be seen")}, err
	}
	return made, nil
}

func (a *tries) prepare(context.Context) (idempotency.Attempt, error) { return a.attempt, nil }

func neverPrepared(t *testing.T) func(context.Context) (idempotency.Attempt, error) {
	return func(context.Context) (idempotency.Attempt, error) {
		t.Error("prepared")
		return nil, errBroken
	}
}

func wantAnswer(t *testing.T, got idempotency.Result, err error, replayed bool) {
	t.Helper()
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	a := got.Answer
	if a.Status != made.Status || a.Location != made.Location || string(a.Body) != string(made.Body) || got.Replayed != replayed {
		t.Errorf("answer %d %s %s, replayed %t; want %+v, replayed %t", a.Status, a.Location, a.Body, got.Replayed, made, replayed)
	}
}

func wantRefusal(t *testing.T, got idempotency.Result, err error, code string) *domain.Error {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	if got.Answer.Status != 0 || got.Answer.Body != nil || got.Replayed {
		t.Errorf("a refusal came with %+v", got)
	}
	return e
}

func TestAKeyThatWasUsedIsReplayedWithoutAnyWork(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.holds(recordOf(stranger, 1))
	got, err := s.gate.Once(t.Context(), keyed, neverPrepared(t))
	wantAnswer(t, got, err, true)
}

func TestAKeyThatWasUsedForAnotherRequestIsAConflict(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.holds(recordOf(stranger, 2))
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

func TestABusyKeyIsToldToWait(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.holdsNothing()
	s.locks.EXPECT().TryLock(gomock.Any(), "idempotency/app_1/live/order-0001").Return(nil, false)
	got, err := s.gate.Once(t.Context(), keyed, neverPrepared(t))
	if e := wantRefusal(t, got, err, "IDEMPOTENCY_IN_PROGRESS"); e.RetryAfter != time.Second {
		t.Errorf("retry after %s", e.RetryAfter)
	}
}

func TestTheLockIsGivenBackHoweverARequestEnds(t *testing.T) {
	t.Parallel()
	succeeds := &tries{t: t, ends: []error{nil}}
	fails := &tries{t: t, ends: []error{errBroken}}
	for name, prepare := range map[string]func(context.Context) (idempotency.Attempt, error){
		"done":                   succeeds.prepare,
		"not prepared":           func(context.Context) (idempotency.Attempt, error) { return nil, errBroken },
		"not carried":            fails.prepare,
		"a panic in prepare":     func(context.Context) (idempotency.Attempt, error) { panic("oops") },
		"a panic in the attempt": func(context.Context) (idempotency.Attempt, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.isFirst()
			func() {
				defer func() { _ = recover() }()
				_, _ = s.gate.Once(t.Context(), keyed, prepare)
			}()
			if s.released != 1 {
				t.Errorf("released %d times", s.released)
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

func TestAConflictIsNotToldBeforeTheKeyWasLookedUpAgain(t *testing.T) {
	t.Parallel()
	conflict := &domain.Error{Kind: domain.KindConflict, Code: domain.CodeExternalIDConflict}
	refuse := func(err error) func(context.Context) (idempotency.Attempt, error) {
		return func(context.Context) (idempotency.Attempt, error) { return nil, err }
	}
	t.Run("its own first try committed meanwhile", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.holds(recordOf(stranger, 1)).After(s.isFirst())
		got, err := s.gate.Once(t.Context(), keyed, refuse(conflict))
		wantAnswer(t, got, err, true)
	})
	t.Run("another request took the key meanwhile", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.holds(recordOf(stranger, 2)).After(s.isFirst())
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
	for name, other := range map[string]error{
		"a refusal of another kind": &domain.Error{Kind: domain.KindInvalid, Code: domain.CodeValidation},
		"a failure":                 errBroken,
	} {
		t.Run(name+" is told at once", func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.isFirst()
			if _, err := s.gate.Once(t.Context(), keyed, refuse(other)); !errors.Is(err, other) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWhoLosesTheRaceGetsWhatTheWinnerStored(t *testing.T) {
	t.Parallel()
	lose := func(t *testing.T, found func(*scene)) (idempotency.Result, error) {
		s, a := newScene(t), &tries{t: t, ends: []error{ports.ErrKeyTaken}}
		gomock.InOrder(s.isFirst())
		found(s)
		return s.gate.Once(t.Context(), keyed, a.prepare)
	}
	t.Run("the winner sent the same request", func(t *testing.T) {
		t.Parallel()
		got, err := lose(t, func(s *scene) { s.holds(recordOf(stranger, 1)) })
		wantAnswer(t, got, err, true)
	})
	t.Run("the winner sent another request", func(t *testing.T) {
		t.Parallel()
		got, err := lose(t, func(s *scene) { s.holds(recordOf(stranger, 2)) })
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

func TestAnUnknownOutcomeIsAskedForAgain(t *testing.T) {
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
		"it had not been committed":                {ends: []error{unknown, nil}, pause: 100 * time.Millisecond},
		"it had been committed":                    {ends: []error{unknown, ports.ErrKeyTaken}, found: &domain.KeyRecord{ClaimID: claim}, pause: 100 * time.Millisecond},
		"it stays unknown for a while":             {ends: []error{unknown, unknown, unknown, nil}, pause: 700 * time.Millisecond},
		"the database is not back yet":             {ends: []error{unknown, errBroken, errBroken, nil}, pause: 700 * time.Millisecond},
		"an internal error is no refusal":          {ends: []error{unknown, domain.Internal(errBroken), nil}, pause: 300 * time.Millisecond},
		"the storage refuses then":                 {ends: []error{unknown, refused}, pause: 100 * time.Millisecond, err: refused},
		"it is never known":                        {ends: []error{unknown, unknown, unknown, unknown, unknown, unknown}, pause: allPauses, err: ports.ErrOutcomeUnknown},
		"the database never comes back":            {ends: []error{unknown, errBroken, errBroken, errBroken, errBroken, errBroken}, pause: allPauses, err: errBroken},
		"a failure before any commit is just told": {ends: []error{errBroken}, err: errBroken},
		"a refusal is just told":                   {ends: []error{refused}, err: refused},
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

func TestAnAttemptHasABudgetOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, attempts := newScene(t), 0
		s.isFirst()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // the caller's patience
		defer cancel()
		start := time.Now()
		_, err := s.gate.Once(ctx, keyed, func(context.Context) (idempotency.Attempt, error) {
			return func(ctx context.Context, _ domain.KeyRecord) (domain.Answer, error) {
				attempts++
				select {
				case <-ctx.Done():
					return domain.Answer{}, ctx.Err()
				case <-time.After(10 * time.Second):
					return domain.Answer{}, ports.ErrOutcomeUnknown
				}
			}, nil
		})
		if !errors.Is(err, context.DeadlineExceeded) || attempts != 2 || time.Since(start) != 15*time.Second {
			t.Errorf("%v after %d tries in %s, want the budget of 15 s to end the second", err, attempts, time.Since(start))
		}
	})
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
					hangUp() // and prepare does not notice
					return a.attempt, nil
				})
				if !errors.Is(err, context.Canceled) || len(a.records) != 0 {
					t.Errorf("%v after %d tries", err, len(a.records))
				}
			})
		}
	}
}

func TestOneTransactionClaimsTheKeyFirstAndCompletesItLast(t *testing.T) {
	t.Parallel()
	record := domain.KeyRecord{Key: keyed.Key, ClaimID: claim}
	type world struct {
		*scene
		keys *mocks.MockIdempotencyStore
		ran  int
	}
	// run lets the storage repeat the function as it does after a deadlock.
	run := func(t *testing.T, r domain.KeyRecord, expect func(*world), end error, repeats int) (domain.Answer, *world, error) {
		w := &world{scene: newScene(t)}
		w.keys = mocks.NewMockIdempotencyStore(gomock.NewController(t))
		w.storage.EXPECT().InTx(gomock.Any(), gomock.Any()).DoAndReturn(
			func(ctx context.Context, fn func(context.Context, ports.Stores) error) (err error) {
				for range repeats {
					err = fn(ctx, ports.Stores{Idempotency: w.keys})
				}
				return err
			})
		expect(w)
		answer, err := w.gate.InTx(t.Context(), tenant, r, func(context.Context, ports.Stores) (domain.Answer, error) {
			w.ran++
			return made, end
		})
		return answer, w, err
	}
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		answer, w, err := run(t, record, func(w *world) {
			gomock.InOrder(
				w.keys.EXPECT().Claim(gomock.Any(), tenant, record, retention).DoAndReturn(
					func(context.Context, domain.Tenant, domain.KeyRecord, time.Duration) error {
						if w.ran != 0 {
							t.Error("claimed behind the effect")
						}
						return nil
					}),
				w.keys.EXPECT().Complete(gomock.Any(), tenant, keyed.Key, made).DoAndReturn(
					func(context.Context, domain.Tenant, string, domain.Answer) error {
						if w.ran != 1 {
							t.Error("completed before the effect")
						}
						return nil
					}),
			)
		}, nil, 1)
		if err != nil || string(answer.Body) != string(made.Body) || w.ran != 1 {
			t.Errorf("%+v, %v, ran %d times", answer, err, w.ran)
		}
	})
	t.Run("again after a deadlock", func(t *testing.T) {
		t.Parallel()
		_, w, err := run(t, record, func(w *world) {
			w.keys.EXPECT().Claim(gomock.Any(), tenant, record, retention).Return(nil).Times(2)
			w.keys.EXPECT().Complete(gomock.Any(), tenant, keyed.Key, made).Return(nil).Times(2)
		}, nil, 2)
		if err != nil || w.ran != 2 {
			t.Errorf("%v, ran %d times", err, w.ran)
		}
	})
	t.Run("a taken key has no effect", func(t *testing.T) {
		t.Parallel()
		_, w, err := run(t, record, func(w *world) {
			w.keys.EXPECT().Claim(gomock.Any(), tenant, record, retention).Return(ports.ErrKeyTaken)
		}, nil, 1)
		if !errors.Is(err, ports.ErrKeyTaken) || w.ran != 0 {
			t.Errorf("%v, ran %d times", err, w.ran)
		}
	})
	t.Run("a refusal is not stored", func(t *testing.T) {
		t.Parallel()
		_, _, err := run(t, record, func(w *world) {
			w.keys.EXPECT().Claim(gomock.Any(), tenant, record, retention).Return(nil)
		}, errBroken, 1)
		if !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an answer that cannot be stored is none", func(t *testing.T) {
		t.Parallel()
		_, _, err := run(t, record, func(w *world) {
			w.keys.EXPECT().Claim(gomock.Any(), tenant, record, retention).Return(nil)
			w.keys.EXPECT().Complete(gomock.Any(), tenant, keyed.Key, made).Return(errBroken)
		}, nil, 1)
		if !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("without a key", func(t *testing.T) {
		t.Parallel()
		answer, w, err := run(t, domain.KeyRecord{ClaimID: claim}, func(*world) {}, nil, 1)
		if err != nil || answer.Status != 201 || w.ran != 1 {
			t.Errorf("%+v, %v", answer, err)
		}
	})
}
