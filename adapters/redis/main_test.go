package redis_test

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"waybill/test/redis"
)

func shared(t testing.TB) *goredis.Client { return redis.Connect(t, redis.URL(t)) }
