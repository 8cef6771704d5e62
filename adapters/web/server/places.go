package server

import "sync"

// places limits how many may do something at a time, in total and for one client.
type places struct {
	most, each int // most 0: without limit

	mu    sync.Mutex
	taken int
	by    map[string]int // by client
}

// take reports whether there was a place. The client "" has no limit of its own.
func (p *places) take(client string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.most > 0 && (p.taken >= p.most || client != "" && p.by[client] >= p.each) {
		return false
	}
	p.taken++
	if client != "" {
		if p.by == nil {
			p.by = map[string]int{}
		}
		p.by[client]++
	}
	return true
}

// leave gives a place back.
func (p *places) leave(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if client == "" {
		return
	}
	if p.by[client]--; p.by[client] == 0 {
		delete(p.by, client)
	}
}

func (p *places) inUse() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}
