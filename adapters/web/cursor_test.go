package web

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

var somewhere = domain.Position{
	CreatedAt: time.Date(2026, 11, 21, 10, 0, 0, 123e6, time.UTC),
	ID:        "dlv_0198f3a27c4e7b1d9a6e5c2f10d3b847",
}

func TestACursorOpensWhereItWasMade(t *testing.T) {
	box := NewCursors([32]byte{1})
	cursor := box.seal("app\nlive\n/v1/deliveries\nstatus=booked", somewhere)
	got, ok := box.open("app\nlive\n/v1/deliveries\nstatus=booked", domain.PrefixDelivery, cursor)
	if !ok {
		t.Fatal("ok is false")
	}
	if got != somewhere {
		t.Fatalf("got: %v, want %v", got, somewhere)
	}
	if got := len(cursor); got >= maxCursor {
		t.Fatalf("len(cursor): %v, want less than %v", got, maxCursor)
	}
}

func TestACursorOpensNowhereElse(t *testing.T) {
	box := NewCursors([32]byte{1})
	cursor := box.seal("here", somewhere)

	_, ok := box.open("there", domain.PrefixDelivery, cursor)
	if ok {
		t.Fatal("another binding: ok is true")
	}
	_, ok = NewCursors([32]byte{2}).open("here", domain.PrefixDelivery, cursor)
	if ok {
		t.Fatal("another server key: ok is true")
	}
	for _, bad := range []string{"", "x", cursor + "A", cursor[1:], "=" + cursor, strings.Repeat("A", maxCursor),
		strings.Repeat("A", maxCursor+1)} {
		_, ok = box.open("here", domain.PrefixDelivery, bad)
		if ok {
			t.Fatalf("%s: ok is true", bad)
		}
	}
}

func TestACursorOfAPreviousKeyOpens(t *testing.T) {
	cursor := NewCursors([32]byte{1}).seal("here", somewhere)
	got, ok := NewCursors([32]byte{2}, [32]byte{3}, [32]byte{1}).open("here", domain.PrefixDelivery, cursor)
	if !ok {
		t.Fatal("ok is false")
	}
	if got != somewhere {
		t.Fatalf("got: %v, want %v", got, somewhere)
	}
	cursor = NewCursors([32]byte{2}, [32]byte{1}).seal("here", somewhere)
	_, ok = NewCursors([32]byte{1}).open("here", domain.PrefixDelivery, cursor)
	if ok {
		t.Fatal("the first key signs: ok is true")
	}
}

func TestEveryChangedBitOfACursorIsNoticed(t *testing.T) {
	box := NewCursors([32]byte{1})
	raw, err := base64.RawURLEncoding.DecodeString(box.seal("here", somewhere))
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(raw) * 8 {
		raw[i/8] ^= 1 << (i % 8)
		_, ok := box.open("here", domain.PrefixDelivery, base64.RawURLEncoding.EncodeToString(raw))
		if ok {
			t.Fatalf("bit %d: ok is true", i)
		}
		raw[i/8] ^= 1 << (i % 8)
	}
}

func TestACursorOfTheFeedOpensWhereItWasMadeAndNowhereElse(t *testing.T) {
	box := NewCursors([32]byte{1})
	for _, place := range []domain.FeedPosition{
		{}, // before all events
		{Commit: 1<<62 + 7, Sequence: 8, ID: "evt_0198f3a27c4e7b23a1d4c8e9f0b51a67"},
	} {
		cursor := box.SealFeed("here", place)
		got, ok := box.openFeed("here", cursor)
		if !ok {
			t.Fatal("ok is false")
		}
		if got != place {
			t.Fatalf("got: %v, want %v", got, place)
		}
		_, ok = box.openFeed("there", cursor)
		if ok {
			t.Fatal("another binding: ok is true")
		}
		_, ok = NewCursors([32]byte{2}).openFeed("here", cursor)
		if ok {
			t.Fatal("another server key: ok is true")
		}
		_, ok = box.open("here", domain.PrefixEvent, cursor)
		if ok {
			t.Fatal("as one of another list: ok is true")
		}
		_, ok = box.openFeed("here", cursor[1:])
		if ok {
			t.Fatal("cut: ok is true")
		}
	}
	_, ok := box.openFeed("here", box.seal("here", somewhere))
	if ok {
		t.Fatal("one of another list: ok is true")
	}
}
