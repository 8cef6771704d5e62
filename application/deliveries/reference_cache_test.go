package deliveries

import (
	"testing"

	"waybill/domain"
)

func TestFamiliarReferencesAreTheLastOnesAndBounded(t *testing.T) {
	t.Parallel()
	const most = 10
	f := newFamiliar(most)
	for i := range uint64(100) {
		f.add(domain.MakeReference(i))
		if !f.knows(domain.MakeReference(0)) { // what is asked for stays
			t.Fatalf("after %d others one that is in use is forgotten", i)
		}
		if n := len(f.now) + len(f.before); n > most {
			t.Fatalf("%d are kept", n)
		}
		for last := max(i, most/2-2) - (most/2 - 2); last < i; last++ {
			if _, now := f.now[domain.MakeReference(last)]; now {
				continue
			}
			if _, before := f.before[domain.MakeReference(last)]; !before {
				t.Fatalf("after %d, %d is forgotten", i, last)
			}
		}
	}
	if f.knows(domain.MakeReference(50)) {
		t.Error("what nobody asks for any more is kept")
	}
}
