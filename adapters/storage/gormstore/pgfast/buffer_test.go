package pgfast

import (
	"bytes"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// sentIn sends values of so many bytes by way of a buffer, which is given back before
// everything is out where early is true.
func sentIn(t *testing.T, bytesOfData int, early bool) (b *buffer, out []byte) {
	t.Helper()
	var wire bytes.Buffer
	to := pgproto3.NewFrontend(&bytes.Buffer{}, &wire)
	data := bytes.Repeat([]byte("w"), bytesOfData)
	b = bufferFor([]Step{{Statement: "SELECT $1", Values: []Value{{Data: data}}}})
	to.Send(b)
	to.Send(&pgproto3.Bind{Parameters: [][]byte{data}})
	if early {
		b.giveBack(to)
	}
	if err := to.Flush(); err != nil {
		t.Fatal(err)
	}
	if !early {
		b.giveBack(to)
	}
	return b, wire.Bytes()
}

func TestABufferAddsNothingToWhatIsSent(t *testing.T) {
	for _, size := range []int{0, 100, smallBuffer - 1, smallBuffer, largeBuffer / 2, largeBuffer + 1} {
		for range 3 { // at last in one that was used before
			b, out := sentIn(t, size, false)
			want, err := (&pgproto3.Bind{Parameters: [][]byte{bytes.Repeat([]byte("w"), size)}}).Encode(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out, want) {
				t.Fatalf("of %d bytes %d were sent, want %d", size, len(out), len(want))
			}
			if kept := b.taken != nil; kept != (size >= smallBuffer && size < largeBuffer) {
				t.Errorf("a buffer for %d bytes is used again: %t", size, kept)
			}
		}
	}
}

func TestABufferThatAConnectionGoesOnWithIsItsOwn(t *testing.T) {
	b, _ := sentIn(t, 2*smallBuffer, true)
	for range 20 {
		if other := *buffers.Get().(*[]byte); sameArray(other, b.taken) {
			t.Fatal("the buffer was given to another connection")
		}
	}
}
