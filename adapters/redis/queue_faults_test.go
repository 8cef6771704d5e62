package redis

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"waybill/test/backend"
	"waybill/test/stage"
)

// lines counts the lines of a log that contain the part.
func lines(l *stage.Log, part string) int { return strings.Count(l.String(), part) }

// ears is the handler of a test, and records what it received.
type ears struct{ heard sync.Map }

func (e *ears) handle(_ context.Context, id string) { e.heard.Store(id, true) }

// hears sends a notification until it arrives: those sent during an outage may be lost.
func (e *ears) hears(t *testing.T, q *Queue, id string) {
	t.Helper()
	until(t, "a notification is heard", func() bool {
		_ = q.Notify(t.Context(), "a", id)
		_, ok := e.heard.Load(id)
		return ok
	})
}

func TestRunOutlivesARedisThatIsKilledPausedAndEmptied(t *testing.T) {
	t.Parallel()
	server := backend.OwnRedis(t)
	var logged stage.Log
	q := NewQueue(connect(t, server.URL), QueueOptions{}, slog.New(slog.NewTextHandler(&logged, nil)))
	var e ears
	stop := run(t, q, "a", e.handle)
	e.hears(t, q, "at first")
	if n := lines(&logged, "\n"); n != 0 {
		t.Errorf("%d lines were logged while all was well: %s", n, logged.String())
	}
	for outage, end := range map[string]func() error{
		"killed": func() error {
			server.Kill()
			until(t, "the outage is noticed", func() bool { return lines(&logged, "level=WARN") > lines(&logged, "level=INFO") })
			return server.Restart(t.Context())
		},
		"paused": func() error {
			if err := server.Pause(); err != nil {
				return err
			}
			until(t, "the outage is noticed", func() bool { return lines(&logged, "level=WARN") > lines(&logged, "level=INFO") })
			return server.Resume()
		},
	} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
		e.hears(t, q, "after it was "+outage)
		until(t, "it is told that it is back", func() bool { return lines(&logged, "level=WARN") == lines(&logged, "level=INFO") })
	}
	if n := lines(&logged, "level=WARN"); n != 2 {
		t.Errorf("%d outages were told of, want 2: %s", n, logged.String())
	}
	client := connect(t, server.URL)
	for n := range 20 {
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		e.hears(t, q, fmt.Sprint("after flush ", n))
	}
	if err := client.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	e.hears(t, q, "after the scripts were forgotten")
	if n := lines(&logged, "level=WARN"); n != 2 {
		t.Errorf("an emptied Redis was told of as an outage: %s", logged.String())
	}
	stop()
}

