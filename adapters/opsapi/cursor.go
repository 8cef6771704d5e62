package opsapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"

	"waybill/domain"
)

const (
	maxCursor      = 256
	positionLength = 8 + 16 // milliseconds, bytes of the ID
	macLength      = 16
)

// binding is what a cursor belongs to: everything that decides which records a
// list has and in which order. The limit may change between pages. The first
// line keeps these cursors apart from those of the public API.
func (c *call) binding() string {
	filters := url.Values{}
	for name, sent := range c.query.values {
		if name != "cursor" && name != "limit" {
			filters[name] = sent
		}
	}
	return "operations\n" + c.Request.URL.Path + "\n" + filters.Encode()
}

// page reads limit and cursor; the IDs of the list have the prefix.
func (m *Management) page(c *call, prefix domain.Prefix) (domain.PageRequest, error) {
	p := domain.PageRequest{Limit: c.query.limit()}
	if cursor := c.query.values.Get("cursor"); cursor != "" {
		position, sound := m.open(c.binding(), prefix, cursor)
		if !sound {
			c.query.reject("cursor", domain.FieldInvalidFormat, "this is no cursor of this list with these filters; begin without one")
		}
		p.After = &position
	}
	return p, c.query.err()
}

// cut takes off the record beyond the limit and tells how to go on behind the last.
func cut[T any](m *Management, c *call, records []T, limit int, at func(T) domain.Position) ([]T, meta) {
	shown := meta{Limit: limit}
	if len(records) > limit {
		records = records[:limit]
		cursor := m.seal(c.binding(), at(records[limit-1]))
		shown.HasMore, shown.NextCursor = true, &cursor
	}
	return records, shown
}

// whole is the meta of a list that is never cut.
func whole(n int) meta { return meta{Limit: n} }

func (m *Management) seal(binding string, p domain.Position) string {
	id, err := hex.DecodeString(p.ID.Hex())
	if err != nil || len(id) != 16 {
		panic("opsapi: a record has the ID " + string(p.ID))
	}
	raw := append(binary.BigEndian.AppendUint64(nil, uint64(p.CreatedAt.UnixMilli())), id...)
	return base64.RawURLEncoding.EncodeToString(append(raw, mac(m.CursorKeys[0], binding, raw)...))
}

func (m *Management) open(binding string, prefix domain.Prefix, cursor string) (domain.Position, bool) {
	// The decoder would pass over line breaks; a cursor comes back unchanged.
	if len(cursor) > maxCursor || strings.ContainsAny(cursor, "\r\n") {
		return domain.Position{}, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) != positionLength+macLength || !m.signed(binding, raw) {
		return domain.Position{}, false
	}
	return domain.Position{
		CreatedAt: time.UnixMilli(int64(binary.BigEndian.Uint64(raw))).UTC(), //nolint:gosec // as sealed
		ID:        domain.MakeID(prefix, [16]byte(raw[8:positionLength])),
	}, true
}

// signed reports whether one of the keys signed the position.
func (m *Management) signed(binding string, raw []byte) bool {
	return slices.ContainsFunc(m.CursorKeys, func(key [32]byte) bool {
		return hmac.Equal(raw[positionLength:], mac(key, binding, raw[:positionLength]))
	})
}

func mac(key [32]byte, binding string, position []byte) []byte {
	h := hmac.New(sha256.New, key[:])
	h.Write(position)
	h.Write([]byte(binding))
	return h.Sum(nil)[:macLength]
}
