package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"waybill/domain"
)

const (
	maxCursor      = 512
	positionLength = 8 + 16 // milliseconds, bytes of the ID
	macLength      = 16
)

// cursorBox seals positions in a list. A cursor opens only for the
// application, environment, list and filters it was made for, and nobody can
// make one up.
type cursorBox struct{ key [32]byte }

func newCursorBox(key [32]byte) cursorBox { return cursorBox{key: key} }

func (b cursorBox) seal(binding string, p domain.Position) string {
	raw := binary.BigEndian.AppendUint64(nil, uint64(p.CreatedAt.UnixMilli()))
	id, err := hex.DecodeString(p.ID.Hex())
	if err != nil || len(id) != 16 {
		panic("httpapi: a record has the ID " + string(p.ID))
	}
	raw = append(raw, id...)
	return base64.RawURLEncoding.EncodeToString(append(raw, b.mac(binding, raw)...))
}

func (b cursorBox) open(binding string, prefix domain.Prefix, cursor string) (domain.Position, bool) {
	// The decoder would pass over line breaks; a cursor comes back unchanged.
	if len(cursor) > maxCursor || strings.ContainsAny(cursor, "\r\n") {
		return domain.Position{}, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) != positionLength+macLength {
		return domain.Position{}, false
	}
	position, mac := raw[:positionLength], raw[positionLength:]
	if !hmac.Equal(mac, b.mac(binding, position)) {
		return domain.Position{}, false
	}
	return domain.Position{
		CreatedAt: time.UnixMilli(int64(binary.BigEndian.Uint64(position))).UTC(),
		ID:        domain.MakeID(prefix, [16]byte(position[8:])),
	}, true
}

func (b cursorBox) mac(binding string, position []byte) []byte {
	h := hmac.New(sha256.New, b.key[:])
	h.Write(position)
	h.Write([]byte(binding))
	return h.Sum(nil)[:macLength]
}

func shortHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}
