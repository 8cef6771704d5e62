package access_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/access"
	"waybill/domain"
)

func TestANewKeyIsLookedUpOnceForManyRequestsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		g.store.EXPECT().Credential(gomock.Any(), gomock.Any()).DoAndReturn(func(context.Context, ...[32]byte) (domain.Credential, error) {
			time.Sleep(100 * time.Millisecond)
			return credential(liveKey, nil), nil
		})
		var all sync.WaitGroup
		for range 3 * limits.PerAddress.Limit { // more than the address may fail
			all.Go(func() {
				if _, err := g.credentials(t, liveKey); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if g.failures() != 0 {
			t.Errorf("the address has %d failures", g.failures())
		}
	})
}

func TestKeysThatAreNewDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		g.store.EXPECT().Credential(gomock.Any(), gomock.Any()).DoAndReturn(func(context.Context, ...[32]byte) (domain.Credential, error) {
			time.Sleep(100 * time.Millisecond)
			return credential(liveKey, nil), nil
		}).Times(10)
		begun := time.Now()
		var all sync.WaitGroup
		for n := range byte(10) {
			all.Go(func() {
				if _, err := g.credentials(t, domain.MakeAPIKey(domain.Live, [32]byte{n, 9})); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(begun); took != 100*time.Millisecond {
			t.Errorf("it took %s", took)
		}
	})
}

// Where the storage hangs, the callers that wait for one look-up must not wait
// for several in turn.
func TestAWaitForALookUpEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		g.store.EXPECT().Credential(gomock.Any(), gomock.Any()).DoAndReturn(func(context.Context, ...[32]byte) (domain.Credential, error) {
			time.Sleep(5 * time.Second)
			return domain.Credential{}, errBroken
		})
		var all sync.WaitGroup
		var failed atomic.Int64
		for range 100 {
			all.Go(func() {
				begun := time.Now()
				_, err := g.credentials(t, liveKey)
				waited := !errors.Is(err, errBroken) // the caller that looks it up
				if err == nil || waited != domain.HasCode(err, "SERVICE_UNAVAILABLE") || time.Since(begun) > 5*time.Second {
					t.Errorf("%v after %s", err, time.Since(begun))
				}
				failed.Add(1)
			})
		}
		time.Sleep(2*time.Second + time.Millisecond)
		if failed.Load() != 99 {
			t.Errorf("after two seconds %d of those who wait were answered, want all", failed.Load())
		}
		all.Wait()
		if g.failures() != 0 {
			t.Errorf("the address is charged %d failures of ours", g.failures())
		}
		g.knows(liveKey, 1, nil)
		if _, err := g.credentials(t, liveKey); err != nil {
			t.Errorf("when the storage is back: %v", err)
		}
	})
}

func TestAClientThatLeavesDuringALookUpIsNotCharged(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	ctx, leave := context.WithCancel(t.Context())
	g.store.EXPECT().Credential(gomock.Any(), gomock.Any()).DoAndReturn(func(ctx context.Context, _ ...[32]byte) (domain.Credential, error) {
		leave()
		return domain.Credential{}, ctx.Err()
	})
	if _, err := g.Admit(ctx, access.Credentials{Environment: domain.Live, Address: address, Key: liveKey}); err == nil ||
		domain.HasCode(err, "INVALID_API_KEY") {
		t.Errorf("got %v", err)
	}
	if g.failures() != 0 {
		t.Errorf("%d failures", g.failures())
	}
}
