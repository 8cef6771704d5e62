package redis_test

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"waybill/test/backend"
)

func shared(t testing.TB) *goredis.Client { return backend.ConnectRedis(t, backend.RedisURL(t)) }
