package main

import (
	"context"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"waybill/adapters/cli/settings"
	waybillredis "waybill/adapters/redis"
	"waybill/configs"
)

// newRedis creates the client that rate limits and invalidations share, or nil without a Redis
// setting. It does not connect yet: a server starts, serves and ends without its Redis.
func newRedis(c *configs.Config) (*redis.Client, func(), error) {
	return redisOf(c, openRedis)
}

// queueRedis is the client of the queue, nil without a Redis setting. The queue polls all the
// time, from several workers. It must not make the limiter, which has milliseconds, wait for a
// connection.
type queueRedis struct{ *redis.Client }

func newQueueRedis(ctx context.Context, c *configs.Config, log *slog.Logger) (queueRedis, func(), error) {
	client, closeClient, err := redisOf(c, waybillredis.OpenQueue)
	if client != nil {
		waybillredis.WarnOfEviction(ctx, client, log)
	}
	return queueRedis{client}, closeClient, err
}

func openRedis(address string) (*redis.Client, error) {
	return waybillredis.Open(address, waybillredis.Timeout)
}

func redisOf(c *configs.Config, open func(address string) (*redis.Client, error)) (*redis.Client, func(), error) {
	if c.RedisURL == "" {
		return nil, func() {}, nil
	}
	waybillredis.Silence()
	client, err := open(c.RedisURL.Reveal())
	if err != nil {
		return nil, nil, settings.BadSetting(c, "redis_url", err)
	}
	return client, func() { _ = client.Close() }, nil // nothing can be done about it
}
