package autopipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
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

// connect opens a client as production has it: no retries, contexts obeyed.
func connect(t testing.TB, url string) *goredis.Client {
	t.Helper()
	options, err := goredis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	options.MaxRetries, options.ContextTimeoutEnabled = -1, true
	client := goredis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return client
}

// held holds up what is sent until the gate opens, and tells how many commands
// went together.
type held struct {
	gate chan struct{}
	mu   sync.Mutex
	sent []int
}

func (h *held) note(n int) {
	h.mu.Lock()
	h.sent = append(h.sent, n)
	h.mu.Unlock()
	<-h.gate
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
			h.note(1)
		}
		return next(context.WithoutCancel(ctx), cmd)
	}
}

func (h *held) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		if cmds[0].Name() == "echo" {
			h.note(len(cmds))
		}
		return next(context.WithoutCancel(ctx), cmds)
	}
}

func holding(t *testing.T) (*held, *autopipeline.Client) {
	client := connect(t, redis.URL(t))
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

func TestWhatIsAskedForMeanwhileGoesTogetherAndEachGetsItsOwnAnswer(t *testing.T) {
	t.Parallel()
	h, c := holding(t)
	const commands = 50 // below what a second sender comes for
	var all sync.WaitGroup
	ask := func(i int) {
		all.Go(func() {
			if got, err := c.Do(t.Context(), "echo", fmt.Sprint("word ", i)); err != nil || got != fmt.Sprint("word ", i) {
				t.Errorf("%d was answered %v, %v", i, got, err)
			}
		})
	}
	ask(0)
	await(t, func() bool { return len(h.pipelines()) == 1 })
	for i := 1; i <= commands; i++ {
		ask(i)
	}
	await(t, func() bool { // until all have asked
		asked := c.Waiting()
		for _, n := range h.pipelines() {
			asked += n
		}
		return asked == commands+1
	})
	close(h.gate)
	all.Wait()
	if got := h.pipelines(); len(got) > 4 || got[0] != 1 { // a slow machine has the second sender come
		t.Errorf("%d commands went in pipelines of %v", commands+1, got)
	}
}

func TestWhoHasLeftIsNotServed(t *testing.T) {
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
	held := c.Waiting() == 1
	leave()
	if err := <-answers; !errors.Is(err, context.Canceled) {
		t.Errorf("who left was told %v", err)
	}
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
	c := autopipeline.New(connect(t, redis.URL(t)))
	script := goredis.NewScript(fmt.Sprintf("return {ARGV[1], KEYS[1], '%x'}", rand.Uint64()))
	for range 2 {
		if got, err := script.Run(t.Context(), c, []string{"key"}, "arg").StringSlice(); err != nil || len(got) != 3 || got[0] != "arg" || got[1] != "key" {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

func TestAKeyIsSetOnce(t *testing.T) {
	t.Parallel()
	client := connect(t, redis.URL(t))
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
	c := autopipeline.New(connect(t, "redis://"+l.Addr().String()))
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
