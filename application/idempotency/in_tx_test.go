package idempotency_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
)

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
