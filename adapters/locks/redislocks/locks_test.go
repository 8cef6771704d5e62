package redislocks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"waybill/ports"
	"waybill/test/conformance/locks"
	"waybill/test/redis"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var silent = slog.New(slog.DiscardHandler)

var unhurried = Options{Timeout: 10 * time.Second}

// patient are locks that wait for a Redis on a busy machine, where a test is not
// about the wait.
func patient(t testing.TB, url string) *Locks {
	return New(redis.Connect(t, url), unhurried, silent)
}

func named() string { return fmt.Sprintf("test %x", rand.Uint64()) }

// keyOf finds the key of a lock, which is the only one of a server of one's own.
func keyOf(t *testing.T, client *goredis.Client) string {
	t.Helper()
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys %q, %v, want one", keys, err)
	}
	return keys[0]
}

func TestConformance(t *testing.T) {
	t.Parallel()
	url := redis.URL(t)
	locks.Examine(t, func(t *testing.T) (one, other ports.Locks) {
		return patient(t, url), patient(t, url)
	})
}

func TestALockIsAShortKeyThatEndsAfterTenSeconds(t *testing.T) {
	t.Parallel()
	url := redis.Own(t).URL
	client, l := redis.Connect(t, url), patient(t, url)
	secret := "chosen-by-a-client-" + strings.Repeat("x", 5000)
	release, ok := l.TryLock(t.Context(), secret)
	if !ok {
		t.Fatal("a free lock was refused")
	}
	key := keyOf(t, client)
	if !strings.HasPrefix(key, "waybill:lock:") || len(key) > 64 || strings.Contains(key, "chosen") {
		t.Errorf("the key is %q", key)
	}
	if left := client.PTTL(t.Context(), key).Val(); left > 10*time.Second || left < 9*time.Second {
		t.Errorf("it ends in %v, want 10s", left)
	}
	release()
	if n := client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

func TestALateReleaseDoesNotFreeTheNextHoldersLock(t *testing.T) {
	t.Parallel()
	url := redis.Own(t).URL
	client, l := redis.Connect(t, url), patient(t, url)
	late, _ := l.TryLock(t.Context(), "a")
	client.Del(t.Context(), keyOf(t, client)) // as if it had ended
	if _, ok := l.TryLock(t.Context(), "a"); !ok {
		t.Fatal("the ended lock was refused")
	}
	late()
	if _, ok := l.TryLock(t.Context(), "a"); ok {
		t.Error("the late release freed the next holder's lock")
	}
}

func TestALockIsReleasedThoughItsRequestIsOver(t *testing.T) {
	t.Parallel()
	l := patient(t, redis.URL(t))
	name := named()
	ctx, cancel := context.WithCancel(t.Context())
	release, _ := l.TryLock(ctx, name)
	cancel()
	release()
	if _, ok := l.TryLock(t.Context(), name); !ok {
		t.Error("the lock is still held")
	}
}

// Nothing of Redis may stop or hold up a request.
func TestARedisThatIsPausedGoneOrBackRefusesNoLock(t *testing.T) {
	t.Parallel()
	const slack = time.Second // what a loaded machine may add
	server := redis.Own(t)
	var logged bytes.Buffer
	l := New(redis.Connect(t, server.URL), Options{}, slog.New(slog.NewTextHandler(&logged, nil)))
	lock := func(within time.Duration) {
		t.Helper()
		began := time.Now()
		release, ok := l.TryLock(t.Context(), named())
		if !ok {
			t.Error("a free lock was refused")
		}
		release()
		if took := time.Since(began); took > within {
			t.Errorf("locked and released in %v, want at most %v", took, within)
		}
	}
	lines := func() int { return strings.Count(logged.String(), "\n") }
	returns := func() {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); lines()%2 == 1; time.Sleep(20 * time.Millisecond) {
			lock(2*timeout + slack)
			if time.Now().After(deadline) {
				t.Fatalf("Redis is back and not asked; logged %q", logged.String())
			}
		}
	}

	lock(2*timeout + slack)
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	for range 3 { // five failures: a lock is two calls
		lock(2*timeout + slack)
	}
	for range 100 {
		lock(timeout)
	}
	if lines() != 1 || !strings.Contains(logged.String(), "level=WARN") {
		t.Errorf("logged %q", logged.String())
	}
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	returns()

	server.Kill()
	for range 100 {
		lock(2*timeout + slack)
	}
	if lines() != 3 {
		t.Errorf("logged %q", logged.String())
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	returns()
	name := named()
	if _, ok := l.TryLock(t.Context(), name); !ok {
		t.Error("a free lock was refused")
	}
	if _, ok := l.TryLock(t.Context(), name); ok {
		t.Error("a held lock was given away though Redis is back")
	}
}

// moody fails what it is told to.
type moody struct {
	Client
	locks  atomic.Bool  // fail all
	frees  atomic.Int32 // fail so many
	fault  error
	failed atomic.Int32
}

func (m *moody) SetNX(ctx context.Context, key string, value any, expiry time.Duration) *goredis.BoolCmd {
	if m.locks.Load() {
		cmd := goredis.NewBoolCmd(ctx)
		cmd.SetErr(m.fault)
		return cmd
	}
	return m.Client.SetNX(ctx, key, value, expiry)
}

func (m *moody) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *goredis.Cmd {
	if m.frees.Add(-1) >= 0 {
		m.failed.Add(1)
		cmd := goredis.NewCmd(ctx)
		cmd.SetErr(m.fault)
		return cmd
	}
	return m.Client.EvalSha(ctx, sha1, keys, args...)
}

// breakerFailures open the breaker.
const breakerFailures = 5

func TestALockThatIsHeldForSureIsFreedThroughAnOpenBreakerAndADeadConnection(t *testing.T) {
	t.Parallel()
	url := redis.URL(t)
	m := &moody{Client: redis.Connect(t, url), fault: errors.New("the connection broke")}
	l, other := New(m, unhurried, silent), patient(t, url)
	name := named()
	release, ok := l.TryLock(t.Context(), name)
	if !ok {
		t.Fatal("a free lock was refused")
	}
	m.locks.Store(true)
	for range breakerFailures {
		l.TryLock(t.Context(), named())
	}
	m.locks.Store(false)
	m.frees.Store(1)
	release()
	if _, ok := other.TryLock(t.Context(), name); !ok || m.failed.Load() != 1 {
		t.Errorf("free: %v, after %d failures, want it free after one", ok, m.failed.Load())
	}
}

func TestAFailureThatAnotherCallTellsOfDoesNotOpenTheBreaker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  error
		opened bool
	}{
		"told twice": {besideError{}, false},
		"of its own": {errors.New("the connection broke"), true},
	} {
		t.Run(name, func(t *testing.T) {
			m := &moody{Client: redis.Connect(t, redis.URL(t)), fault: c.fault}
			l := New(m, unhurried, silent)
			m.locks.Store(true)
			for range 4 * breakerFailures {
				l.TryLock(t.Context(), named())
			}
			m.locks.Store(false)
			held := named()
			l.TryLock(t.Context(), held)
			if _, again := l.TryLock(t.Context(), held); again != c.opened {
				t.Errorf("a held lock was given away: %v, want %v", again, c.opened)
			}
		})
	}
}

type besideError struct{}

func (besideError) Error() string { return "the connection broke" }
func (besideError) Beside()       {}

func TestCallersThatGoAwayDoNotOpenTheBreaker(t *testing.T) {
	t.Parallel()
	l := patient(t, redis.URL(t))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		if _, ok := l.TryLock(gone, named()); !ok {
			t.Fatal("refused")
		}
	}
	name := named()
	l.TryLock(t.Context(), name)
	if _, ok := l.TryLock(t.Context(), name); ok {
		t.Error("Redis is not asked any more")
	}
}

func BenchmarkLockAndRelease(b *testing.B) {
	l := New(redis.Connect(b, redis.URL(b)), Options{}, silent)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		name := named()
		for pb.Next() {
			release, _ := l.TryLock(b.Context(), name)
			release()
		}
	})
}
