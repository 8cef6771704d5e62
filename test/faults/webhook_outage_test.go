package faults

import (
	"testing"
	"time"

	"waybill/test/backend"
)

// TestStormOnRedisLosesNoWebhook has a Redis that forgets, goes and comes back while events
// are written.
func TestStormOnRedisLosesNoWebhook(t *testing.T) {
	alongside(t)
	server := backend.OwnRedis(t)
	p := newPost(t, setting{dialect: Postgres, redis: server.URL, servers: 1, workers: 2, apps: 3})
	p.receive(t, p.apps[0], takes)
	p.receive(t, p.apps[0], takes)
	p.receive(t, p.apps[1], thinks(10*time.Millisecond))
	p.receive(t, p.apps[2], takes)
	quiet := p.apps[2] // gets events only while Redis is away
	p.apps = p.apps[:2]
	flushes, away, within := 20, 3*time.Second, 60*time.Second
	if full() {
		flushes, away, within = 200, time.Minute, 90*time.Second
	}
	direct := openRedis(t, server.URL)
	over := make(chan struct{})
	clients := p.write(t.Context(), 4, 20*time.Millisecond, func() bool {
		select {
		case <-over:
			return true
		default:
			return false
		}
	})
	flush := func() {
		for range flushes {
			if err := direct.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	flush()
	flushed := p.written.Load()
	server.Kill()
	gone := time.Now()
	for range 10 {
		p.walk(t.Context(), quiet, newClerk(0, 0), "assigned", "cancelled")
	}
	time.Sleep(time.Until(gone.Add(away)))
	written := p.written.Load() - flushed
	backlog := p.pending(t)
	if written < int64(away/time.Second) {
		t.Errorf("in %s without Redis %d events were written", away, written)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	flush()
	close(over)
	clients.Wait()
	p.drain(t, within)
	l := p.audit(t)
	t.Logf("Redis was emptied %d times and away for %.1f s, in which %d events were written and %d webhooks came to wait; %.1f s after it "+
		"was back all was sent: %s (answers: %s)",
		2*flushes, back.Sub(gone).Seconds(), written, backlog, time.Since(back).Seconds(), l, p.answered(t))
	for _, app := range append(p.apps, quiet) {
		for what, n := range app.seen {
			t.Errorf("%d answers were %q", n, what)
		}
	}
	if !l.sound() || l.doubled > 0 {
		t.Error("want every webhook once")
	}
}

// TestABacklogOutlivesTheProcess kills `waybill dev` in the middle of one.
func TestABacklogOutlivesTheProcess(t *testing.T) {
	alongside(t)
	p := newPost(t, setting{dialect: SQLite, apps: 1})
	r := p.receive(t, p.apps[0], thinks(200*time.Millisecond))
	events := 90
	if full() {
		events = 2_000
	}
	clients := p.write(t.Context(), 4, 0, func() bool { return int(p.written.Load()) >= events })
	clients.Wait()
	until(t, "some have arrived", time.Minute, func() bool { return r.taken() >= events/3 })
	waiting := p.pending(t)
	killed := time.Now()
	p.strikeServer(t, 0)
	p.drain(t, 2*time.Minute)
	took := time.Since(killed)
	l := p.audit(t)
	t.Logf("killed while %d webhooks were waiting; %.1f s later all had been sent: %s", waiting, took.Seconds(), l)
	if !l.sound() || waiting == 0 {
		t.Error("want all of them after the restart, and nothing twice but for the death")
	}
}
