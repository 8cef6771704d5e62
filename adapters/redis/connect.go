package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// The connection limits and timeouts of one process, unless its URL sets others. Every call in
// the path of a request has a shorter timeout of its own. These limit the others, such as the
// start of a subscription.
const (
	redisDialTimeout = time.Second
	Timeout          = 500 * time.Millisecond
	// QueueTimeout is longer: no request waits for the queue, and a call that times out counts
	// as an outage and pauses the queue.
	QueueTimeout = 2 * time.Second
	// RedisConnections limits the connections used at once. A Redis that hangs blocks this many
	// calls, each until its timeout, until a circuit breaker opens.
	RedisConnections = 32
)

// OpenQueue opens a client for the queue, with QueueTimeout.
func OpenQueue(address string) (*redis.Client, error) { return Open(address, QueueTimeout) }

// Open creates a client from a URL. Its errors do not repeat the URL, which may hold a
// password.
func Open(address string, timeout time.Duration) (*redis.Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is no URL; a user or password with other characters than letters and digits has to be percent-encoded")
	}
	if u.Query().Has("master_name") {
		return openSentinel(address, timeout)
	}
	o, err := redis.ParseURL(address)
	if err != nil {
		return nil, errors.New("its database is no number, or it has options that Redis's client does not know")
	}
	// A retried call would be counted twice.
	o.MaxRetries = -1
	o.ContextTimeoutEnabled, o.DisableIdentity = true, true
	o.DialerRetries = 1
	// Only Redis's own cloud answers this request, which each new connection would send.
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	fill(&o.DialTimeout, redisDialTimeout)
	fill(&o.ReadTimeout, timeout)
	fill(&o.WriteTimeout, timeout)
	fill(&o.PoolSize, RedisConnections)
	if o.Network != "unix" {
		o.Dialer = redisDialer(o.DialTimeout, o.TLSConfig)
	}
	return redis.NewClient(o), nil
}

// openSentinel creates a client from a URL that names a Sentinel and, in master_name, the Redis
// it watches. More Sentinels follow as addr=host:port. The user and password before the host
// are the Sentinel's. Those of Redis are options too.
func openSentinel(address string, timeout time.Duration) (*redis.Client, error) {
	o, err := redis.ParseFailoverURL(address)
	if err != nil || o.RouteByLatency || o.RouteRandomly || o.ReplicaOnly {
		return nil, errors.New("it names a Sentinel, and has options that do not go with one")
	}
	o.MaxRetries = -1
	o.ContextTimeoutEnabled, o.DisableIdentity = true, true
	o.DialerRetries = 1
	fill(&o.DialTimeout, redisDialTimeout)
	fill(&o.ReadTimeout, timeout)
	fill(&o.WriteTimeout, timeout)
	fill(&o.PoolSize, RedisConnections)
	o.Dialer = redisDialer(o.DialTimeout, o.TLSConfig)
	return redis.NewFailoverClient(o), nil
}

func fill[T int | time.Duration](setting *T, standard T) {
	if *setting == 0 {
		*setting = standard
	}
}

// redisDialer keeps the deadline of a request during the TLS handshake too, which the client's
// own dialer does not.
func redisDialer(timeout time.Duration, t *tls.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: max(0, timeout)} // a negative number in the URL turns it off
	if t == nil {
		return plain.DialContext
	}
	return (&tls.Dialer{NetDialer: plain, Config: t}).DialContext
}

// WarnOfEviction logs a warning about a Redis that evicts keys when its memory is full. An
// evicted key of the queue may be half of a task, and notifications of its ID would be lost
// from then on. It ignores a Redis that does not answer or does not report its policy.
func WarnOfEviction(ctx context.Context, client *redis.Client, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	info, err := client.Info(ctx, "memory").Result()
	if err != nil {
		return
	}
	for line := range strings.Lines(info) {
		policy, found := strings.CutPrefix(strings.TrimSpace(line), "maxmemory_policy:")
		if found && policy != "noeviction" {
			log.Warn("redis", "warning", "maxmemory-policy is "+policy+
				": when its memory is full, limits or what waits in the queue are dropped; set it to noeviction")
		}
	}
}

// Silence turns off the log of the Redis client, which is one for the whole process and writes
// to stderr. It reports failed calls, which their callers log.
var Silence = sync.OnceFunc(func() { redis.SetLogger(noRedisLog{}) })

type noRedisLog struct{}

func (noRedisLog) Printf(context.Context, string, ...any) {}

// Register registers the metrics that show whether Redis is usable and how many connections are
// open.
func Register(trial *Trial, client *redis.Client, queue *redis.Client, r prometheus.Registerer) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "waybill_redis_up", Help: "1 when Redis runs a script that writes and carries messages, else 0.",
	}, func() float64 {
		if trial.Run(context.Background()) != nil {
			return 0
		}
		return 1
	}), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "waybill_redis_connections_open", Help: "Connections to Redis.",
	}, func() float64 { return float64(client.PoolStats().TotalConns + queue.PoolStats().TotalConns) }))
}
