package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// post is a playground whose applications have receivers.
type post struct {
	*playground
	receivers []*receiver
	written   atomic.Int64 // events that were acknowledged
	told      sync.Map     // deliveries that were acknowledged, by 32 hex characters
	strikes   []strike
}

// strike is the end of a process, after which what it had not stored is done
// again.
type strike struct{ from, to time.Time }

// impatient is a schedule of retries in a hurry, with as many attempts as there
// are on live.
const impatient = "500ms,1s,1s,1s,2s,2s,2s,2s,2s,2s,2s"

// newPost starts the processes. Receivers may be on this machine.
func newPost(t *testing.T, of setting) *post {
	t.Helper()
	of.with = append(of.with, "WAYBILL_WEBHOOK_ALLOW_PRIVATE=true", "WAYBILL_WEBHOOK_RETRY_SCHEDULE="+impatient)
	return &post{playground: newPlayground(t, of)}
}

// receive makes an endpoint for all events of deliveries.
func (p *post) receive(t *testing.T, app *sender, s script) *receiver {
	t.Helper()
	r := newReceiver(t, app, s)
	key := "receiver " + r.server.URL
	made, err := app.insist(t.Context(), http.MethodPost, "/webhook-endpoints", key,
		m{"url": r.server.URL + "/hooks", "event_types": []string{"delivery.*"}})
	var answer struct{ Data struct{ ID, Secret string } }
	if err == nil && made.status != http.StatusCreated {
		err = fmt.Errorf("answered %s", made)
	}
	if err == nil {
		err = json.Unmarshal(made.body, &answer)
	}
	if err == nil {
		r.endpoint = answer.Data.ID
		r.verifier, err = standardwebhooks.NewWebhook(answer.Data.Secret)
	}
	if err != nil {
		t.Fatalf("an endpoint: %v", err)
	}
	p.receivers = append(p.receivers, r)
	return r
}

// refusedPause is what insist waits before it tries again.
const refusedPause = 50 * time.Millisecond

// insist sends a request until its answer is final. It gives up on one that a
// server was at when it died: for some seconds others take it for in progress.
func (s *sender) insist(ctx context.Context, method, path, key string, body m) (reply, error) {
	for {
		r, err := s.ask(ctx, method, path, key, body)
		switch {
		case ctx.Err() != nil:
			return r, ctx.Err()
		case err == nil && (!r.mayBeRepeated() || r.status == http.StatusConflict):
			return r, nil
		case err == nil:
			s.note(r.String())
		default:
			s.note("connection errors")
		}
		time.Sleep(refusedPause)
	}
}

// write makes clients order and move deliveries until there is enough. Wait for
// the group.
func (p *post) write(ctx context.Context, clients int, pause time.Duration, enough func() bool) *sync.WaitGroup {
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			c := newClerk(0, 20)
			for n := i; !enough() && ctx.Err() == nil; n++ {
				app := p.apps[n%len(p.apps)]
				switch n / len(p.apps) % 8 {
				case 0:
					p.orderMany(ctx, app, c)
				case 1, 2:
					p.walk(ctx, app, c, "cancelled")
				default:
					p.walk(ctx, app, c, "assigned", "picked_up", "in_transit", "delivered")
				}
				time.Sleep(pause)
			}
		})
	}
	return &group
}

// orderMany is a bulk.
func (p *post) orderMany(ctx context.Context, app *sender, c *clerk) {
	j := c.bulk(10, nil)
	var body m
	if err := json.Unmarshal(j.body, &body); err != nil {
		panic(err) // it was just written
	}
	r, err := app.insist(ctx, http.MethodPost, j.path, j.key, body)
	if err != nil || !app.expects(r, http.StatusCreated) {
		return
	}
	j.answered(r.body)
	for i := range j.items {
		p.acknowledge(j.told.idOf(i))
	}
}

// walk is one delivery that comes so far.
func (p *post) walk(ctx context.Context, app *sender, c *clerk, through ...string) {
	key, body := order(c, nil)
	r, err := app.insist(ctx, http.MethodPost, singlePath, key, body)
	if err != nil || !app.expects(r, http.StatusCreated) {
		return
	}
	d, err := r.delivery()
	if err != nil {
		app.note("wrong: " + err.Error())
		return
	}
	p.acknowledge(hexOf(d.ID))
	for _, status := range through {
		path, body := "/test-helpers/deliveries/"+d.ID+"/transition", m{"status": status}
		if status == "cancelled" {
			path, body = "/deliveries/"+d.ID+"/cancel", nil
		}
		// Under a key, so that a repeat is none.
		r, err := app.insist(ctx, http.MethodPost, path, key+status, body)
		if err != nil || !app.expects(r, http.StatusOK) {
			return
		}
		p.written.Add(1)
	}
}

