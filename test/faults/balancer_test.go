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
	"sync"
	"syscall"
	"testing"
	"time"

	"waybill/test/program"
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
	failures map[string]int // 5xx, and requests that were cut off
}

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
	until(t, "a server is ready", program.Patience, func() bool { return b.leadsTo(v) })
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
	return b.pass(r, body)
}

// pass sends the request to one server after the other until one does not refuse.
func (b *balancer) pass(r *http.Request, body []byte) (*http.Response, error) {
	for deadline := time.Now().Add(program.Patience); ; {
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
			answer, _ := io.ReadAll(res.Body)
			res.Body = io.NopCloser(bytes.NewReader(answer))
			b.fail(fmt.Sprintf("%s %s was answered %d %s", r.Method, r.URL.Path, res.StatusCode, answer))
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
