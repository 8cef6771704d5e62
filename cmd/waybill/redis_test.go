package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	waybillredis "waybill/adapters/redis"
	"waybill/configs"
	"waybill/test/backend"
	"waybill/test/stage"
)

func TestARedisURLThatCannotBeUsedIsToldWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"redis://:hunter22@h:x/0", "redis://:hunter22/@h/0", "redis://:hunter22@h/zero", "redis://u:hunter22@h/0?colour=hunter22",
		"redis://:hunter22@h/0?pool_size=hunter22", "redis://:hunter22@h?master_name=m&replica_only=true",
		"redis://:hunter22@h?master_name=m&colour=blue",
		"rediss://:hunter22@h?master_name=m&route_by_latency=true",
	} {
		_, _, err := newRedis(&configs.Config{RedisURL: configs.URL(address)})
		var problems configs.Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), "WAYBILL_REDIS_URL cannot be used") ||
			strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestNoCallOfARedisIsRepeatedAndEachHasAnEnd(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"redis://h", "rediss://u:p@h:6380/3", "unix:///run/redis.sock", "redis://h?master_name=m",
		"redis://h?max_retries=5&pool_size=7"} {
		client, closeClient, err := newRedis(&configs.Config{RedisURL: configs.URL(address)})
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		// The client keeps "never" as 0.
		o := client.Options()
		if o.MaxRetries != 0 || !o.ContextTimeoutEnabled || o.DialTimeout <= 0 || o.DialTimeout > time.Second || o.ReadTimeout <= 0 ||
			o.ReadTimeout > time.Second {
			t.Errorf("%s: options %+v", address, o)
		}
		if want := map[bool]int{true: 7, false: waybillredis.RedisConnections}[strings.Contains(address, "pool_size=7")]; o.PoolSize != want {
			t.Errorf("%s: %d connections, want %d", address, o.PoolSize, want)
		}
		closeClient()
	}
	if client, closeClient, err := newRedis(&configs.Config{}); client != nil || err != nil {
		t.Errorf("without a URL: %v, %v", client, err)
	} else {
		closeClient()
	}
}