// expects notes any other answer, and one that no client should get as wrong.
func (s *sender) expects(r reply, status int) bool {
	switch {
	case r.status == status:
		return true
	case r.mayBeRepeated():
		s.note(r.String())
	default:
		s.note("wrong: " + r.String())
	}
	return false
}

func (p *post) acknowledge(delivery string) {
	p.told.Store(delivery, true)
	p.written.Add(1)
}

// answered counts the answers that were no success. Those that no client should
// get fail the test.
func (p *post) answered(t *testing.T) string {
	t.Helper()
	all := map[string]int{}
	for _, app := range p.apps {
		app.mu.Lock()
		for what, n := range app.seen {
			if all[what] += n; strings.HasPrefix(what, "wrong: ") {
				t.Errorf("%d answers were %s", n, what)
			}
		}
		app.mu.Unlock()
	}
	return counts(all)
}

// struck notes what ended a process.
func (p *post) struck(end func()) {
	s := strike{from: time.Now()}
	end()
	s.to = time.Now()
	p.strikes = append(p.strikes, s)
}

// strikeWorker kills a worker and starts it again.
func (p *post) strikeWorker(t *testing.T, n int) {
	t.Helper()
	p.struck(p.lives[n].Kill)
	p.revive(t, n)
}

// strikeServer kills a server and starts it again.
func (p *post) strikeServer(t *testing.T, n int) {
	t.Helper()
	p.struck(p.serving[n].Kill)
	l, err := p.servers[n].launch(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	p.serving[n] = l
	t.Cleanup(l.Kill)
}

// pending is how many webhooks are to be sent, and -1 while the database is away.
func (p *post) pending(t *testing.T) (n int) {
	t.Helper()
	err := p.db.QueryRowContext(t.Context(), "SELECT count(*) FROM webhook_deliveries WHERE status = 'pending'").Scan(&n)
	if err != nil {
		return -1
	}
	return n
}

// drain waits until all simulations have ended and all is sent, and tells how
// long that took.
func (p *post) drain(t *testing.T, within time.Duration) (took time.Duration) {
	t.Helper()
	begun := time.Now()
	for p.running(t) != 0 || p.pending(t) != 0 {
		if time.Since(begun) > within {
			t.Logf("after %s %d webhooks are pending, and %d simulations run", within, p.pending(t), p.running(t))
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return time.Since(begun)
}

// feedReader follows the feed of an application by its cursor.
type feedReader struct {
	app  *sender
	seen []string // IDs of events, 32 hex characters
	err  error
}

// follow reads until the feed has so many events as there are when over is
// closed, or for some time after that.
func (f *feedReader) follow(ctx context.Context, over <-chan struct{}, events func() int) {
	cursor, patience := "", time.Time{}
	for ctx.Err() == nil {
		path := "/events?limit=100"
		if cursor != "" {
			path += "&cursor=" + url.QueryEscape(cursor)
		}
		r, err := f.app.ask(ctx, http.MethodGet, path, "", nil)
		if err != nil || r.status >= 500 {
			time.Sleep(singlePause) // the server is dead
			continue
		}
		var page struct {
			Data []struct{ ID string }
			Meta struct {
				HasMore bool   `json:"has_more"`
				Resume  string `json:"resume_cursor"`
			}
		}
		if err := json.Unmarshal(r.body, &page); err != nil || r.status != http.StatusOK {
			f.err = fmt.Errorf("the feed: %s %w", r, err)
			return
		}
		for _, e := range page.Data {
			f.seen = append(f.seen, hexOf(e.ID))
		}
		cursor = page.Meta.Resume
		if page.Meta.HasMore {
			continue
		}
		select {
		case <-over:
			if patience.IsZero() {
				patience = time.Now().Add(20 * time.Second)
			}
			if len(f.seen) >= events() || time.Now().After(patience) {
				return
			}
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// hexOfRow is an ID as Postgres shows it without its dashes.
func hexOfRow(id string) string { return strings.ReplaceAll(id, "-", "") }
