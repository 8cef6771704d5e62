package gormstore

import (
	"bytes"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// sentIn sends values of so many bytes by way of a room, which is left before
// everything is out where early is true.
func sentIn(t *testing.T, bytesOfData int, early bool) (r *room, out []byte) {
	t.Helper()
	var wire bytes.Buffer
	to := pgproto3.NewFrontend(&bytes.Buffer{}, &wire)
	data := bytes.Repeat([]byte("w"), bytesOfData)
	r = roomFor([]step{{statement: "SELECT $1", values: []param{{data: data}}}})
	to.Send(r)
	to.Send(&pgproto3.Bind{Parameters: [][]byte{data}})
	if early {
		r.leave(to)
	}
	if err := to.Flush(); err != nil {
		t.Fatal(err)
	}
	if !early {
		r.leave(to)
	}
	return r, wire.Bytes()
}

func TestARoomAddsNothingToWhatIsSent(t *testing.T) {
	for _, size := range []int{0, 100, smallRoom - 1, smallRoom, largeRoom / 2, largeRoom + 1} {
		for range 3 { // at last in one that was used before
			r, out := sentIn(t, size, false)
			want, err := (&pgproto3.Bind{Parameters: [][]byte{bytes.Repeat([]byte("w"), size)}}).Encode(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out, want) {
				t.Fatalf("of %d bytes %d were sent, want %d", size, len(out), len(want))
			}
			if kept := r.taken != nil; kept != (size >= smallRoom && size < largeRoom) {
				t.Errorf("a room for %d bytes is used again: %t", size, kept)
			}
		}
	}
}

func TestARoomThatAConnectionGoesOnWithIsNobodyElses(t *testing.T) {
	r, _ := sentIn(t, 2*smallRoom, true)
	for range 20 {
		if other := *rooms.Get().(*[]byte); sameArray(other, r.taken) {
			t.Fatal("the room was given to another connection")
		}
	}
}
