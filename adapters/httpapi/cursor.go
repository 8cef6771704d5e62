package httpapi

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

// cursorBox seals positions in a list. A cursor opens only for the
// application, environment, list and filters it was made for, and nobody can
// make one up.
type cursorBox struct {
	keys [][32]byte // the first one signs, and each of them is taken
}

func newCursorBox(keys ...[32]byte) cursorBox { return cursorBox{keys: keys} }

func (b cursorBox) seal(binding string, p domain.Position) string {
	raw := binary.BigEndian.AppendUint64(nil, uint64(p.CreatedAt.UnixMilli()))
	return b.sealRaw(binding, append(raw, bytesOf(p.ID)...))
}

// sealFeed seals a place in the feed; the zero position, too.
func (b cursorBox) sealFeed(binding string, p domain.FeedPosition) string {
	id := make([]byte, 16)
	if p.ID != "" {
		id = bytesOf(p.ID)
	}
	raw := binary.BigEndian.AppendUint64(nil, uint64(p.Commit))  //nolint:gosec // read back as it was
	raw = binary.BigEndian.AppendUint32(raw, uint32(p.Sequence)) //nolint:gosec // a delivery has few events
	return b.sealRaw(binding, append(raw, id...))
}

func bytesOf(id domain.ID) []byte {
	raw, err := hex.DecodeString(id.Hex())
	if err != nil || len(raw) != 16 {
		panic("httpapi: a record has the ID " + string(id))
	}
	return raw
}

func (b cursorBox) sealRaw(binding string, raw []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(raw, macOf(b.keys[0], binding, raw)...))
}

func (b cursorBox) open(binding string, prefix domain.Prefix, cursor string) (domain.Position, bool) {
	position, ok := b.openRaw(binding, cursor, positionLength)
	if !ok {
		return domain.Position{}, false
	}
	return domain.Position{
		CreatedAt: time.UnixMilli(int64(binary.BigEndian.Uint64(position))).UTC(), //nolint:gosec // as sealed
		ID:        domain.MakeID(prefix, [16]byte(position[8:])),
	}, true
}

func (b cursorBox) openFeed(binding, cursor string) (domain.FeedPosition, bool) {
	position, ok := b.openRaw(binding, cursor, feedLength)
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

// openRaw is a position of so many bytes, as sealRaw got it.
func (b cursorBox) openRaw(binding, cursor string, length int) ([]byte, bool) {
	// The decoder would pass over line breaks; a cursor comes back unchanged.
	if len(cursor) > maxCursor || strings.ContainsAny(cursor, "\r\n") {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) != length+macLength {
		return nil, false
	}
	position, mac := raw[:length], raw[length:]
	return position, slices.ContainsFunc(b.keys, func(key [32]byte) bool {
		return hmac.Equal(mac, macOf(key, binding, position))
	})
}

func macOf(key [32]byte, binding string, position []byte) []byte {
	h := hmac.New(sha256.New, key[:])
	h.Write(position)
	h.Write([]byte(binding))
	return h.Sum(nil)[:macLength]
}
