package deliveries

import (
	"testing"

	"waybill/domain"
)

func TestTheReferenceCacheKeepsTheLastOnesAndIsBounded(t *testing.T) {
	t.Parallel()
	const most = 10
	c := newReferenceCache(most)
	for i := range uint64(100) {
		c.add(domain.MakeReference(i))
		if !c.contains(domain.MakeReference(0)) { // a reference in use stays
			t.Fatalf("after %d others one that is in use is forgotten", i)
		}
		if n := len(c.now) + len(c.before); n > most {
			t.Fatalf("%d are kept", n)
		}
		for last := max(i, most/2-2) - (most/2 - 2); last < i; last++ {
			if _, now := c.now[domain.MakeReference(last)]; now {
				continue
			}
			if _, before := c.before[domain.MakeReference(last)]; !before {
				t.Fatalf("after %d, %d is forgotten", i, last)
			}
		}
	}
	if c.contains(domain.MakeReference(50)) {
		t.Error("what nobody asks for any more is kept")
	}
}