func TestARunThatBeginsWithoutRedisHearsItLater(t *testing.T) {
	t.Parallel()
	server := backend.OwnRedis(t)
	server.Kill()
	var e ears
	run(t, open(t, server.URL), "a", e.handle)
	elsewhere := open(t, server.URL)
	if err := elsewhere.Notify(t.Context(), "a", "x"); err == nil {
		t.Error("a notification without Redis, in a process without handlers, answers nil")
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.hears(t, elsewhere, "x")
}

// Processes with handlers find jobs in the database, without waiting for Redis.
func TestAProcessHearsItsOwnNotificationsWhileRedisCannotBeUsed(t *testing.T) {
	t.Parallel()
	for outage, begin := range map[string]func(t *testing.T, server *backend.Redis, admin *goredis.Client) error{
		"gone":  func(_ *testing.T, server *backend.Redis, _ *goredis.Client) error { server.Kill(); return nil },
		"hangs": func(_ *testing.T, server *backend.Redis, _ *goredis.Client) error { return server.Pause() },
		"full": func(t *testing.T, _ *backend.Redis, admin *goredis.Client) error {
			return admin.ConfigSet(t.Context(), "maxmemory", "1").Err()
		},
		"a replica": func(t *testing.T, _ *backend.Redis, admin *goredis.Client) error {
			return admin.ReplicaOf(t.Context(), "127.0.0.1", "1").Err()
		},
		"without scripts": func(t *testing.T, _ *backend.Redis, admin *goredis.Client) error {
			return admin.Do(t.Context(), "ACL", "SETUSER", "default", "-@scripting").Err()
		},
	} {
		t.Run(outage, func(t *testing.T) {
			t.Parallel()
			server := backend.OwnRedis(t)
			q := open(t, server.URL)
			notify(t, q, "a", "waits since before") // Redis tells later that it waits, and gives it to nobody
			if err := begin(t, server, connect(t, server.URL)); err != nil {
				t.Fatal(err)
			}
			var e ears
			stop := run(t, q, "a", e.handle)
			e.hears(t, q, "waits since before")
			until(t, "many are heard, and not one a second", func() bool {
				heard := 0
				for n := range 100 {
					id := fmt.Sprint(n)
					_ = q.Notify(t.Context(), "a", id)
					if _, ok := e.heard.Load(id); ok {
						heard++
					}
				}
				return heard == 100
			})
			stop()
		})
	}
}

// A handler's work is in the database: an outage of Redis does not affect it.
func TestAHandlerThatRunsWhenRedisIsEmptiedOrLostIsLetFinish(t *testing.T) {
	t.Parallel()
	for outage, cause := range map[string]func(t *testing.T, client *goredis.Client, kill func()){
		"emptied": func(t *testing.T, client *goredis.Client, _ func()) { client.FlushAll(t.Context()) },
		"killed":  func(_ *testing.T, _ *goredis.Client, kill func()) { kill() },
	} {
		t.Run(outage, func(t *testing.T) {
			t.Parallel()
			server := backend.OwnRedis(t)
			client := connect(t, server.URL)
			q := NewQueue(client, QueueOptions{}, silent)
			opened, begun := make(chan struct{}), make(chan struct{}, 100)
			var finished, disturbed atomic.Int64
			stop := run(t, q, "a", func(ctx context.Context, id string) {
				begun <- struct{}{}
				<-opened
				if ctx.Err() != nil {
					disturbed.Add(1)
				}
				finished.Add(1)
			})
			for n := range workers {
				notify(t, q, "a", fmt.Sprint(n))
				<-begun
			}
			cause(t, client, server.Kill)
			close(opened)
			stop()
			if finished.Load() != workers || disturbed.Load() != 0 {
				t.Errorf("%d of %d finished, %d were disturbed", finished.Load(), workers, disturbed.Load())
			}
		})
	}
}

func TestANotificationGivesUpWithinASecondWhenRedisHangs(t *testing.T) {
	t.Parallel()
	server := backend.OwnRedis(t)
	q := open(t, server.URL)
	patientClient := connect(t, server.URL) // one that would wait for long
	patientClient.Options().ReadTimeout = time.Minute
	waits := NewQueue(patientClient, QueueOptions{}, silent)
	notify(t, q, "a", "x")
	notify(t, waits, "a", "y")
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	for _, q := range []*Queue{q, waits} {
		began := time.Now()
		err := q.Notify(t.Context(), "a", "x")
		if took := time.Since(began); err == nil || took > 30*time.Second {
			t.Errorf("%v after %v, want an error after %v", err, took, notifyTimeout)
		}
	}
}

func TestARunEndsSoonThoughRedisHangsOrIsGone(t *testing.T) {
	t.Parallel()
	for outage, paused := range map[string]bool{"hangs": true, "gone": false} {
		t.Run(outage, func(t *testing.T) {
			t.Parallel()
			server := backend.OwnRedis(t)
			q := open(t, server.URL)
			var e ears
			stop := run(t, q, "a", e.handle)
			e.hears(t, q, "x")
			if !paused {
				server.Kill()
			} else if err := server.Pause(); err != nil {
				t.Fatal(err)
			}
			_ = q.Notify(t.Context(), "a", "x") // takes its time, in which the run notices
			began := time.Now()
			stop()
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// counted counts the commands that are sent, or would be.
type counted struct {
	goredis.UniversalClient
	calls atomic.Int64
}

func (c *counted) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *goredis.Cmd {
	c.calls.Add(1)
	return c.UniversalClient.EvalSha(ctx, sha1, keys, args...)
}

// asynq polls again at once when Redis refuses, thousands of times a second.
func TestAServerPausesWhileRedisIsGoneOrRefuses(t *testing.T) {
	t.Parallel()
	for outage, cause := range map[string]func(client *goredis.Client, kill func()) error{
		"gone": func(_ *goredis.Client, kill func()) error { kill(); return nil },
		"refuses": func(client *goredis.Client, _ func()) error {
			// As a full one does, that is: with an answer.
			return client.Do(context.Background(), "CONFIG", "SET", "maxmemory", "1").Err()
		},
	} {
		t.Run(outage, func(t *testing.T) {
			t.Parallel()
			server := backend.OwnRedis(t)
			client := &counted{UniversalClient: connect(t, server.URL)}
			var logged stage.Log
			q := NewQueue(client, QueueOptions{}, slog.New(slog.NewTextHandler(&logged, nil)))
			run(t, q, "a", func(context.Context, string) {})
			until(t, "it asks", func() bool { return client.calls.Load() > 0 })
			if err := cause(connect(t, server.URL), server.Kill); err != nil {
				t.Fatal(err)
			}
			until(t, "the outage is noticed", func() bool { return lines(&logged, "level=WARN") == 1 })
			before, began := client.calls.Load(), time.Now()
			<-time.After(2 * time.Second)
			if n, most := client.calls.Load()-before, int64(time.Since(began)/refusedPause)+10; n > most {
				t.Errorf("it asked %d times in two seconds, want at most %d", n, most)
			}
		})
	}
}
