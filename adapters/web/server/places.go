package server

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// client is whose share a connection or a body counts against: an address, and its network. The
// zero client has no share: trusted proxies and this machine.
type client struct{ network, address string }

// places limits how many hold a place at a time: in total, of one network, and of one address.
type places[T comparable] struct {
	most, ofNetwork, ofAddress int // most 0: without limit

	mu       sync.Mutex
	taken    int
	networks map[string]*network[T]
}

// network is who of one network holds a place, by address, and since when.
type network[T comparable] struct {
	taken     int
	addresses map[string]map[T]time.Time
}

// fewest is how many places an address has in any case, if its network has as many: a browser opens
// six connections.
const fewest = 8

// limit lets one network have half of the places, and one address a quarter of that.
func (p *places[T]) limit(most int) {
	half := max(1, most/2)
	p.most, p.ofNetwork, p.ofAddress = most, half, max(half/4, min(half, fewest))
}

// take reports whether there was a place.
func (p *places[T]) take(c client, holder T) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.networks[c.network]
	if n == nil {
		n = &network[T]{addresses: map[string]map[T]time.Time{}}
	}
	if p.most > 0 && (p.taken >= p.most || c != client{} && (n.taken >= p.ofNetwork || len(n.addresses[c.address]) >= p.ofAddress)) {
		return false
	}
	if p.networks == nil {
		p.networks = map[string]*network[T]{}
	}
	p.networks[c.network] = n
	if n.addresses[c.address] == nil {
		n.addresses[c.address] = map[T]time.Time{}
	}
	n.addresses[c.address][holder] = time.Now()
	n.taken++
	p.taken++
	return true
}

// leave gives a place back.
func (p *places[T]) leave(c client, holder T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.networks[c.network]
	n.taken--
	p.taken--
	delete(n.addresses[c.address], holder)
	if len(n.addresses[c.address]) == 0 {
		delete(n.addresses, c.address)
	}
	if n.taken == 0 {
		delete(p.networks, c.network)
	}
}

// heaviest returns who holds the places of the address that has the most in the network of a client,
// and since when: of its own address, unless another one has more. Those without a share are not
// among them.
func (p *places[T]) heaviest(c client) map[T]time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.networks[c.network]
	if n == nil || c == (client{}) {
		return nil
	}
	found := n.addresses[c.address]
	for _, holders := range n.addresses {
		if len(holders) > len(found) {
			found = holders
		}
	}
	return maps.Clone(found)
}

// all returns every holder of a place.
func (p *places[T]) all() (found []T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.networks {
		for _, holders := range n.addresses {
			found = slices.AppendSeq(found, maps.Keys(holders))
		}
	}
	return found
}

func (p *places[T]) inUse() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}
