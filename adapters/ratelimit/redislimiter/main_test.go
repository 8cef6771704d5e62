package redislimiter_test

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"waybill/test/redis"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func shared(t testing.TB) *goredis.Client { return redis.Connect(t, redis.URL(t)) }
