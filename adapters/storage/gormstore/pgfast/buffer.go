package pgfast

import (
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"
)

// buffer is the memory that a pipeline is encoded into. pgx keeps a small one per
// connection, grows it by doubling, and throws the large one away. This buffer replaces
// it: it is sent as the first message of a pipeline, encodes to nothing, and puts its
// own array under the messages that follow.
type buffer struct {
	pgproto3.Sync
	size  int    // with all that is around the values
	data  int    // the values alone
	taken []byte // nil: not one of buffers
}

// buffers are reused. The content of one has been sent when it comes back.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// The smallest reused one is larger than pgx's own; larger ones than the largest
// are rare and not kept.
const (
	smallBuffer = 16 << 10
	largeBuffer = 512 << 10
)

func bufferFor(steps []Step) *buffer {
	const head = 64 // of a message and of those beside it, more or less
	b := &buffer{}
	for _, s := range steps {
		b.size += 2*head + len(s.Statement)
		for _, v := range s.Values {
			b.size, b.data = b.size+8+len(v.Data), b.data+len(v.Data)
		}
	}
	return b
}

// Encode adds nothing.
func (b *buffer) Encode(to []byte) ([]byte, error) {
	if len(to) > 0 || b.data < smallBuffer || b.size > largeBuffer {
		return slices.Grow(to, b.size), nil
	}
	kept := *buffers.Get().(*[]byte)
	b.taken = slices.Grow(kept[:0], b.size)
	return b.taken, nil
}

// giveBack gives the buffer back, after everything in it was sent; not where the
// connection goes on with it, as it does with small ones.
func (b *buffer) giveBack(of *pgproto3.Frontend) {
	if b.taken == nil {
		return
	}
	now := &look{}
	of.Send(now)
	if !sameArray(now.bytes, b.taken) {
		buffers.Put(&b.taken)
	}
}

// look is a message that encodes to nothing either: it finds the array that
// messages are encoded into.
type look struct {
	pgproto3.Sync
	bytes []byte
}

func (l *look) Encode(to []byte) ([]byte, error) {
	l.bytes = to
	return to, nil
}

func sameArray(a, b []byte) bool {
	return cap(a) > 0 && cap(b) > 0 && &a[:1][0] == &b[:1][0]
}
