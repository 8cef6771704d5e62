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

// The connections and time-outs of one process, unless its URL says otherwise.
// Every call in the path of a request has a shorter time-out of its own; these
// bound the others, such as the start of a subscription.
const (
	redisDialTimeout = time.Second
	Timeout          = 500 * time.Millisecond
	// QueueTimeout is longer: no request waits for the queue, and what it takes
	// for an outage makes it pause.
	QueueTimeout = 2 * time.Second
	// RedisConnections are the most that are used at once. A Redis that hangs
	// holds up so many calls, each for its time-out, until a breaker opens.
	RedisConnections = 32
)

// OpenQueue is Open for the queue, which has QueueTimeout.
func OpenQueue(address string) (*redis.Client, error) { return Open(address, QueueTimeout) }

// Open reads the URL. Its errors do not repeat it: it may hold a password.
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
	// A call that was sent twice would be counted twice.
	o.MaxRetries = -1
	o.ContextTimeoutEnabled, o.DisableIdentity = true, true
	o.DialerRetries = 1
	// Only Redis's own cloud answers what this would ask of each new connection.
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

// openSentinel is for a URL that names a Sentinel and, with master_name, what
// it watches; more Sentinels follow as addr=host:port. The user and password
// before the host are the Sentinel's, those of Redis are options too.
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

// redisDialer obeys the deadline of a request also while TLS is agreed upon,
// which the client's own does not.
func redisDialer(timeout time.Duration, t *tls.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: max(0, timeout)} // the URL turns one off with a number below
	if t == nil {
		return plain.DialContext
	}
	return (&tls.Dialer{NetDialer: plain, Config: t}).DialContext
}

// WarnOfEviction tells of a Redis that drops keys when its memory is full: one
// of the queue's may be half of a task, and its delivery would not be notified
// again. A Redis that does not answer, or does not tell, is no reason to wait.
func WarnOfEviction(ctx context.Context, client *redis.Client, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	info, err := client.Info(ctx, "memory").Result()
	if err != nil {
		return
	}
	for line := range strings.Lines(info) {
		policy, told := strings.CutPrefix(strings.TrimSpace(line), "maxmemory_policy:")
		if told && policy != "noeviction" {
			log.Warn("redis", "warning", "maxmemory-policy is "+policy+
				": when its memory is full, limits or what waits in the queue are dropped; set it to noeviction")
		}
	}
}

// Silence keeps the client's own log, which is one for the whole process,
// off stderr: it reports failed calls, which are logged by their callers.
var Silence = sync.OnceFunc(func() { redis.SetLogger(noRedisLog{}) })

type noRedisLog struct{}

func (noRedisLog) Printf(context.Context, string, ...any) {}

// Register shows whether Redis can be used and how many connections there are.
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
