package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/test/servers/pgserver"
)

const (
	// goneWithin is how long an answer may take while the database refuses
	// connections, and until all is well when it is back.
	goneWithin = 5 * time.Second
	// silentWithin is the same while the database takes connections and says
	// nothing: the server waits for some time before it gives up.
	silentWithin = 12 * time.Second
	customers    = 4
)

func TestADatabaseThatIsGoneAndComesBackCostsNoOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers; left out in short mode")
	}
	t.Parallel()
	server, err := pgserver.Start(t.Context())
	if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := gormstore.Migrate(t.Context(), server.URL); err != nil {
		t.Fatal(err)
	}
	shop := open(t, server.URL)
	shop.outage(t, goneWithin, server.Kill, func() error { return server.Restart(t.Context()) })
	shop.settle(t, pg, openDatabase(t, server.URL))
}

func TestADatabaseThatFallsSilentCostsNoOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server; left out in short mode")
	}
	t.Parallel()
	direct := freshDatabase(t, pg)
	w := newWire(t, direct)
	shop := open(t, w.through(t, direct))
	shop.outage(t, silentWithin, func() error { w.held.Lock(); return nil }, func() error { w.held.Unlock(); return nil })
	shop.settle(t, pg, openDatabase(t, direct))
}

// shop is one server, and customers who order from it whatever it answers.
type shop struct {
	server *victim
	sender *sender
	watch  *stopwatch

	closing chan struct{}
	open    sync.WaitGroup

	mu     sync.Mutex
	orders []*order
}

// open is a shop in which customers order all the time.
func open(t *testing.T, url string) *shop {
	t.Helper()
	s := serve(t, url)
	for range customers {
		s.open.Go(func() { s.trade(t.Context()) })
	}
	return s
}

// serve is a shop on a migrated database, and nobody in it yet.
func serve(t *testing.T, url string) *shop {
	t.Helper()
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	env := settings(url)
	s := &shop{
		server: newVictim(t, binary, env, func() bool { return false }), closing: make(chan struct{}),
		watch: &stopwatch{transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	s.sender = newSender(enroll(t, binary, env), []*victim{s.server})
	s.sender.client = &http.Client{Transport: s.watch, Timeout: time.Minute}
	cmd, exited, err := s.server.launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.watch.transport.CloseIdleConnections()
		_ = cmd.Process.Kill() // it fails only where the process is gone
		<-exited
	})
	return s
}

// trade sends one order after the other, each until it is answered 201.
func (s *shop) trade(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-s.closing:
			return
		default:
		}
		o := takeOrders(1, 0, 50)[0]
		s.mu.Lock()
		s.orders = append(s.orders, o)
		s.mu.Unlock()
		s.sender.send(ctx, o)
	}
}

func (s *shop) count(answer string) int {
	s.sender.mu.Lock()
	defer s.sender.mu.Unlock()
	return s.sender.seen[answer]
}

// outage takes the database away and gives it back, under the eyes of
// customers and operators.
func (s *shop) outage(t *testing.T, within time.Duration, away, back func() error) {
	t.Helper()
	const some = 30
	until(t, "orders are booked", goneWithin, func() bool { return s.count("201") >= some })
	if err := away(); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() { told <- s.fails(t.Context(), within) }()
	until(t, "the server is not ready", goneWithin, func() bool { return s.operators(t, "/readyz") == http.StatusServiceUnavailable })
	if status := s.operators(t, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz answers %d; starting the process anew would not help", status)
	}
	if err := <-told; err != nil {
		t.Error(err)
	}
	if err := back(); err != nil {
		t.Fatal(err)
	}
	until(t, "the server is ready", goneWithin, func() bool { return s.operators(t, "/readyz") == http.StatusOK })
	booked := s.count("201")
	until(t, "orders are booked again", goneWithin, func() bool { return s.count("201") >= booked+some })
	if slowest := s.watch.slowest(); slowest > within {
		t.Errorf("an answer took %s, want at most %s", slowest, within)
	}
}

// fails asks for what only the database knows, and is to be told that in time.
func (s *shop) fails(ctx context.Context, within time.Duration) error {
	begun := time.Now()
	r, err := s.list(ctx)
	if took := time.Since(begun); err != nil || took > within || r.String() != "500 INTERNAL_SERVER_ERROR" {
		return fmt.Errorf("after %s: %s (error %v), want an INTERNAL_SERVER_ERROR within %s", took, r, err, within)
	}
	return nil
}

// list asks for deliveries.
func (s *shop) list(ctx context.Context) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.url(), nil)
	if err != nil {
		return reply{}, err
	}
	return s.sender.do(req)
}

// operators is what the operators' listener answers.
func (s *shop) operators(t *testing.T, path string) int {
	t.Helper()
	res, err := http.Get("http://" + s.server.ops + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body) // only the status is asked for
	return res.StatusCode
}

// settle lets the customers end, sends every order once more, and compares
// what they were told with what is stored.
func (s *shop) settle(t *testing.T, engine string, db *sql.DB) {
	t.Helper()
	close(s.closing)
	s.open.Wait()
	replayAll(t.Context(), s.sender, s.orders, []*victim{s.server})
	o := outcome{storm: storm{engine: engine, orders: len(s.orders)}, seen: s.sender.seen}
	o.examine(t, db, s.orders)
	t.Log(o, "slowest", s.watch.slowest())
	if !o.sound() {
		t.Errorf("what went wrong:\n%s", o.report())
	}
	for answer := range s.sender.seen {
		switch answer {
		case "201", "replays", "500 INTERNAL_SERVER_ERROR":
		default:
			t.Errorf("%d answers were %q", s.sender.seen[answer], answer)
		}
	}
}

// until polls for what has to become true.
func until(t *testing.T, what string, within time.Duration, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %s: not so that %s", within, what)
		}
	}
}

// stopwatch is a transport that knows its slowest answer.
type stopwatch struct {
	transport *http.Transport
	longest   atomic.Int64
}

func (w *stopwatch) RoundTrip(r *http.Request) (*http.Response, error) {
	begun := time.Now()
	res, err := w.transport.RoundTrip(r)
	for took := int64(time.Since(begun)); ; {
		longest := w.longest.Load()
		if took <= longest || w.longest.CompareAndSwap(longest, took) {
			return res, err
		}
	}
}

func (w *stopwatch) slowest() time.Duration { return time.Duration(w.longest.Load()) }

// wire carries connections to a database. While it is held nothing passes, and
// nobody is told.
type wire struct {
	listener net.Listener
	to       string
	held     sync.RWMutex
}

func newWire(t *testing.T, database string) *wire {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	w := &wire{listener: l, to: u.Host}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go w.join(client)
		}
	}()
	return w
}

// through is the URL of the database at the other end.
func (w *wire) through(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = w.listener.Addr().String()
	return u.String()
}

func (w *wire) join(client net.Conn) {
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		_ = client.Close()
		return
	}
	go w.carry(client, server)
	w.carry(server, client)
}

func (w *wire) carry(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		w.held.RLock()
		_, err = to.Write(buffer[:n])
		w.held.RUnlock()
		if err != nil {
			return
		}
	}
}
