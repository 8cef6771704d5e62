package backend

import (
	"os"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// RedisURLEnv names the shared server, as a RedisURL.
const RedisURLEnv = "WAYBILL_TEST_REDIS_URL"

// RedisURL returns the address of the server that all tests share. Without one the
// test is skipped; with CI=true it fails, unless run with -short, which means
// "without servers".
func RedisURL(t testing.TB) string {
	t.Helper()
	url := os.Getenv(RedisURLEnv)
	if url == "" {
		leaveOut(t, "no Redis: "+RedisURLEnv+" is empty; run the tests with `make test` or `go run ./test/servers -- go test ./...`")
	}
	return url
}

// OwnRedis starts a server that only t uses and may kill, pause or flush. It ends
// with t. Where none is installed the test is skipped; with CI=true it fails.
func OwnRedis(t testing.TB) *Redis {
	t.Helper()
	server, err := StartRedis(t.Context())
	return forTest(t, server, err, ErrNoRedis)
}

// ConnectRedis returns a client that obeys the deadlines of contexts and tries nothing
// twice, as in production, but is patient, unless its options are changed. It is
// closed with t.
func ConnectRedis(t testing.TB, url string, change ...func(*goredis.Options)) *goredis.Client {
	t.Helper()
	options, err := goredis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	options.MaxRetries, options.ContextTimeoutEnabled, options.DialerRetries = -1, true, 1
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	options.DialTimeout, options.ReadTimeout = 10*time.Second, 10*time.Second
	for _, c := range change {
		c(options)
	}
	client := goredis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func leaveOut(t testing.TB, why any) {
	t.Helper()
	if inCI() {
		t.Fatal(why)
	}
	t.Skip(why)
}
