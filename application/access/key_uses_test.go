package access

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

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func keyOf(n int) domain.ID {
	digest := digestOf(n)
	return domain.MakeID(domain.PrefixAPIKey, [16]byte(digest[:]))
}

func TestUsesTakeBoundedMemory(t *testing.T) {
	t.Parallel()
	u := newKeyUses(nil)
	for n := range maxUses + 10 {
		u.note(keyOf(n), noon)
	}
	u.note(keyOf(0), noon.Add(time.Second)) // the ones that are kept go on
	if at := u.latest[keyOf(0)]; len(u.latest) != maxUses || !at.Equal(noon.Add(time.Second)) {
		t.Errorf("%d uses are kept, the first of %v", len(u.latest), at)
	}
}

func TestUsesAreWrittenInBatchesAndOnlyWhatIsLeftAgain(t *testing.T) {
	t.Parallel()
	const keys, good = 2*usesBatch + 500, 1 // transactions before the one that fails
	ctrl := gomock.NewController(t)
	storage, store := mocks.NewMockStorage(ctrl), mocks.NewMockTenancyStore(ctrl)
	errBroken, begun := errors.New("gone"), 0
	storage.EXPECT().InTx(gomock.Any(), gomock.Any()).DoAndReturn(
		func(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
			if begun++; begun == good+1 {
				return errBroken
			}
			return fn(ctx, ports.Stores{Tenancy: store})
		}).AnyTimes()
	written := map[domain.ID]int{}
	store.EXPECT().TouchAPIKeys(gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context, uses []ports.KeyUse) error {
		if len(uses) > usesBatch {
			t.Errorf("%d keys in one transaction", len(uses))
		}
		for _, use := range uses {
			written[use.ID]++
		}
		return nil
	}).AnyTimes()

	a := &Admission{uses: newKeyUses(storage)}
	for n := range keys {
		a.uses.note(keyOf(n), noon)
	}
	if err := a.RecordUses(t.Context()); !errors.Is(err, errBroken) || len(written) != good*usesBatch {
		t.Errorf("%v after %d keys", err, len(written))
	}
	if err := a.RecordUses(t.Context()); err != nil || len(written) != keys || begun != 4 {
		t.Errorf("%v after %d keys in %d transactions", err, len(written), begun)
	}
	for id, times := range written {
		if times != 1 {
			t.Fatalf("%s was written %d times", id, times)
		}
	}
}

func TestAKeyThatAnotherTransactionHoldsKeepsNoOtherUseFromBeingWritten(t *testing.T) {
	t.Parallel()
	const keys, held = 100, 37
	ctrl := gomock.NewController(t)
	storage, store := mocks.NewMockStorage(ctrl), mocks.NewMockTenancyStore(ctrl)
	isHeld, written := true, map[domain.ID]bool{}
	storage.EXPECT().InTx(gomock.Any(), gomock.Any()).DoAndReturn(
		func(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
			return fn(ctx, ports.Stores{Tenancy: store})
		}).AnyTimes()
	store.EXPECT().TouchAPIKeys(gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context, uses []ports.KeyUse) error {
		for _, use := range uses {
			if isHeld && use.ID == keyOf(held) {
				return domain.Busy(errors.New("held"))
			}
		}
		for _, use := range uses {
			written[use.ID] = true
		}
		return nil
	}).AnyTimes()
	a := &Admission{uses: newKeyUses(storage)}
	for n := range keys {
		a.uses.note(keyOf(n), noon)
	}
	if err := a.RecordUses(t.Context()); !domain.HasCode(err, domain.CodeServiceUnavailable) {
		t.Errorf("told %v, want that a key is held", err)
	}
	if len(written) != keys-1 {
		t.Errorf("%d uses were written, want all but that of the key which is held", len(written))
	}
	isHeld = false
	if err := a.RecordUses(t.Context()); err != nil || len(written) != keys {
		t.Errorf("%v, and %d uses are written in the end", err, len(written))
	}
}
