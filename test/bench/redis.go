package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"waybill/test/backend"
)

// ownRedis is a Redis of the run's own: what it spends is spent for the program.
type ownRedis struct {
	url    string
	server *backend.Redis
	pid    int
}

func startRedis(ctx context.Context) (*ownRedis, error) {
	server, err := backend.StartRedis(ctx)
	if err != nil {
		return nil, err
	}
	r := &ownRedis{url: server.URL, server: server}
	if r.pid, err = processOf(ctx, r.url); err != nil {
		return nil, errors.Join(fmt.Errorf("ask the Redis for its process: %w", err), r.stop())
	}
	return r, nil
}

func processOf(ctx context.Context, url string) (pid int, err error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return 0, err
	}
	client := redis.NewClient(o)
	defer client.Close()
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(info, "\nprocess_id:")
	text, _, _ := strings.Cut(rest, "\r")
	return strconv.Atoi(text)
}

// cpu is the processor time of its process; none has 0.
func (r *ownRedis) cpu() time.Duration {
	if r == nil {
		return 0
	}
	return cpuOf(r.pid)
}

func (r *ownRedis) stop() error {
	if r == nil {
		return nil
	}
	return r.server.Stop()
}
