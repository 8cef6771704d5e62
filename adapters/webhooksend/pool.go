package webhooksend

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"

	"waybill/domain"
)

const (
	// idlePerHost is enough for several endpoints of one host at full speed, so
	// that connections are kept rather than made anew.
	idlePerHost = 64
	idleInAll   = 512
	// attemptsPerHost is as much as all endpoints of one application may have
	// under way at a host. Each owner of webhooks has so many: many customers may
	// have their endpoints at one host.
	attemptsPerHost = 256
)

// pool keeps connections for their hosts.
type pool struct {
	idleFor time.Duration

	mu     sync.Mutex
	hosts  map[hostKey]*host
	idle   list.List // all that are kept, the longest first
	closed bool
}

// host is known while it has an attempt under way or a connection kept.
type host struct {
	key      hostKey
	permits  chan struct{} // one for each attempt under way
	attempts int           // under way, and waiting to be
	idle     []*conn       // the last used at the end
}

func newPool(idleFor time.Duration) *pool {
	return &pool{idleFor: idleFor, hosts: make(map[hostKey]*host)}
}

// enter waits until one more attempt may be made. Call leave after it.
func (p *pool) enter(ctx context.Context, key hostKey, deadline time.Time) (*host, error) {
	p.mu.Lock()
	h := p.hosts[key]
	if h == nil {
		h = &host{key: key, permits: make(chan struct{}, attemptsPerHost)}
		p.hosts[key] = h
	}
	h.attempts++
	p.mu.Unlock()
	select {
	case h.permits <- struct{}{}:
		return h, nil
	default:
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	select {
	case h.permits <- struct{}{}:
		return h, nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		p.forget(h)
		return nil, &failure{domain.ErrorTimeoutConnect, ctx.Err()}
	}
}

func (p *pool) leave(h *host) {
	<-h.permits
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(h)
}

// forget takes one attempt off. The lock is held.
func (p *pool) forget(h *host) {
	h.attempts--
	p.prune(h)
}

// prune drops a host that nothing is known of any more. The lock is held.
func (p *pool) prune(h *host) {
	if h.attempts == 0 && len(h.idle) == 0 {
		delete(p.hosts, h.key)
	}
}

// take returns a kept connection, or nil.
func (p *pool) take(h *host) *conn {
	for {
		p.mu.Lock()
		var c *conn
		if n := len(h.idle); n > 0 {
			c = h.idle[n-1]
			p.remove(c)
		}
		p.mu.Unlock()
		if c == nil || c.alive() {
			return c
		}
		c.close()
	}
}

// put keeps a connection, or closes it where there are enough.
func (p *pool) put(h *host, c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(h.idle) >= idlePerHost {
		c.close()
		return
	}
	if p.idle.Len() >= idleInAll {
		p.drop(p.idle.Front().Value.(*conn))
	}
	c.host, c.place = h, p.idle.PushBack(c)
	h.idle = append(h.idle, c)
	if c.timer == nil {
		c.timer = time.AfterFunc(p.idleFor, func() { p.expire(c) })
	} else {
		c.timer.Reset(p.idleFor)
	}
}

// expire closes a connection whose time is over, if it is kept.
func (p *pool) expire(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.place != nil {
		p.drop(c)
	}
}

// drop closes a kept connection. The lock is held.
func (p *pool) drop(c *conn) {
	h := c.host
	p.remove(c)
	p.prune(h)
	c.close()
}

// remove takes a kept connection out. The lock is held.
func (p *pool) remove(c *conn) {
	c.timer.Stop()
	p.idle.Remove(c.place)
	i := slices.Index(c.host.idle, c)
	c.host.idle = slices.Delete(c.host.idle, i, i+1)
	c.host, c.place = nil, nil
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for p.idle.Len() > 0 {
		p.drop(p.idle.Front().Value.(*conn))
	}
}
