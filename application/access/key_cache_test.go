package access

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
)

func digestOf(n int) (digest [32]byte) {
	binary.BigEndian.PutUint64(digest[:], uint64(n))
	return digest
}

// onePepper is a digester whose pepper is not being changed.
type onePepper struct{ ports.KeyDigester }

func (onePepper) Previous(string) [][32]byte { return nil }

// newFullCache knows the customers from 1 on; every other key is a guess
// unless it is above a million.
func newFullCache(t *testing.T, customers int) (*keyCache, *time.Time) {
	ctrl := gomock.NewController(t)
	storage, store, clock := mocks.NewMockStorage(ctrl), mocks.NewMockTenancyReader(ctrl), mocks.NewMockClock(ctrl)
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	clock.EXPECT().Now().DoAndReturn(func() time.Time { return now }).AnyTimes()
	storage.EXPECT().Read().Return(ports.Readers{Tenancy: store}).AnyTimes()
	store.EXPECT().Credential(gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context, digests ...[32]byte) (domain.Credential, error) {
		if n := int(binary.BigEndian.Uint64(digests[0][:])); n > customers && n < 1_000_000 {
			return domain.Credential{}, domain.ErrNotFound
		}
		return domain.Credential{}, nil
	}).AnyTimes()
	cache := newKeyCache(storage, onePepper{}, clock)
	for n := 1; n <= customers; n++ {
		cache.remember(digestOf(n), &cachedKey{at: now}, 0) // as find does, without the storage
	}
	return cache, &now
}

func trusted(c *keyCache, from, to int) (n int) {
	for i := from; i <= to; i++ {
		if c.trusts(digestOf(i)) {
			n++
		}
	}
	return n
}

func TestGuessesUseBoundedMemoryAndPushOutNoCustomer(t *testing.T) {
	t.Parallel()
	for _, customers := range []int{1, maxCached - 1, maxCached} {
		cache, _ := newFullCache(t, customers)
		for n := range 20 {
			if _, err := cache.find(t.Context(), "", digestOf(500_000+n)); !domain.HasCode(err, "NOT_FOUND") {
				t.Fatal(err)
			}
			if len(cache.entries) > maxCached {
				t.Fatalf("%d entries", len(cache.entries))
			}
		}
		if n := trusted(cache, 1, customers); n != customers {
			t.Errorf("%d of %d customers are left", n, customers)
		}
	}
}

func TestANewCustomerFindsRoom(t *testing.T) {
	t.Parallel()
	cache, now := newFullCache(t, maxCached)
	if _, err := cache.find(t.Context(), "", digestOf(1_000_001)); err != nil || len(cache.entries) > maxCached ||
		!cache.trusts(digestOf(1_000_001)) {
		t.Errorf("%v, %d entries", err, len(cache.entries))
	}
	if n := trusted(cache, 1, maxCached); n != maxCached-1 {
		t.Errorf("%d customers are left, want all but one", n)
	}
	*now = now.Add(trustedFor)
	if _, err := cache.find(t.Context(), "", digestOf(1_000_002)); err != nil || len(cache.entries) != 1 {
		t.Errorf("%v, %d entries, want the stale ones gone", err, len(cache.entries))
	}
}
