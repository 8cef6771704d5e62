package pgfast

import (
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"
)

// buffer is what a pipeline is written to before it is sent. pgx keeps a small one for a
// connection, makes it larger by doubling, and throws it away. A buffer comes in as a
// message that adds nothing: encoding it puts another array under those that follow.
type buffer struct {
	pgproto3.Sync
	size  int    // with all that is around the values
	data  int    // the values alone
	taken []byte // nil: not one of buffers
}

// buffers are used again. What is in one has been sent when it comes back.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// The smallest that is used again is above what pgx keeps for itself, the largest
// below what is rare.
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

// look is no message either: it looks at where messages are put.
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
