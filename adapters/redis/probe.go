package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Probe asks a Redis about itself.
type Probe struct{ Client *redis.Client }

// Time returns the time by the clock of Redis.
func (r Probe) Time(ctx context.Context) (time.Time, error) {
	return r.Client.Time(ctx).Result()
}

// Info returns a section of the INFO of Redis.
func (r Probe) Info(ctx context.Context, section string) (string, error) {
	return r.Client.Info(ctx, section).Result()
}

// Usable tries what this program needs of Redis.
func (r Probe) Usable(ctx context.Context) error { return Usable(ctx, r.Client) }
