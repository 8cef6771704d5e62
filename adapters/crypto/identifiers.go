package crypto

import (
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Identifiers = Identifiers{}

// Identifiers generates values that must never repeat.
type Identifiers struct {
	clock ports.Clock
	// last is the time of the newest ID: milliseconds since 1970 in the upper bits, a count of
	// 12 bits below them.
	last *atomic.Int64
}

// countBits is the number of bits that distinguish the IDs of one millisecond. When they are used
// up, the IDs run ahead into the next millisecond.
const countBits = 12

// NewIdentifiers returns a source of identifiers that uses the time of the clock.
func NewIdentifiers(clock ports.Clock) Identifiers {
	return Identifiers{clock: clock, last: new(atomic.Int64)}
}

// ID generates an ID of the kind. It uses no library for UUIDs of version 7, since libraries use
// the machine's time.
func (i Identifiers) ID(p domain.Prefix) domain.ID {
	var id [16]byte
	_, _ = rand.Read(id[8:]) // never fails: it ends the process instead
	at := i.next()
	binary.BigEndian.PutUint64(id[:], uint64(at>>countBits)<<16|7<<12|uint64(at&(1<<countBits-1))) //nolint:gosec // a time after 1970
	id[8] = id[8]&0x3f | 0x80
	return domain.MakeID(p, id)
}

// next returns a value later than all that it returned before.
func (i Identifiers) next() int64 {
	for {
		last := i.last.Load()
		next := max(i.clock.Now().UnixMilli()<<countBits, last+1)
		if i.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// Reference generates a reference of 60 random bits.
func (Identifiers) Reference() domain.Reference {
	var bits [8]byte
	_, _ = rand.Read(bits[:]) // never fails: it ends the process instead
	return domain.MakeReference(binary.BigEndian.Uint64(bits[:]))
}

// APIKey generates a secret for the environment.
func (Identifiers) APIKey(e domain.Environment) string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails: it ends the process instead
	return domain.MakeAPIKey(e, random)
}

// SigningSecret generates a secret of random bytes.
func (Identifiers) SigningSecret() (secret [32]byte) {
	_, _ = rand.Read(secret[:]) // never fails: it ends the process instead
	return secret
}
