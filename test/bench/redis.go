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

// ownRedis is a Redis of the run's own: it may be emptied, and what it spends is
// spent for the program.
type ownRedis struct {
	url    string
	server *backend.Redis
	client *redis.Client
	pid    int
}

func startRedis(ctx context.Context) (*ownRedis, error) {
	server, err := backend.StartRedis(ctx)
	if err != nil {
		return nil, err
	}
	r := &ownRedis{url: server.URL, server: server}
	if err := r.look(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("ask the Redis for its process: %w", err), r.stop())
	}
	return r, nil
}

func (r *ownRedis) look(ctx context.Context) error {
	o, err := redis.ParseURL(r.url)
	if err != nil {
		return err
	}
	r.client = redis.NewClient(o)
	info, err := r.client.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(info, "\nprocess_id:")
	text, _, _ := strings.Cut(rest, "\r")
	r.pid, err = strconv.Atoi(text)
	return err
}

// cpu is the processor time of its process; none has 0.
func (r *ownRedis) cpu() time.Duration {
	if r == nil {
		return 0
	}
	return cpuOf(r.pid)
}

func (r *ownRedis) stop() error {
	var err error
	if r.client != nil {
		err = r.client.Close()
	}
	return errors.Join(err, r.server.Stop())
}
