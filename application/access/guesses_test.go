package access_test

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

	"waybill/application/access"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

const guesses = 100_000

// table holds the keys that are put into it, and counts look-ups of one key and
// of many.
type table struct {
	ports.TenancyReader
	takes      time.Duration
	asked      atomic.Int64
	askedMany  atomic.Int64
	underWay   atomic.Int64
	mostAtOnce atomic.Int64
	keys       sync.Map // secret by digest
}

func (t *table) put(secret string) { t.keys.Store(stage.Digester{}.Digest(secret), secret) }

func (t *table) Credential(_ context.Context, digests ...[32]byte) (domain.Credential, error) {
	t.asked.Add(1)
	time.Sleep(t.takes)
	secret, ok := t.keys.Load(digests[0])
	if !ok {
		return domain.Credential{}, domain.ErrNotFound
	}
	return credential(secret.(string), nil), nil
}

func (t *table) Known(_ context.Context, digests [][32]byte) (known [][32]byte, _ error) {
	t.askedMany.Add(1)
	t.mostAtOnce.Store(max(t.mostAtOnce.Load(), t.underWay.Add(1)))
	defer t.underWay.Add(-1)
	time.Sleep(t.takes)
	for _, digest := range digests {
		if _, ok := t.keys.Load(digest); ok {
			known = append(known, digest)
		}
	}
	return known, nil
}

func newGuessing(t *testing.T) (*gate, *table) {
	table := &table{}
	storage := mocks.NewMockStorage(gomock.NewController(t))
	storage.EXPECT().Read().Return(ports.Readers{Tenancy: table}).AnyTimes()
	g := &gate{limiter: &counter{taken: map[string]int{}}, clock: &stage.Clock{}}
	g.Admission = access.NewAdmission(storage, g.limiter, stage.Digester{}, g.clock, limits)
	return g, table
}

// keyOf is an unknown key with a valid checksum.
func keyOf(n int) string {
	var random [32]byte
	for i, drawn := 0, rand.NewPCG(uint64(n), 3); i < len(random); i += 8 {
		binary.BigEndian.PutUint64(random[i:], drawn.Uint64())
	}
	return domain.MakeAPIKey(domain.Live, random)
}

func (g *gate) guess(t *testing.T, n int) {
	_, err := g.credentials(t, keyOf(n))
	if !domain.HasCode(err, "INVALID_API_KEY") && !domain.HasCode(err, "RATE_LIMIT_EXCEEDED") {
		t.Errorf("guess %d: %v", n, err)
	}
}

func TestGuessesAtOneMomentCostNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, table := newGuessing(t)
		table.takes = 5 * time.Millisecond
		const at = 200 // at once
		begun := time.Now()
		var all sync.WaitGroup
		for i := range at {
			all.Go(func() {
				for n := i; n < guesses/10; n += at {
					g.guess(t, n)
				}
			})
		}
		all.Wait()
		if n := table.asked.Load(); n != int64(limits.PerAddress.Limit) {
			t.Errorf("%d look-ups, want %d", n, limits.PerAddress.Limit)
		}
		if n, took := table.askedMany.Load(), time.Since(begun); n > int64(took/(100*time.Millisecond))+2 || table.mostAtOnce.Load() != 1 {
			t.Errorf("%d questions for many in %v, %d at once", n, took, table.mostAtOnce.Load())
		}
	})
}

// Whatever others do behind the same address: a key that exists is let in, also one
// that this process has never seen.
func TestEveryValidKeyGetsInWhileAHundredGuessFromItsAddress(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			g, table := newGuessing(t)
			table.takes = time.Duration(random.IntN(30)) * time.Millisecond
			g.lockOut()
			ctx, stop := context.WithCancel(t.Context())
			var guessing, knocking sync.WaitGroup
			var next atomic.Int64
			for range 100 {
				guessing.Go(func() {
					for ctx.Err() == nil {
						g.guess(t, int(next.Add(1)))
						time.Sleep(time.Millisecond)
					}
				})
			}
			for n := range 200 {
				secret := keyOf(1_000_000 + n)
				table.put(secret)
				time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond)
				knocking.Go(func() {
					begun := time.Now()
					if _, err := g.credentials(t, secret); err != nil || time.Since(begun) > time.Second {
						t.Errorf("key %d: %v after %v", n, err, time.Since(begun))
					}
				})
			}
			knocking.Wait()
			stop()
			guessing.Wait()
			if n := table.asked.Load(); n != 200 {
				t.Errorf("%d look-ups of one key, want those of the keys that exist", n)
			}
		})
	}
}
