package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"waybill/test/backend"
)

const (
	redisEnv = "WAYBILL_TEST_REDIS_URL"
	// localRedis is where a server of this machine usually listens.
	localRedis = "redis://127.0.0.1:6379/0"
)

// findRedis returns a Redis that tests may write to.
func findRedis(ctx context.Context) (*server, error) {
	redis.SetLogger(silent{}) // it tells of the server that is not here
	if named := os.Getenv(redisEnv); named != "" {
		if err := probeRedis(ctx, named); err != nil {
			return nil, fmt.Errorf("the Redis of %s: %w; correct the variable, or unset it to use another server", redisEnv, err)
		}
		return runningRedis(named, "Redis of "+redisEnv), nil
	}
	if probeRedis(ctx, localRedis) == nil {
		return runningRedis(localRedis, "Redis that runs here: "+localRedis), nil
	}

	own, err := backend.StartRedis(ctx)
	if errors.Is(err, backend.ErrNoRedis) {
		if installErr := backend.InstallRedis(ctx); installErr != nil {
			return nil, &leftOut{name: "Redis", env: redisEnv, err: errors.Join(err, installErr)}
		}
		own, err = backend.StartRedis(ctx)
	}
	if err != nil {
		return nil, &leftOut{name: "Redis", env: redisEnv, err: err}
	}
	return &server{
		env:  redisEnv,
		url:  own.URL,
		from: "Redis started for this run: " + own.URL,
		stop: own.Stop,
	}, nil
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func runningRedis(url, from string) *server {
	return &server{env: redisEnv, url: url, from: from, stop: func() error { return nil }}
}

var redisVersion = regexp.MustCompile(`redis_version:(\d+)\.`)

// probeRedis checks the version and writes a key that ends by itself.
func probeRedis(ctx context.Context, url string) error {
	options, err := redis.ParseURL(url)
	if err != nil {
		// The cause may repeat the URL, and a password with it.
		return errors.New("it is no URL of a Redis; give it as redis://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	options.MaxRetries = -1
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = probeTimeout, probeTimeout, probeTimeout
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()

	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return fmt.Errorf("ask for the version: %w", err)
	}
	match := redisVersion.FindStringSubmatch(info)
	if match == nil {
		return errors.New("it does not tell its version")
	}
	if major, err := strconv.Atoi(match[1]); err != nil || major < backend.RedisMinMajor {
		return fmt.Errorf("its version is %s, and %d or newer is needed", match[1], backend.RedisMinMajor)
	}
	if err := client.Set(ctx, fmt.Sprintf("waybill:probe:%d", os.Getpid()), "1", time.Second).Err(); err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	return nil
}
