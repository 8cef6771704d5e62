package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"waybill/domain"
)

const (
	maxCursor      = 512
	positionLength = 8 + 16     // milliseconds, bytes of the ID
	feedLength     = 8 + 4 + 16 // commit, sequence, bytes of the ID
	macLength      = 16
)

// Cursors seals positions in lists. A cursor opens only with the binding it was made for:
// everything that decides which records a list has and in which order. Only a holder of the key
// can make one.
type Cursors struct {
	keys [][32]byte // the first one signs, and each of them is accepted
}

// NewCursors accepts cursors of all keys and signs with the first one.
func NewCursors(keys ...[32]byte) Cursors { return Cursors{keys: keys} }

func (c Cursors) seal(binding string, p domain.Position) string {
	raw := binary.BigEndian.AppendUint64(nil, uint64(p.CreatedAt.UnixMilli()))
	return c.sealRaw(binding, append(raw, bytesOf(p.ID)...))
}

// SealFeed returns the cursor of a position in the feed, also of the zero position.
func (c Cursors) SealFeed(binding string, p domain.FeedPosition) string {
	id := make([]byte, 16)
	if p.ID != "" {
		id = bytesOf(p.ID)
	}
	raw := binary.BigEndian.AppendUint64(nil, uint64(p.Commit))  //nolint:gosec // read back unchanged
	raw = binary.BigEndian.AppendUint32(raw, uint32(p.Sequence)) //nolint:gosec // a delivery has few events
	return c.sealRaw(binding, append(raw, id...))
}

func bytesOf(id domain.ID) []byte {
	raw, err := hex.DecodeString(id.Hex())
	if err != nil || len(raw) != 16 {
		panic("a record has the ID " + string(id))
	}
	return raw
}

func (c Cursors) sealRaw(binding string, raw []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(raw, macOf(c.keys[0], binding, raw)...))
}

func (c Cursors) open(binding string, prefix domain.Prefix, cursor string) (domain.Position, bool) {
	position, ok := c.openRaw(binding, cursor, positionLength)
	if !ok {
		return domain.Position{}, false
	}
	return domain.Position{
		CreatedAt: time.UnixMilli(int64(binary.BigEndian.Uint64(position))).UTC(), //nolint:gosec // as sealed
		ID:        domain.MakeID(prefix, [16]byte(position[8:])),
	}, true
}

func (c Cursors) openFeed(binding, cursor string) (domain.FeedPosition, bool) {
	position, ok := c.openRaw(binding, cursor, feedLength)
	if !ok {
		return domain.FeedPosition{}, false
	}
	p := domain.FeedPosition{
		Commit:   int64(binary.BigEndian.Uint64(position)), //nolint:gosec // as sealed
		Sequence: int(binary.BigEndian.Uint32(position[8:])),
	}
	if id := [16]byte(position[12:]); id != [16]byte{} {
		p.ID = domain.MakeID(domain.PrefixEvent, id)
	}
	return p, true
}

// openRaw returns the position in a cursor. length is its size in bytes.
func (c Cursors) openRaw(binding, cursor string, length int) ([]byte, bool) {
	// The decoder would ignore line breaks, but a cursor comes back unchanged.
	if len(cursor) > maxCursor || strings.ContainsAny(cursor, "\r\n") {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) != length+macLength {
		return nil, false
	}
	position, mac := raw[:length], raw[length:]
	return position, slices.ContainsFunc(c.keys, func(key [32]byte) bool {
		return hmac.Equal(mac, macOf(key, binding, position))
	})
}

func macOf(key [32]byte, binding string, position []byte) []byte {
	h := hmac.New(sha256.New, key[:])
	h.Write(position)
	h.Write([]byte(binding))
	return h.Sum(nil)[:macLength]
}

const notACursor = "not a cursor of this list with these filters; pass next_cursor back unchanged, or start without one"

// Page reads limit and cursor of a list whose IDs have the prefix. Read every filter first: the
// cursor is bound to the filters as they were sent, and the error lists the errors of all
// parameters.
func (c Cursors) Page(q Query, binding string, prefix domain.Prefix) (domain.PageRequest, error) {
	page := domain.PageRequest{Limit: q.Limit()}
	if cursor := q.Get("cursor"); cursor != "" {
		position, ok := c.open(binding, prefix, cursor)
		if !ok {
			q.Reject("cursor", domain.FieldInvalidFormat, notACursor)
		}
		page.After = &position
	}
	return page, q.Err()
}

// FeedPage does the same as Page for the feed, which has an order of its own.
func (c Cursors) FeedPage(q Query, binding string) (limit int, after *domain.FeedPosition, err error) {
	limit = q.Limit()
	if cursor := q.Get("cursor"); cursor != "" {
		position, sound := c.openFeed(binding, cursor)
		if !sound {
			q.Reject("cursor", domain.FieldInvalidFormat, notACursor)
		}
		after = &position
	}
	return limit, after, q.Err()
}

// FeedMeta describes a page of a feed. Every page tells where to go on from, now or later.
func (c Cursors) FeedMeta(binding string, limit int, more bool, next domain.FeedPosition) Meta {
	cursor := c.SealFeed(binding, next)
	m := Meta{Limit: limit, HasMore: more, ResumeCursor: &cursor}
	if more {
		m.NextCursor = &cursor
	}
	return m
}

// Cut removes the record beyond the limit and returns the cursor of the next page.
func Cut[T any](c Cursors, binding string, records []T, limit int, at func(T) domain.Position) ([]T, Meta) {
	m := Meta{Limit: limit}
	if len(records) > limit {
		records = records[:limit]
		cursor := c.seal(binding, at(records[limit-1]))
		m.HasMore, m.NextCursor = true, &cursor
	}
	return records, m
}

// Whole returns the metadata of a list that is never cut.
func Whole(n int) Meta { return Meta{Limit: n} }
