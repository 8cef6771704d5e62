package autopipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"waybill/adapters/redis/autopipeline"
	"waybill/test/redis"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// held holds up each "echo" that is sent until the gate opens, and tells how many
// commands went together, and until when.
type held struct {
	gate   chan struct{}
	broken error // what befalls them then

	mu    sync.Mutex
	sent  []int
	until []time.Time
}

func (h *held) note(ctx context.Context, n int) error {
	end, _ := ctx.Deadline()
	h.mu.Lock()
	h.sent, h.until = append(h.sent, n), append(h.until, end)
	h.mu.Unlock()
	<-h.gate
	return h.broken
}

func (h *held) pipelines() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]int{}, h.sent...)
}

func (h *held) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h *held) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if cmd.Name() == "echo" {
			if err := h.note(ctx, 1); err != nil {
				return err
			}
		}
		return next(context.WithoutCancel(ctx), cmd)
	}
}

func (h *held) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		if cmds[0].Name() == "echo" {
			if err := h.note(ctx, len(cmds)); err != nil {
				return err
			}
		}
		return next(context.WithoutCancel(ctx), cmds)
	}
}

func holding(t *testing.T) (*held, *autopipeline.Client) {
	client := redis.Connect(t, redis.URL(t))
	h := &held{gate: make(chan struct{})}
	client.AddHook(h)
	return h, autopipeline.New(client)
}

func await(t *testing.T, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what is awaited does not come")
		}
	}
}

// together asks a command, which is held up alone, and some more that go together.
func together(t *testing.T, h *held, c *autopipeline.Client, ask func(i int), more int) {
	t.Helper()
	go ask(0)
	await(t, func() bool { return len(h.pipelines()) == 1 })
	for i := range more {
		go ask(i + 1)
	}
	await(t, func() bool { return c.Asked() == more+1 })
	close(h.gate)
}

func TestWhatIsAskedForMeanwhileGoesTogetherAndEachGetsItsOwnAnswer(t *testing.T) {
	t.Parallel()
	h, c := holding(t)
	const commands = 50
	var all sync.WaitGroup
	all.Add(commands + 1)
	together(t, h, c, func(i int) {
		defer all.Done()
		if got, err := c.Do(t.Context(), "echo", fmt.Sprint("word ", i)); err != nil || got != fmt.Sprint("word ", i) {
			t.Errorf("%d was answered %v, %v", i, got, err)
		}
	}, commands)
	all.Wait()
	if got := h.pipelines(); len(got) > 9 || got[0] != 1 { // a slow machine has other senders come
		t.Errorf("%d commands went in pipelines of %v", commands+1, got)
	}
}

func TestAPipelineThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	h, c := holding(t)
	hung := make(chan struct{})
	go func() {
		defer close(hung)
		_, _ = c.Do(t.Context(), "echo", "hung")
	}()
	await(t, func() bool { return len(h.pipelines()) == 1 })
	for range 5 { // one after the other: a later arrival must not help the earlier ones
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if _, err := c.Do(ctx, "time"); err != nil {
			t.Errorf("beside a pipeline that hangs: %v", err)
		}
		cancel()
	}
	close(h.gate)
	<-hung
}

func TestAPipelineLastsAsLongAsItsCallersWait(t *testing.T) {
	t.Parallel()
	h, c := holding(t)
	const commands = 10
	first := time.Now().Add(time.Minute) // a pipeline has less
	soon := time.Now().Add(150 * time.Millisecond)
	var all sync.WaitGroup
	all.Add(commands + 1)
	together(t, h, c, func(i int) {
		defer all.Done()
		ctx, cancel := context.WithDeadline(t.Context(), first)
		if i > 0 {
			ctx, cancel = context.WithDeadline(t.Context(), soon.Add(-time.Duration(i)*time.Millisecond))
		}
		defer cancel()
		_, _ = c.Do(ctx, "echo", "until then")
	}, commands)
	all.Wait()
	if h.until[0].After(time.Now().Add(200 * time.Millisecond)) {
		t.Errorf("the first may last until %v, want 200 ms", h.until[0])
	}
	if len(h.until) == 1 {
		t.Skip("the machine is so slow that all have left")
	}
	if last, want := slices.MaxFunc(h.until[1:], time.Time.Compare), soon.Add(-time.Millisecond); !last.Equal(want) {
		t.Errorf("the others may last until %v, want %v, as their last caller", last, want)
	}
}

