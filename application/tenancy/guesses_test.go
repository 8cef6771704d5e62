package tenancy_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/tenancy"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

const guesses = 100_000

func TestAKeyWithAWrongChecksumNeverReachesTheStorage(t *testing.T) {
	t.Parallel()
	g := newGate(t) // no call of the storage is expected
	random := rand.New(rand.NewPCG(1, 2))
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for range guesses {
		guess := []byte("svc_live_key_")
		for range 38 {
			guess = append(guess, letters[random.IntN(len(letters))])
		}
		clear(g.limiter.taken) // the address alone would be refused soon
		_, err := g.knock(t, string(guess))
		wantCode(t, err, domain.KindUnauthenticated, "INVALID_API_KEY")
	}
}

// unknown is a table without keys, which counts who asks.
type unknown struct {
	ports.TenancyReader
	takes time.Duration
	asked atomic.Int64
}

func (u *unknown) Credential(context.Context, ...[32]byte) (domain.Credential, error) {
	u.asked.Add(1)
	time.Sleep(u.takes)
	return domain.Credential{}, domain.ErrNotFound
}

func newGuessing(t *testing.T) (*gate, *unknown) {
	table := &unknown{}
	storage := mocks.NewMockStorage(gomock.NewController(t))
	storage.EXPECT().Read().Return(ports.Readers{Tenancy: table}).AnyTimes()
	g := &gate{limiter: &counter{taken: map[string]int{}}, clock: &stage.Clock{}}
	g.Admission = tenancy.NewAdmission(storage, g.limiter, digester{}, g.clock, limits)
	return g, table
}

func (g *gate) guess(t *testing.T, n int) {
	var random [32]byte
	for i, drawn := 0, rand.NewPCG(uint64(n), 3); i < len(random); i += 8 {
		binary.BigEndian.PutUint64(random[i:], drawn.Uint64())
	}
	_, err := g.knock(t, domain.MakeAPIKey(domain.Live, random))
	if !domain.HasCode(err, "INVALID_API_KEY") && !domain.HasCode(err, "RATE_LIMIT_EXCEEDED") {
		t.Errorf("guess %d: %v", n, err)
	}
}

func TestGuessesOfOneAddressReachTheStorageSixtyTimesAMinute(t *testing.T) {
	t.Parallel()
	g, table := newGuessing(t)
	const minutes = 5
	for minute := range minutes {
		clear(g.limiter.taken) // as its window ends
		for n := range guesses / minutes {
			g.guess(t, minute*guesses+n)
			g.clock.GoOn(minutes * time.Minute / guesses)
		}
		if n, want := table.asked.Load(), int64((minute+1)*limits.PerAddress.Limit); n != want {
			t.Errorf("%d look-ups by minute %d, want %d", n, minute+1, want)
		}
	}
}

func TestGuessesAtOneMomentReachTheStorageSixtyTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, table := newGuessing(t)
		table.takes = 5 * time.Millisecond
		const at = 200 // at once
		var all sync.WaitGroup
		for i := range at {
			all.Go(func() {
				for n := i; n < guesses; n += at {
					g.guess(t, n)
				}
			})
		}
		all.Wait()
		if n := table.asked.Load(); n != int64(limits.PerAddress.Limit) {
			t.Errorf("%d look-ups, want %d", n, limits.PerAddress.Limit)
		}
	})
}
