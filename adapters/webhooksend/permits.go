package webhooksend

import (
	"context"
	"sync"

	"waybill/domain"
)

// attemptsPerHost is as much as all endpoints of one application may have
// under way at a host. Each owner of webhooks has so many: many customers may
// have their endpoints at one host.
const attemptsPerHost = 256

// permits bounds the attempts under way of each owner at each host.
type permits struct {
	mu    sync.Mutex
	hosts map[hostOfOwner]*permit
}

type hostOfOwner struct{ host, owner string }

// permit is known while an attempt is under way or waits to be.
type permit struct {
	free  chan struct{} // holds one for each attempt under way
	users int           // under way, and waiting to be
}

// enter waits until one more attempt may be made. leave is to be called after it.
func (p *permits) enter(ctx context.Context, key hostOfOwner) (leave func(), err error) {
	p.mu.Lock()
	of := p.hosts[key]
	if of == nil {
		if p.hosts == nil {
			p.hosts = make(map[hostOfOwner]*permit)
		}
		of = &permit{free: make(chan struct{}, attemptsPerHost)}
		p.hosts[key] = of
	}
	of.users++
	p.mu.Unlock()
	select {
	case of.free <- struct{}{}:
		return func() { <-of.free; p.forget(key, of) }, nil
	case <-ctx.Done():
		p.forget(key, of)
		return nil, &failure{domain.ErrorTimeoutConnect, ctx.Err()}
	}
}

// forget takes one attempt off, and the host with the last one.
func (p *permits) forget(key hostOfOwner, of *permit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of.users--; of.users == 0 {
		delete(p.hosts, key)
	}
}
