package gormstore

import (
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"waybill/domain"
)

// rowID is an ID as it is stored: 32 hex characters without the prefix, which the column implies.
// Postgres stores it as a uuid, SQLite as text; both sort alike.
type rowID string

func rowIDOf(id domain.ID) rowID { return rowID(id.Hex()) }

// hexes returns the IDs as hex texts.
func hexes(ids []domain.ID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id.Hex()
	}
	return out
}

// as returns the public ID. The caller knows its prefix.
func (id rowID) as(p domain.Prefix) domain.ID { return domain.ID(string(p) + string(id)) }

// Value refuses a text that is no ID: an empty one in a WHERE would be a forgotten tenant.
func (id rowID) Value() (driver.Value, error) {
	if len(id) != 32 {
		return nil, fmt.Errorf("%q is not an identifier", string(id))
	}
	return string(id), nil
}

// Scan reads what either database returns, with dashes or without.
func (id *rowID) Scan(src any) error {
	s, ok := src.(string)
	if !ok {
		return fmt.Errorf("an identifier came as %T", src)
	}
	*id = rowID(strings.ReplaceAll(s, "-", ""))
	return nil
}

// ScanUUID reads a value of pgx, without database/sql.
func (id *rowID) ScanUUID(v pgtype.UUID) error {
	if !v.Valid {
		return errors.New("an identifier came as NULL")
	}
	var text [32]byte
	hex.Encode(text[:], v.Bytes[:])
	*id = rowID(text[:])
	return nil
}

// lookup returns the stored form of an ID to search for. For a malformed ID or one of another kind
// it returns an empty rowID and domain.ErrNotFound, as for an ID that does not exist.
func lookup(p domain.Prefix, id domain.ID) (rowID, error) {
	id, err := domain.ParseID(p, string(id))
	return rowIDOf(id), err
}

// instant is a time as it is stored: in domain.TimeLayout, which both engines accept and SQLite
// sorts as text.
type instant struct{ time time.Time }

func instantOf(t time.Time) instant { return instant{t} }

func (i instant) Value() (driver.Value, error) { return domain.FormatTime(i.time), nil }

// Scan reads the text of SQLite and the time of Postgres, which has the zone of the process.
func (i *instant) Scan(src any) error {
	switch v := src.(type) {
	case time.Time:
		i.time = domain.Millis(v)
	case string:
		t, err := time.Parse(domain.TimeLayout, v)
		if err != nil {
			return fmt.Errorf("a time was stored in another layout: %w", err)
		}
		i.time = t
	default:
		return fmt.Errorf("a time came as %T", src)
	}
	return nil
}

// ScanTimestamptz reads a value of pgx, without database/sql.
func (i *instant) ScanTimestamptz(v pgtype.Timestamptz) error {
	if !v.Valid || v.InfinityModifier != pgtype.Finite {
		return fmt.Errorf("a time came as %+v", v)
	}
	i.time = domain.Millis(v.Time)
	return nil
}

func optionalInstant(t *time.Time) *instant {
	if t == nil {
		return nil
	}
	return &instant{*t}
}

func optionalTime(i *instant) *time.Time {
	if i == nil {
		return nil
	}
	return &i.time
}

var (
	firstInstant = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	lastInstant  = time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC)
)

// boundary returns a time to compare stored times with. Stored times are whole milliseconds, so it
// rounds a bound between two of them up. A time outside the years that the engines can store
// becomes the nearest one inside.
func boundary(t time.Time) instant {
	if cut := t.Truncate(time.Millisecond); cut.Before(t) {
		t = cut.Add(time.Millisecond)
	}
	switch {
	case t.Before(firstInstant):
		t = firstInstant
	case t.After(lastInstant):
		t = lastInstant
	}
	return instant{t}
}
