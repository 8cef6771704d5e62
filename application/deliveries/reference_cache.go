package deliveries

import (
	"sync"

	"waybill/domain"
)

// mostFamiliar references take some 2 MB.
const mostFamiliar = 20_000

// familiar remembers references that were found lately: at least the last half
// of most, and never more than most.
type familiar struct {
	mu          sync.Mutex
	half        int
	now, before map[domain.Reference]struct{}
}

func newFamiliar(most int) *familiar {
	return &familiar{half: most / 2, now: map[domain.Reference]struct{}{}}
}

func (f *familiar) knows(r domain.Reference) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, now := f.now[r]
	if _, before := f.before[r]; before && !now {
		f.keep(r)
		return true
	}
	return now
}

func (f *familiar) add(r domain.Reference) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep(r)
}

func (f *familiar) keep(r domain.Reference) {
	if len(f.now) >= f.half {
		f.before, f.now = f.now, map[domain.Reference]struct{}{}
	}
	f.now[r] = struct{}{}
}
