package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	searchers    = 50 // threads of an attack, as many as may be in flight
	bulkSenders  = 48
	listeners    = 16
	refusedPause = time.Second // what a refusal tells to wait
)

// attacks are all there are, each from one key of the sandbox.
func (s *street) attacks() []*night {
	return []*night{
		{name: "searches", attack: func(_ context.Context, key string) ([]raid, error) {
			pattern := url.QueryEscape(strings.Repeat("f", 99) + "x")
			return alike(searchers, getRequest(s.serving.sandbox, key, "/v1/pickup-locations?search="+pattern)), nil
		}},
		{name: "feed", attack: func(_ context.Context, key string) ([]raid, error) {
			return alike(searchers, getRequest(s.serving.sandbox, key, "/v1/events?type=delivery.cancelled")), nil
		}},
		{name: "bulks", attack: s.bulkFlood},
		{name: "listeners", attack: s.listenerFlood},
		{name: "replays", attack: func(_ context.Context, key string) ([]raid, error) {
			body := strings.ReplaceAll(orderBody, placeholder, "9999999")
			return alike(searchers, postRequest(s.serving.sandbox, key, "/v1/deliveries", "bench-one-key", body)), nil
		}},
	}
}

// raid is one thread of an attack: a request that is sent over and over, with a
// number where it has room for one.
type raid struct {
	request []byte
	next    func() int
}

func alike(n int, request []byte) []raid {
	raids := make([]raid, n)
	for i := range raids {
		raids[i] = raid{append([]byte{}, request...), func() int { return 0 }}
	}
	return raids
}

// bulkFlood books the dearest there are, over and over.
func (s *street) bulkFlood(_ context.Context, key string) ([]raid, error) {
	request := bulkRequest(s.serving.sandbox, key)
	var mu sync.Mutex
	next := func() int {
		mu.Lock()
		defer mu.Unlock()
		s.attacked += bulkSize
		return s.attacked
	}
	raids := alike(bulkSenders, request)
	for i := range raids {
		raids[i].next = next
	}
	return raids, nil
}

// listenerFlood waits for webhooks that never come.
func (s *street) listenerFlood(ctx context.Context, key string) ([]raid, error) {
	if _, err := s.db.Exec(ctx, "DELETE FROM webhook_endpoints"); err != nil { // of the round before
		return nil, err
	}
	var raids []raid
	for i := range listeners {
		c, err := dialWith(ctx, s.serving.sandbox, postRequest(s.serving.sandbox, key, "/v1/webhook-listeners",
			fmt.Sprintf("bench-listener-%p-%d", &raids, i), "{}"))
		if err != nil {
			return nil, err
		}
		a, err := c.exchange()
		_ = c.net.Close()
		if err != nil {
			return nil, err
		}
		id, err := idIn(a, http.StatusCreated)
		if err != nil {
			return nil, err
		}
		raids = append(raids, alike(1, postRequest(s.serving.sandbox, key, "/v1/webhook-listeners/"+id+"/fetch", "", `{"wait_seconds":2}`))...)
	}
	return raids, nil
}

// strike sends until the context ends.
func (r raid) strike(ctx context.Context, address string, t *tally) {
	var c *conn
	defer func() {
		if c != nil {
			_ = c.net.Close()
		}
	}()
	for ctx.Err() == nil {
		var a answer
		var err error
		if c == nil {
			c, err = dialWith(ctx, address, r.request)
		}
		if err == nil {
			a, err = r.send(ctx, c)
		}
		t.add(a.status)
		if err != nil && c != nil {
			_ = c.net.Close()
			c = nil
		}
		if err != nil || a.status == http.StatusTooManyRequests || a.status >= http.StatusInternalServerError {
			_ = pause(ctx, refusedPause) // the loop tells of its end
		}
	}
}

// send waits for no answer behind the end of the attack.
func (r raid) send(ctx context.Context, c *conn) (answer, error) {
	defer context.AfterFunc(ctx, func() { _ = c.net.Close() })()
	if n := r.next(); len(c.phones) > 0 && n > 0 {
		return c.bulk(n)
	}
	return c.exchange()
}

// tally counts answers by their status; 0 is none.
type tally struct {
	mu     sync.Mutex
	counts map[int]int
}

func (t *tally) add(status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[int]int{}
	}
	t.counts[status]++
}
