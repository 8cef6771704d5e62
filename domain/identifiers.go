package domain

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ID is the public form of an identifier: a prefix that names the resource, then the 16 bytes of a
// UUIDv7 in 32 lowercase hex characters. So IDs of one kind sort by creation time. A text without
// the prefix is no ID.
type ID string

// Prefix names the kind of resource of an ID.
type Prefix string

// The prefixes.
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

	PrefixRequest Prefix = "req_"

	PrefixOperatorToken Prefix = "opr_"
	PrefixAuditEntry    Prefix = "aud_"
	PrefixMoveRun       Prefix = "run_"

	PrefixPerson   Prefix = "prs_"
	PrefixLink     Prefix = "lnk_"
	PrefixSession  Prefix = "ses_"
	PrefixPasskey  Prefix = "psk_"
	PrefixCeremony Prefix = "cer_"
	PrefixMail     Prefix = "mai_"

	PrefixCustomerView Prefix = "viw_"

	PrefixProcess Prefix = "prc_" // never in the API
)

// MakeID joins a prefix and 16 bytes.
func MakeID(p Prefix, bytes [16]byte) ID {
	return ID(string(p) + hex.EncodeToString(bytes[:]))
}

// ParseID reads an ID of one kind. For anything else, including a valid ID of another kind, it
// returns ErrNotFound, so that the caller learns nothing from the difference.
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

// ParseFormID reads the ID that was drawn with a form, and returns the ID of the record that the
// form makes when this person sends it for this business. The same form makes one record, however
// often it is sent. Nobody can choose the ID: all but the time is a digest. It returns ErrNotFound
// for anything else, and for an ID of the future.
func ParseFormID(p Prefix, drawn string, person, business ID, now time.Time) (ID, error) {
	id, err := ParseID(p, drawn)
	if err != nil {
		return "", err
	}
	if id.MadeAt().After(now.Add(time.Minute)) { // clocks of processes differ a little
		return "", ErrNotFound
	}
	own := digestID(p, drawn, string(person), string(business)).Hex()
	return ID(string(p) + id.Hex()[:12] + "7" + own[13:16] + "8" + own[17:]), nil // a UUIDv7, as others
}

// MadeAt returns the time in the ID, to the millisecond, or the zero time for a text that is no ID.
func (id ID) MadeAt() time.Time {
	if len(id.Hex()) != 32 {
		return time.Time{}
	}
	ms, err := strconv.ParseInt(id.Hex()[:12], 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Hex returns the ID without its prefix: the 32 characters that storage keeps.
func (id ID) Hex() string {
	if i := strings.IndexByte(string(id), '_'); i >= 0 {
		return string(id[i+1:])
	}
	return string(id)
}

// Reference is the short code that people read out: XXXX-XXXX-XXXX in Crockford's base32, 60 bits.
// It opens the public tracking page, so it must come from a cryptographic source. 40 bits could be
// guessed with patience.
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

// FoldReference reads a reference as people write it: in small letters, with other dashes or spaces
// or none, and with I and L for 1 and O for 0. It does not check whether the reference exists.
func FoldReference(s string) (Reference, bool) {
	const symbols = 12
	if len(s) > MaxTypedReference {
		return "", false
	}
	var out []byte
	for _, r := range s {
		if r >= 'a' && r <= 'z' {
			r -= 'a' - 'A' // so that no letter of another alphabet becomes one of ours
		}
		switch {
		case unicode.IsSpace(r), unicode.Is(unicode.Pd, r), r == '\u2212': // the last one is the minus sign
			continue
		case r == 'I', r == 'L':
			r = '1'
		case r == 'O':
			r = '0'
		}
		if r > unicode.MaxASCII || strings.IndexByte(crockford, byte(r)) < 0 || len(out) == symbols+2 {
			return "", false
		}
		if len(out) == 4 || len(out) == 9 {
			out = append(out, '-')
		}
		out = append(out, byte(r))
	}
	return ParseReference(string(out))
}