func TestOnePipelineThatFailsIsToldAsOneFailure(t *testing.T) {
	t.Parallel()
	h, c := holding(t)
	h.broken = errors.New("the connection broke")
	const commands = 40
	var all sync.WaitGroup
	var alone atomic.Int32
	all.Add(commands + 1)
	together(t, h, c, func(i int) {
		defer all.Done()
		_, err := c.Do(t.Context(), "echo", i)
		if !errors.Is(err, h.broken) {
			t.Errorf("%d was told %v", i, err)
		}
		if beside := (interface{ Beside() })(nil); !errors.As(err, &beside) {
			alone.Add(1)
		}
	}, commands)
	all.Wait()
	if got, want := int(alone.Load()), len(h.pipelines()); got != want {
		t.Errorf("%d were told of a failure of their own, want one for each of %v", got, h.pipelines())
	}
}

func TestPipelinesThatAreSharedComeApart(t *testing.T) {
	t.Parallel()
	h, c := holding(t)
	close(h.gate)
	const callers = 20
	var all sync.WaitGroup
	var asked atomic.Int32
	began := time.Now()
	for range callers {
		all.Go(func() {
			for time.Since(began) < 200*time.Millisecond {
				if _, err := c.Do(t.Context(), "echo", "again"); err != nil {
					t.Error(err)
				}
				asked.Add(1)
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	if n := len(h.pipelines()); n > int(took/time.Millisecond)+9 {
		t.Errorf("%d commands went in %d pipelines within %v, want one a millisecond", asked.Load(), n, took)
	}
}

func TestACallerThatHasLeftIsNotServed(t *testing.T) {
	t.Parallel()
	h, c := holding(t)
	var first sync.WaitGroup
	first.Go(func() { _, _ = c.Do(t.Context(), "echo", "first") })
	await(t, func() bool { return len(h.pipelines()) == 1 })
	ctx, leave := context.WithCancel(t.Context())
	answers := make(chan error, 1)
	go func() {
		_, err := c.Do(ctx, "echo", "left")
		answers <- err
	}()
	await(t, func() bool { return c.Waiting() == 1 || len(h.pipelines()) > 1 })
	leave()
	if err := <-answers; !errors.Is(err, context.Canceled) {
		t.Errorf("who left was told %v", err)
	}
	held := len(h.pipelines()) == 1
	close(h.gate)
	first.Wait()
	if _, err := c.Do(t.Context(), "echo", "later"); err != nil {
		t.Error(err)
	}
	if got := len(h.pipelines()); held && got != 2 {
		t.Errorf("%d were sent, want the first and the later one", got)
	}
	if _, err := c.Do(ctx, "echo", "late"); !errors.Is(err, context.Canceled) {
		t.Errorf("who has left before was told %v", err)
	}
}

func TestAScriptThatRedisDoesNotKnowIsSentAlong(t *testing.T) {
	t.Parallel()
	c := autopipeline.New(redis.Connect(t, redis.URL(t)))
	script := goredis.NewScript(fmt.Sprintf("return {ARGV[1], KEYS[1], '%x'}", rand.Uint64()))
	for range 2 {
		if got, err := script.Run(t.Context(), c, []string{"key"}, "arg").StringSlice(); err != nil || len(got) != 3 || got[0] != "arg" ||
			got[1] != "key" {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

func TestAKeyIsSetOnce(t *testing.T) {
	t.Parallel()
	client := redis.Connect(t, redis.URL(t))
	c := autopipeline.New(client)
	key := fmt.Sprintf("autopipeline %x", rand.Uint64())
	for _, want := range []bool{true, false} {
		if got, err := c.SetNX(t.Context(), key, "value", time.Minute).Result(); err != nil || got != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	if left := client.PTTL(t.Context(), key).Val(); left <= 0 || left > time.Minute {
		t.Errorf("it expires in %v", left)
	}
}

func TestARedisThatIsGoneIsAnErrorForEveryone(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c := autopipeline.New(redis.Connect(t, "redis://"+l.Addr().String()))
	var all sync.WaitGroup
	for range 300 {
		all.Go(func() {
			if _, err := c.Do(t.Context(), "echo", "anybody?"); err == nil {
				t.Error("somebody answered")
			}
			if set, err := c.SetNX(t.Context(), "key", "value", time.Minute).Result(); err == nil || set {
				t.Errorf("a key was set: %v, %v", set, err)
			}
		})
	}
	all.Wait()
}
