package gormstore

import (
	"strings"

	"waybill/domain"
)

// keyRow is a record as it is read. Other statements write it, since the database computes
// expires_at and leased_until.
type keyRow struct {
	Key         string
	Fingerprint []byte
	ClaimID     rowID
	Status      int
	Location    string
	Body        []byte
	CreatedAt   instant
	LeasedUntil *instant
	ReadAt      instant // the database's clock
}

func (keyRow) TableName() string { return "idempotency_keys" }

const keyColumns = "key, fingerprint, claim_id, status, location, body, created_at, leased_until, $now AS read_at"

func (e *dialect) keyColumns() string { return e.clocked(keyColumns) }

// clocked fills the database's clock into a statement: $now, and $later for the clock plus a
// parameter. No lease and no circuit lasts until $far. One that does is from before the clock was
// set back, and counts as over.
func (e *dialect) clocked(statement string) string {
	return strings.NewReplacer("$later", e.later, "$now", e.now, "$far", e.far).Replace(statement)
}

func (r *keyRow) domain() domain.KeyRecord {
	record := domain.KeyRecord{
		Key: r.Key, Fingerprint: [32]byte(r.Fingerprint), ClaimID: string(r.ClaimID),
		Answer:    domain.Answer{Status: r.Status, Location: r.Location, Body: r.Body},
		CreatedAt: r.CreatedAt.time,
	}
	if r.LeasedUntil != nil {
		record.LeaseLeft = r.LeasedUntil.time.Sub(r.ReadAt.time)
	}
	return record
}

// bulkItemRow is the recorded result of an item as it is read.
type bulkItemRow struct {
	ItemIndex int
	Created   bool
	Result    []byte
}

func (bulkItemRow) TableName() string { return "bulk_items" }

func (r *bulkItemRow) domain() domain.BulkItem {
	return domain.BulkItem{Index: r.ItemIndex, Created: r.Created, Result: r.Result}
}
