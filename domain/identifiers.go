package domain

import (
	"encoding/hex"
	"strings"
)

// ID is the public form of an identifier: a prefix that names the resource,
// then the 16 bytes of a UUIDv7 in 32 lowercase hex characters, so that IDs of
// one kind sort by the time they were made. Without its prefix it is no ID.
type ID string

// Prefix names the kind of resource an ID belongs to.
type Prefix string

// The prefixes in use.
const (
	PrefixBusiness       Prefix = "biz_"
	PrefixApplication    Prefix = "app_"
	PrefixAPIKey         Prefix = "key_"
	PrefixRecipient      Prefix = "rcp_"
	PrefixAddress        Prefix = "adr_"
	PrefixPickupLocation Prefix = "pkp_"
	PrefixDelivery       Prefix = "dlv_"
	PrefixEvent          Prefix = "evt_"

	PrefixWebhookEndpoint Prefix = "whe_"
	PrefixWebhookDelivery Prefix = "whd_"
	PrefixWebhookAttempt  Prefix = "wha_"

	PrefixOperatorToken Prefix = "opr_"
	PrefixAuditEntry    Prefix = "aud_"
)

// MakeID joins a prefix and 16 bytes.
func MakeID(p Prefix, bytes [16]byte) ID {
	return ID(string(p) + hex.EncodeToString(bytes[:]))
}

// ParseID reads an ID of one kind. Anything else, a valid ID of another kind
// included, is ErrNotFound: the caller learns nothing from the difference.
func ParseID(p Prefix, s string) (ID, error) {
	rest, ok := strings.CutPrefix(s, string(p))
	if !ok || len(rest) != 32 {
		return "", ErrNotFound
	}
	for i := range len(rest) {
		if c := rest[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", ErrNotFound
		}
	}
	return ID(s), nil
}

// Hex is the ID without its prefix: the 32 characters that storage keeps.
func (id ID) Hex() string {
	if i := strings.IndexByte(string(id), '_'); i >= 0 {
		return string(id[i+1:])
	}
	return string(id)
}

// Reference is the short code people read out: XXXX-XXXX-XXXX in Crockford's
// base32, 60 bits. The tracking page is public under it, so it must come from
// a cryptographic source: 40 bits would fall to a patient guesser.
type Reference string

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// MakeReference renders the low 60 bits.
func MakeReference(bits uint64) Reference {
	var out [14]byte
	for i, group := len(out)-1, 0; i >= 0; i-- {
		if group == 4 {
			out[i], group = '-', 0
			continue
		}
		out[i] = crockford[bits&31]
		bits >>= 5
		group++
	}
	return Reference(out[:])
}

// ParseReference reports whether s has the exact form of a reference.
func ParseReference(s string) (Reference, bool) {
	if len(s) != 14 {
		return "", false
	}
	for i := range len(s) {
		if i == 4 || i == 9 {
			if s[i] != '-' {
				return "", false
			}
		} else if strings.IndexByte(crockford, s[i]) < 0 {
			return "", false
		}
	}
	return Reference(s), true
}
