package webhooksend

import (
	"context"
	"sync"

	"waybill/domain"
)

// attemptsPerHost limits the attempts that all endpoints of one application may have in flight
// to a host. Each owner of webhooks has its own limit: many customers may have their endpoints
// at one host.
const attemptsPerHost = 256

// permits limits the attempts in flight of each owner at each host.
type permits struct {
	mu    sync.Mutex
	hosts map[hostOfOwner]*permit
}

type hostOfOwner struct{ host, owner string }

// permit exists while an attempt is in flight or waits.
type permit struct {
	free  chan struct{} // holds one for each attempt in flight
	users int           // in flight, and waiting
}

// enter waits until one more attempt is allowed. Call leave after the attempt.
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

// forget removes one attempt, and the host with its last one.
func (p *permits) forget(key hostOfOwner, of *permit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of.users--; of.users == 0 {
		delete(p.hosts, key)
	}
}