// A listener that accepts and says nothing hangs in the agreement upon TLS.
func TestADeadlineHoldsWhileTLSIsAgreedUpon(t *testing.T) {
	t.Parallel()
	dumb, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer dumb.Close()
	client, err := waybillredis.Open("rediss://"+dumb.Addr().String()+"?dial_timeout=1m", waybillredis.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := client.Ping(ctx).Err(); err == nil {
		t.Error("it answers")
	}
	if took := time.Since(began); took > 30*time.Second { // of a minute
		t.Errorf("given up after %v, want 30ms", took)
	}
}

// What the queue asks for must not take the connections that requests need.
func TestTheQueueHasConnectionsOfItsOwnAndMorePatience(t *testing.T) {
	t.Parallel()
	silent := slog.New(slog.DiscardHandler)
	c := &configs.Config{RedisURL: configs.URL("redis://127.0.0.1:1/3?pool_size=1")}
	client, closeClient, err := newRedis(c)
	if err != nil {
		t.Fatal(err)
	}
	defer closeClient()
	queue, closeQueue, err := newQueueRedis(t.Context(), c, silent)
	if err != nil {
		t.Fatal(err)
	}
	if queue.Client == client {
		t.Error("the queue shares the client of the limiter")
	}
	if o := queue.Options(); o.ReadTimeout != waybillredis.QueueTimeout || o.WriteTimeout != waybillredis.QueueTimeout || o.MaxRetries != 0 ||
		!o.ContextTimeoutEnabled || o.DB != 3 || o.PoolSize != 1 {
		t.Errorf("options %+v", o)
	}
	if o := client.Options(); o.ReadTimeout != waybillredis.Timeout {
		t.Errorf("options of the other client %+v", o)
	}
	closeQueue()
	if err := queue.Ping(t.Context()).Err(); !errors.Is(err, goredis.ErrClosed) {
		t.Errorf("after it was closed: %v", err)
	}
	if queue, _, err := newQueueRedis(t.Context(), &configs.Config{}, silent); queue.Client != nil || err != nil {
		t.Errorf("without a URL: %v, %v", queue, err)
	}
	var bad configs.Problems
	if _, _, err := newQueueRedis(t.Context(), &configs.Config{RedisURL: "redis://h/zero"}, silent); !errors.As(err, &bad) {
		t.Errorf("a bad URL: %v", err)
	}
}

func TestARedisThatMayDropKeysIsWarnedOfAtTheStart(t *testing.T) {
	t.Parallel()
	server := backend.OwnRedis(t)
	client, err := waybillredis.Open(server.URL, waybillredis.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for policy, warnings := range map[string]int{"noeviction": 0, "allkeys-lru": 1, "volatile-ttl": 1} {
		if err := client.ConfigSet(t.Context(), "maxmemory-policy", policy).Err(); err != nil {
			t.Fatal(err)
		}
		environ := append(served(t), "WAYBILL_REDIS_URL="+server.URL)
		worker, _ := startWorker(t, environ)
		worker.terminate(t)
		serve, _ := startServe(t, environ)
		serve.terminate(t)
		for _, r := range []*running{worker, serve} {
			if n := strings.Count(r.stderr.String(), `"maxmemory-policy is `+policy+": "); n != warnings {
				t.Errorf("%s: warned %d times, want %d\n%s", policy, n, warnings, r.stderr.String())
			}
		}
	}
	// One that does not tell is not waited for.
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	var logged stage.Log
	waybillredis.WarnOfEviction(t.Context(), client, slog.New(slog.NewTextHandler(&logged, nil)))
	if logged.String() != "" {
		t.Errorf("%q", logged.String())
	}
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
}

// Two installations on one Redis have a database each.
func TestAnInstallationKeepsToTheDatabaseOfItsURL(t *testing.T) {
	t.Parallel()
	base := strings.TrimSuffix(backend.OwnRedis(t).URL, "/0")
	for _, database := range []string{"/2", "/3"} {
		environ := append(served(t), "WAYBILL_REDIS_URL="+base+database)
		server, v := startServe(t, environ)
		worker, _ := startWorker(t, environ)
		_, key := madeKey(t, environ, "sandbox")
		id, _ := book(t, v, key, "failed_at_pickup", 1)
		eventually(t, "the worker did both steps", func() bool { return simulation(t, v, key, id)["status"] == "completed" })
		worker.terminate(t)
		server.terminate(t)
		client, err := waybillredis.Open(base+database, waybillredis.Timeout)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if keys := client.Keys(t.Context(), "asynq:{waybill-simulation}:processed").Val(); len(keys) != 1 {
			t.Errorf("the queue has run nothing in database %s", database)
		}
		if keys := client.Keys(t.Context(), "waybill:{limit}:key:*").Val(); len(keys) != 1 {
			t.Errorf("database %s has the limits %q, want those of one key", database, keys)
		}
	}
	other, err := waybillredis.Open(base+"/0", waybillredis.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if keys := other.Keys(t.Context(), "*").Val(); len(keys) != 0 {
		t.Errorf("database 0 has %q", keys)
	}
}

func TestAServerStartsAndServesWithoutItsRedisAndSaysSoOnce(t *testing.T) {
	t.Parallel()
	server := backend.OwnRedis(t)
	server.Kill()
	environ := append(served(t), "WAYBILL_REDIS_URL="+server.URL, "WAYBILL_RATE_LIMIT_PER_KEY=1000/1s")
	_, key := madeKey(t, environ, "live")
	r, v := startServe(t, environ)
	for range 50 {
		if code, answer := call(t, "GET", v.Live+"/api-key", key, ""); code != http.StatusOK {
			t.Fatalf("answer %d: %v", code, answer)
		}
	}
	ready := readAll(t, v.Ops+"/readyz?verbose")
	if status(v.Ops+"/readyz") != http.StatusOK || !strings.Contains(ready, "Ready, degraded: redis.") {
		t.Errorf("/readyz says %s", ready)
	}
	if metrics := readAll(t, v.Ops+"/metrics"); !strings.Contains(metrics, "\nwaybill_redis_up 0\n") {
		t.Error("the metrics do not tell that Redis is gone")
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "limits are counted in Redis", func() bool {
		_, _ = call(t, "GET", v.Live+"/api-key", key, "")
		return strings.Contains(r.stderr.String(), "rate limits are counted in Redis again")
	})
	eventually(t, "changes of keys are heard", func() bool { return strings.Contains(r.stderr.String(), "changes of keys are heard") })
	r.terminate(t)
	logged := r.stderr.String()
	for _, line := range []string{"rate limits are counted in this process", "rate limits are counted in Redis again",
		"changes of keys are not heard", "changes of keys are heard"} {
		if n := strings.Count(logged, line); n != 1 {
			t.Errorf("%d lines say that %s\n%s", n, line, logged)
		}
	}
	if strings.Contains(logged, "omitted") {
		t.Errorf("a line lacks what it should tell\n%s", logged)
	}
}
