package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// balancer leads requests to servers that say they are ready, as a load balancer does. It
// tries another server only where one refuses the connection: any other request may have
// been read, and is not sent twice, but for reads that Go's transport sends again by
// itself. What a client would see of a server that ends is a failure.
type balancer struct {
	transport *http.Transport
	lookEvery time.Duration // between two questions whether a server is ready

	mu       sync.Mutex
	behind   []*victim
	ready    map[*victim]bool
	refused  int            // connections
	repeated int            // creates that were sent again right after their answer
	failures map[string]int // 5xx, requests that were cut off, repeats with another answer
	kept     []exchange     // creates, to be sent again at the end
}

// exchange is a create and its answer.
type exchange struct{ path, authorization, key, body, answer string }

// repeatOneIn of the creates are sent again at once, and once more at the end.
const repeatOneIn = 5

func newBalancer(t *testing.T, lookEvery time.Duration, servers ...*victim) *balancer {
	t.Helper()
	b := &balancer{transport: &http.Transport{MaxIdleConnsPerHost: 256}, lookEvery: lookEvery, behind: slices.Clone(servers),
		ready: map[*victim]bool{}, failures: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	looking.Go(func() {
		for ctx.Err() == nil {
			b.look(ctx)
			time.Sleep(b.lookEvery)
		}
	})
	t.Cleanup(func() { stop(); looking.Wait(); b.transport.CloseIdleConnections() })
	return b
}

// look asks each server whether it is ready.
func (b *balancer) look(ctx context.Context) {
	b.mu.Lock()
	servers := b.behind
	b.mu.Unlock()
	var looking sync.WaitGroup
	for _, v := range servers {
		looking.Go(func() {
			ready := v.says(ctx, "/readyz")
			b.mu.Lock()
			b.ready[v] = ready
			b.mu.Unlock()
		})
	}
	looking.Wait()
}

// add leads requests to one more server, and returns when it is ready.
func (b *balancer) add(t *testing.T, v *victim) {
	t.Helper()
	b.mu.Lock()
	b.behind = append(b.behind[:len(b.behind):len(b.behind)], v)
	b.mu.Unlock()
	until(t, "a server is ready", startPatience, func() bool { return b.leadsTo(v) })
}

func (b *balancer) leadsTo(v *victim) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready[v]
}

// remove forgets a server that is gone.
func (b *balancer) remove(gone *victim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var left []*victim
	for _, v := range b.behind {
		if v != gone {
			left = append(left, v)
		}
	}
	b.behind = left
}

// choose is one of the servers that are ready; nil: none is.
func (b *balancer) choose() *victim {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, i := range rand.Perm(len(b.behind)) {
		if v := b.behind[i]; b.ready[v] {
			return v
		}
	}
	return nil
}

func (b *balancer) fail(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures[what]++
}

// RoundTrip sends a request to a server that is ready, whichever its address names.
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close() // it was read
	}
	res, err := b.pass(r, body)
	creates := r.Method == http.MethodPost && (strings.HasSuffix(r.URL.Path, singlePath) || strings.HasSuffix(r.URL.Path, bulkPath))
	if err != nil || !creates || res.StatusCode != http.StatusCreated || rand.IntN(repeatOneIn) > 0 {
		return res, err
	}
	answer, err := io.ReadAll(res.Body)
	_ = res.Body.Close() // it was read
	res.Body = io.NopCloser(bytes.NewReader(answer))
	if err != nil {
		b.fail("cut off in its answer: " + err.Error())
		return nil, err
	}
	e := exchange{path: r.URL.Path, authorization: r.Header.Get("Authorization"), key: r.Header["Idempotency-Key"][0], body: string(body),
		answer: string(answer)}
	b.repeat(r.Context(), e)
	b.mu.Lock()
	b.kept, b.repeated = append(b.kept, e), b.repeated+1
	b.mu.Unlock()
	return res, nil
}

// pass sends the request to one server after the other until one does not refuse.
func (b *balancer) pass(r *http.Request, body []byte) (*http.Response, error) {
	for deadline := time.Now().Add(startPatience); ; {
		v := b.choose()
		if v == nil {
			if r.Context().Err() != nil || time.Now().After(deadline) {
				b.fail("no server is ready")
				return nil, errors.New("no server is ready")
			}
			time.Sleep(time.Millisecond)
			continue
		}
		sent := r.Clone(r.Context())
		sent.URL.Host, sent.Host, sent.GetBody = v.sandbox, v.sandbox, nil
		if sent.Body = http.NoBody; len(body) > 0 {
			sent.Body = io.NopCloser(bytes.NewReader(body))
		}
		res, err := b.transport.RoundTrip(sent)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			b.mu.Lock()
			b.ready[v], b.refused = false, b.refused+1
			b.mu.Unlock()
			continue
		case err != nil && r.Context().Err() == nil:
			b.fail("cut off: " + plainly(err))
		case err == nil && res.StatusCode >= http.StatusInternalServerError:
			b.fail(fmt.Sprintf("%s %s was answered %d", r.Method, r.URL.Path, res.StatusCode))
		}
		return res, err
	}
}

// plainly is an error without the addresses, so that equal ones count together.
func plainly(err error) string {
	if cause := errors.Unwrap(err); cause != nil {
		return plainly(cause)
	}
	return err.Error()
}

// repeat sends a create again, which has to have the same answer.
func (b *balancer) repeat(ctx context.Context, e exchange) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://any"+e.path, http.NoBody)
	if err != nil {
		b.fail(err.Error())
		return
	}
	req.Header.Set("Authorization", e.authorization)
	req.Header.Set("Content-Type", "application/json")
	req.Header["Idempotency-Key"] = []string{e.key}
	res, err := b.pass(sized(req, e.body), []byte(e.body))
	if err != nil {
		return // it was counted
	}
	defer res.Body.Close()
	switch answer, err := io.ReadAll(res.Body); {
	case err != nil:
		b.fail("cut off in its answer: " + err.Error())
	case res.StatusCode == http.StatusTooManyRequests: // an application has so many bulks in flight at a server
		time.Sleep(refusedPause)
		b.repeat(ctx, e)
	case res.StatusCode != http.StatusCreated || res.Header.Get("Idempotent-Replayed") != "true":
		b.fail(fmt.Sprintf("a repeat was answered %d: %s", res.StatusCode, answer))
	case string(answer) != e.answer:
		b.fail("a repeat was answered with other bytes")
	}
}

func sized(r *http.Request, body string) *http.Request {
	r.ContentLength = int64(len(body))
	return r
}

// repeatAll sends every create that was kept once more.
func (b *balancer) repeatAll(ctx context.Context) {
	work := make(chan exchange)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for e := range work {
				b.repeat(ctx, e)
			}
		})
	}
	for _, e := range b.kept {
		work <- e
	}
	close(work)
	group.Wait()
}
