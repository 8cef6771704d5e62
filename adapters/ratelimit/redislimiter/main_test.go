package redislimiter_test

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"waybill/test/redis"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect opens a client as production has it: no retries, contexts obeyed.
func connect(t testing.TB, url string) *goredis.Client {
	t.Helper()
	options, err := goredis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	options.MaxRetries, options.ContextTimeoutEnabled = -1, true
	options.DialTimeout, options.ReadTimeout = time.Second, 10*time.Second
	client := goredis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return client
}

func shared(t testing.TB) *goredis.Client { return connect(t, redis.URL(t)) }
