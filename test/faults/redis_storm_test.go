package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	goredis "github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"waybill/test/backend"
)

// mishap is one thing that may happen to a Redis, or on the way there.
type mishap struct {
	name       string
	begin, end func()
	always     bool // part of the short form
}

// TestStormOnRedisFailsNoCall breaks Redis in several ways while customers order. What that
// costs in time is for the tests of the limiter and of the locks to say.
func TestStormOnRedisFailsNoCall(t *testing.T) {
	alongside(t)
	server := backend.OwnRedis(t)
	way := newToxicWay(t, server.URL)
	database := freshDatabase(t, Postgres)
	shop := serve(t, database, 2, "WAYBILL_REDIS_URL="+way.url)
	shop.bulks = true
	lasts := 500 * time.Millisecond
	if full() {
		lasts = 6 * time.Second
	}
	shop.admit(t.Context())
	n := 0
	for _, o := range mishaps(t, server, way) {
		if !o.always && !full() {
			continue
		}
		n++
		o.begin()
		const some = 20
		booked := shop.booked()
		time.Sleep(lasts) // the length of the fault
		until(t, "orders are booked with Redis "+o.name, time.Minute, func() bool { return shop.booked() >= booked+some })
		shop.spendAlone(t)
		if status := shop.operators(t, "/readyz"); status != http.StatusOK {
			t.Errorf("with Redis %s /readyz answers %d", o.name, status)
		}
		o.end()
		shop.countsInRedis(t)
	}

	// Servers start without Redis, and find it later.
	shop.close()
	way.close()
	shop.joinLate(t, "unreachable")
	way.open(t)
	way.poison(t, "timeout", m{"timeout": 0})
	shop.joinLate(t, "silent")
	way.proxy.Toxics.ResetToxics(t.Context())
	shop.countsInRedis(t)
	shop.settle(t, fmt.Sprintf("Redis in %d mishaps", n), openDatabase(t, database), Postgres)
}

// joinLate starts one more server while Redis is unwell.
func (s *shop) joinLate(t *testing.T, while string) {
	t.Helper()
	late := newVictim(t, s.env)
	begun := time.Now()
	late.start(t)
	t.Logf("with Redis %s a server answers %s after its start", while, time.Since(begun).Round(time.Millisecond))
	s.servers, s.sender.targets = append(s.servers, late), append(s.sender.targets, late.url())
	s.bookAgain(t, time.Now())
}

func mishaps(t *testing.T, server *backend.Redis, way *toxicWay) []mishap {
	t.Helper()
	direct := openRedis(t, server.URL)
	done := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	restart := func() { done(server.Restart(t.Context())) }
	flush := func() { done(direct.FlushAll(t.Context()).Err()) }
	pause := func() { done(server.Pause()) }
	resume := func() { done(server.Resume()) }
	heal := func() { way.proxy.Toxics.ResetToxics(t.Context()) }
	poison := func(kind string, attributes m) func() {
		return func() { way.poison(t, kind, attributes) }
	}
	return []mishap{
		{"killed", server.Kill, restart, true},
		{"flushed", flush, flush, true},
		{"stopped where it is", pause, resume, true},
		{"restarted", restart, func() {}, false},
		{"unreachable", way.close, func() { way.open(t) }, false},
		{"silent", poison("timeout", m{"timeout": 0}), heal, false},
		{"slow", poison("latency", m{"latency": 200, "jitter": 190}), heal, true},
		{"at the end of a thin line", poison("bandwidth", m{"rate": 1}), heal, false},
		{"cutting connections", poison("reset_peer", m{"timeout": 5}), heal, true},
		{"cutting answers", poison("limit_data", m{"bytes": 150}), heal, false},
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// spendAlone sends more requests than a limit allows while Redis is unwell.
// Each server may count for itself then, and none refuses what the limit allows.
func (s *shop) spendAlone(t *testing.T) {
	t.Helper()
	const limit = 50
	admitted := s.spend(t, "50/60s", 4*limit)
	t.Logf("%d of %d requests were admitted, the limit is %d", admitted, 4*limit, limit)
	if most := (len(s.servers) + 1) * limit; admitted < limit-1 || admitted > most {
		t.Errorf("want from %d to %d", limit, most)
	}
}

// toxicWay is a way to Redis on which much can go wrong.
type toxicWay struct {
	url   string
	proxy *toxiproxy.Proxy
}

func newToxicWay(t *testing.T, redisURL string) *toxicWay {
	t.Helper()
	u, err := url.Parse(redisURL)
	if err != nil {
		t.Fatal(err)
	}
	zerolog.SetGlobalLevel(zerolog.Disabled) // some poisons have a logger of their own
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	w := &toxicWay{proxy: toxiproxy.NewProxy(server, "redis", "127.0.0.1:0", u.Host)}
	w.open(t)
	t.Cleanup(w.close)
	u.Host = w.proxy.Listen
	w.url = u.String()
	return w
}

// open lets connections through; close refuses them and cuts those there are.
func (w *toxicWay) open(t *testing.T) {
	t.Helper()
	if err := w.proxy.Start(); err != nil {
		t.Fatal(err)
	}
}

func (w *toxicWay) close() { w.proxy.Stop() }

// poison makes the answers of Redis suffer, on all connections.
func (w *toxicWay) poison(t *testing.T, kind string, attributes m) {
	t.Helper()
	toxic, err := json.Marshal(m{"type": kind, "stream": "downstream", "attributes": attributes})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.proxy.Toxics.AddToxicJson(bytes.NewReader(toxic)); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
}

func openRedis(t *testing.T, url string) *goredis.Client {
	t.Helper()
	return backend.ConnectRedis(t, url, func(o *goredis.Options) { o.ReadTimeout = 500 * time.Millisecond })
}
