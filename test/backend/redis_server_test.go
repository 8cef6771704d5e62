package backend_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"waybill/test/backend"
)

func startRedis(t *testing.T) *backend.Redis {
	t.Helper()
	server, err := backend.StartRedis(t.Context())
	if errors.Is(err, backend.ErrNoRedis) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func connectRedis(t *testing.T, s *backend.Redis) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	options.MaxRetries, options.ContextTimeoutEnabled = -1, true
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return client
}

func TestAKilledServerIsGoneAndComesBackEmptyOnTheSameURL(t *testing.T) {
	server := startRedis(t)
	client := connectRedis(t, server)
	if err := client.Set(t.Context(), "a", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	server.Kill() // of a server that is down: nothing
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Error("a killed server answers")
	}
	if err := server.Pause(); err == nil {
		t.Error("a killed server was paused")
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := client.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("after the restart: %d keys, %v, want none", n, err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Errorf("restart of a running server: %v", err)
	}
}

func TestAPausedServerAcceptsAndIsSilentUntilItGoesOn(t *testing.T) {
	server := startRedis(t)
	client := connectRedis(t, server)
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(server.URL, "redis://"), "/0"))
	if err != nil {
		t.Errorf("a paused server refuses connections: %v", err)
	} else {
		conn.Close()
	}
	silent, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := client.Ping(silent).Err(); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a paused server answers %v, want nothing in time", err)
	}
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("after it went on: %v", err)
	}
}

func TestStopEndsAPausedServerTooAndRemovesItsDirectory(t *testing.T) {
	server := startRedis(t)
	client := connectRedis(t, server)
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(server.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stat %s: %v, want it gone", server.Dir, err)
	}
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Error("a stopped server answers")
	}
	if err := server.Restart(t.Context()); err == nil {
		t.Error("restarted a stopped server")
	}
}

func TestARestartOnATakenPortSaysSo(t *testing.T) {
	server := startRedis(t)
	server.Kill()
	taker, err := net.Listen("tcp", strings.TrimSuffix(strings.TrimPrefix(server.URL, "redis://"), "/0"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := server.Restart(ctx); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("restart on a taken port: %v, want the log that says so", err)
	}
	taker.Close()
	if err := server.Restart(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestABinaryThatIsTooOldIsNamed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "redis-server")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho 'Redis server v=5.0.14 sha=00000000:0'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	found, err := backend.FindRedis(t.Context())
	switch {
	case err == nil && found == path:
		t.Error("chose version 5")
	case err != nil && (!errors.Is(err, backend.ErrNoRedis) || !strings.Contains(err.Error(), path+": version 5")):
		t.Errorf("%v, want ErrNotInstalled that names %s and its version", err, path)
	}
}
