package gormstore

import (
	"strings"
	"time"

	"waybill/domain"
)

// requestRow is a row of request_successes, of request_failures, and of both in
// the view request_log.
type requestRow struct {
	ID            rowID `gorm:"primaryKey"`
	ClientID      string
	Environment   string
	BusinessID    *rowID
	ApplicationID *rowID
	KeyID         *rowID
	Route         string
	DeliveryID    *rowID
	Status        int
	Code          string
	Fields        string
	TookUs        int64
	Replayed      bool
	KeyDigest     []byte
	Network       string
	Agent         string
	Weight        int
}

func (requestRow) TableName() string { return "request_log" }

func newRequestRow(r *domain.RequestRecord) requestRow {
	return requestRow{
		ID: rowIDOf(r.ID), ClientID: r.ClientID, Environment: string(r.Environment),
		BusinessID: optionalRowID(r.BusinessID), ApplicationID: optionalRowID(r.ApplicationID), KeyID: optionalRowID(r.KeyID),
		Route: r.Route, DeliveryID: optionalRowID(r.DeliveryID), Status: r.Status, Code: r.Code, Fields: strings.Join(r.Fields, ","),
		TookUs: r.Took.Microseconds(), Replayed: r.Replayed, KeyDigest: r.KeyDigest, Network: r.Network, Agent: r.Agent, Weight: r.Weight,
	}
}

func (r *requestRow) domain() domain.RequestRecord {
	record := domain.RequestRecord{
		ID: r.ID.as(domain.PrefixRequest), ClientID: r.ClientID, Environment: domain.Environment(r.Environment),
		BusinessID: optionalID(r.BusinessID, domain.PrefixBusiness), ApplicationID: optionalID(r.ApplicationID, domain.PrefixApplication),
		KeyID: optionalID(r.KeyID, domain.PrefixAPIKey), Route: r.Route, DeliveryID: optionalID(r.DeliveryID, domain.PrefixDelivery),
		Status: r.Status, Code: r.Code, Took: time.Duration(r.TookUs) * time.Microsecond, Replayed: r.Replayed,
		KeyDigest: r.KeyDigest, Network: r.Network, Agent: r.Agent, Weight: r.Weight,
	}
	if r.Fields != "" {
		record.Fields = strings.Split(r.Fields, ",")
	}
	return record
}

type usageRow struct {
	Minute        instant
	Writer        rowID
	Environment   string
	BusinessID    rowID
	ApplicationID rowID
	KeyID         rowID
	Route         string
	Status        int
	Code          string
	Calls         int64
	Replayed      int64
	TookUs        int64
}

func (usageRow) TableName() string { return "usage_minutes" }

func newUsageRow(writer string, u *domain.UsageMinute) usageRow {
	return usageRow{
		Minute: instantOf(u.Minute), Writer: rowID(writer), Environment: string(u.Environment),
		BusinessID: rowIDOf(u.BusinessID), ApplicationID: rowIDOf(u.ApplicationID), KeyID: rowIDOf(u.KeyID),
		Route: u.Route, Status: u.Status, Code: u.Code, Calls: u.Calls, Replayed: u.Replayed, TookUs: u.Took.Microseconds(),
	}
}

// usageSum is a row that a query of usage selects.
type usageSum struct {
	At       *instant
	KeyID    *rowID
	Route    string
	Status   int
	Code     string
	Calls    int64
	Replayed int64
	TookUs   int64
	Last     instant
}

func (r *usageSum) domain() domain.Usage {
	u := domain.Usage{
		KeyID: optionalID(r.KeyID, domain.PrefixAPIKey), Route: r.Route, Status: r.Status, Code: r.Code,
		Calls: r.Calls, Replayed: r.Replayed, Took: time.Duration(r.TookUs) * time.Microsecond, Last: r.Last.time,
	}
	if r.At != nil {
		u.At = r.At.time
	}
	return u
}
