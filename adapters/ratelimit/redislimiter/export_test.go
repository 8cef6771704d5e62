package redislimiter

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Single is a client whose callers all come alone.
type Single struct{ *redis.Client }

// Together sends a command for one.
func (s Single) Together(ctx context.Context, _ string, args func(callers int) []any) (value any, place int, err error) {
	value, err = s.Do(ctx, args(1)...).Result()
	return value, 0, err
}
