package backend

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis is one running Redis. Its URL never changes, also not across Kill and Restart.
type Redis struct {
	URL string
	daemon

	binary string
	args   []string
}

// StartRedis creates a new, empty Redis and returns once it answers. ctx bounds the
// start only. The caller must Stop it. The error wraps ErrNoRedis where
// the machine has no usable binary. Options are those of redis-server.
func StartRedis(ctx context.Context, options ...string) (*Redis, error) {
	return startRedis(ctx, func(s *Redis) error {
		s.args = []string{
			"--port", fmt.Sprint(s.Port), "--bind", "127.0.0.1", "--dir", s.Dir,
			"--save", "", "--appendonly", "no", "--daemonize", "no",
		}
		s.args = append(s.args, options...)
		return nil
	})
}

// StartSentinel starts a Sentinel, which tells clients the address of the master
// by its name, and half a second after that has gone makes another one of a replica.
// It is a Redis too; its URL is the Sentinel's.
func StartSentinel(ctx context.Context, name string, master *Redis) (*Redis, error) {
	return startRedis(ctx, func(s *Redis) error {
		file := filepath.Join(s.Dir, "sentinel.conf") // it has to be one: a Sentinel writes to it
		s.args = []string{file, "--sentinel"}
		return os.WriteFile(file, fmt.Appendf(nil, "port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor %[3]s 127.0.0.1 %[4]d 1\n"+
			"sentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 5000\n", s.Port, s.Dir, name, master.Port), 0o600)
	})
}

func startRedis(ctx context.Context, configure func(s *Redis) error) (*Redis, error) {
	binary, err := FindRedis(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := MakeDir("redis", nil)
	if err != nil {
		return nil, err
	}
	s := &Redis{binary: binary}
	s.daemon = daemon{
		Dir: dir, name: "Redis", limit: 30 * time.Second, ping: s.ping,
		// Every end is abrupt: there is nothing to save, and a paused server hears no other signal.
		killed: syscall.SIGKILL, farewell: syscall.SIGKILL,
		command: func() *exec.Cmd { return exec.Command(s.binary, s.args...) },
	}
	return s, s.startOnFreePort(ctx, func() error {
		s.URL = fmt.Sprintf("redis://127.0.0.1:%d/0", s.Port)
		return configure(s)
	})
}

// Kill ends the server with SIGKILL, and all it held with it. It returns once
// the process is gone. Killing a server that is down does nothing.
func (s *Redis) Kill() { _ = s.endBy(syscall.SIGKILL) } // which nothing ignores

// Pause stops the process where it is: connections stay open and new ones are
// accepted, and nothing is answered until Resume.
func (s *Redis) Pause() error { return s.signal(syscall.SIGSTOP) }

// Resume lets a paused server go on, with what it was sent meanwhile.
func (s *Redis) Resume() error { return s.signal(syscall.SIGCONT) }

func (s *Redis) ping(ctx context.Context, p *Process) error {
	client := redis.NewClient(&redis.Options{
		Addr: fmt.Sprintf("127.0.0.1:%d", s.Port), MaxRetries: -1, DialTimeout: time.Second, ReadTimeout: time.Second,
	})
	defer func() { _ = client.Close() }()
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, fmt.Sprintf("\nprocess_id:%d\r", p.PID())) {
		return fmt.Errorf("another Redis has port %d", s.Port)
	}
	return nil
}
