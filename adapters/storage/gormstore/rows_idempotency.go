package gormstore

import "waybill/domain"

// keyRow is a record as it is read. It is written by one statement of its own,
// since expires_at is the database's to compute.
type keyRow struct {
	Key         string
	Fingerprint []byte
	ClaimID     rowID
	Status      int
	Location    string
	Body        []byte
	CreatedAt   instant
}

func (keyRow) TableName() string { return "idempotency_keys" }

func (r *keyRow) domain() domain.KeyRecord {
	return domain.KeyRecord{
		Key: r.Key, Fingerprint: [32]byte(r.Fingerprint), ClaimID: string(r.ClaimID),
		Answer:    domain.Answer{Status: r.Status, Location: r.Location, Body: r.Body},
		CreatedAt: r.CreatedAt.time,
	}
}
