package deliveries

import (
	"sync"

	"waybill/domain"
)

// maxCachedReferences limits the cache to some 2 MB.
const maxCachedReferences = 20_000

// referenceCache holds references that were found lately: at least the last half of most, and never
// more than most.
type referenceCache struct {
	mu          sync.Mutex
	half        int
	now, before map[domain.Reference]struct{}
}

func newReferenceCache(most int) *referenceCache {
	return &referenceCache{half: most / 2, now: map[domain.Reference]struct{}{}}
}

func (c *referenceCache) contains(r domain.Reference) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, now := c.now[r]
	if _, before := c.before[r]; before && !now {
		c.put(r)
		return true
	}
	return now
}

func (c *referenceCache) add(r domain.Reference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(r)
}

func (c *referenceCache) put(r domain.Reference) {
	if len(c.now) >= c.half {
		c.before, c.now = c.now, map[domain.Reference]struct{}{}
	}
	c.now[r] = struct{}{}
}
