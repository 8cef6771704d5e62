package gormstore

import (
	"strings"
	"time"

	"waybill/domain"
)

type businessRow struct {
	ID           rowID `gorm:"primaryKey"`
	Name         string
	RateLimit    *int
	RateWindowNS *int64 // nanoseconds, the exact unit of a time.Duration
	Disabled     bool
	TrackingCash bool
	CreatedAt    instant
}

func (businessRow) TableName() string { return "businesses" }

func newBusinessRow(b domain.Business) businessRow {
	row := businessRow{ID: rowIDOf(b.ID), Name: b.Name, Disabled: b.Disabled, TrackingCash: b.TrackingCash, CreatedAt: instantOf(b.CreatedAt)}
	if b.RateLimit != nil {
		window := b.RateLimit.Window.Nanoseconds()
		row.RateLimit, row.RateWindowNS = &b.RateLimit.Limit, &window
	}
	return row
}

func (r *businessRow) domain() domain.Business {
	b := domain.Business{ID: r.ID.as(domain.PrefixBusiness), Name: r.Name, Disabled: r.Disabled, TrackingCash: r.TrackingCash, CreatedAt: r.CreatedAt.time}
	if r.RateLimit != nil {
		b.RateLimit = &domain.RateLimit{Limit: *r.RateLimit, Window: time.Duration(*r.RateWindowNS)}
	}
	return b
}

type applicationRow struct {
	ID         rowID `gorm:"primaryKey"`
	BusinessID rowID
	Name       string
	Disabled   bool
	CreatedAt  instant
}

func (applicationRow) TableName() string { return "applications" }

func newApplicationRow(a domain.Application) applicationRow {
	return applicationRow{
		ID: rowIDOf(a.ID), BusinessID: rowIDOf(a.BusinessID),
		Name: a.Name, Disabled: a.Disabled, CreatedAt: instantOf(a.CreatedAt),
	}
}

func (r *applicationRow) domain() domain.Application {
	return domain.Application{
		ID: r.ID.as(domain.PrefixApplication), BusinessID: r.BusinessID.as(domain.PrefixBusiness),
		Name: r.Name, Disabled: r.Disabled, CreatedAt: r.CreatedAt.time,
	}
}

type apiKeyRow struct {
	ID            rowID `gorm:"primaryKey"`
	ApplicationID rowID
	Environment   string
	Digest        []byte
	Pepper        []byte // null: the oldest
	LastFour      string
	Name          string
	Scopes        string // comma-separated
	CreatedAt     instant
	ExpiresAt     *instant
	RevokedAt     *instant
	LastUsedAt    *instant
}

func (apiKeyRow) TableName() string { return "api_keys" }

func newAPIKeyRow(k domain.APIKey) apiKeyRow {
	scopes := make([]string, len(k.Scopes))
	for i, s := range k.Scopes {
		scopes[i] = string(s)
	}
	return apiKeyRow{
		ID: rowIDOf(k.ID), ApplicationID: rowIDOf(k.ApplicationID), Environment: string(k.Environment),
		Digest: k.Digest[:], Pepper: optionalMark(k.Pepper), LastFour: k.LastFour, Name: k.Name, Scopes: strings.Join(scopes, ","),
		CreatedAt: instantOf(k.CreatedAt), ExpiresAt: optionalInstant(k.ExpiresAt), RevokedAt: optionalInstant(k.RevokedAt),
		LastUsedAt: optionalInstant(k.LastUsedAt),
	}
}

func (r *apiKeyRow) domain() domain.APIKey {
	k := domain.APIKey{
		ID: r.ID.as(domain.PrefixAPIKey), ApplicationID: r.ApplicationID.as(domain.PrefixApplication),
		Environment: domain.Environment(r.Environment), Digest: [32]byte(r.Digest), Pepper: markOf(r.Pepper), LastFour: r.LastFour, Name: r.Name,
		CreatedAt: r.CreatedAt.time, ExpiresAt: optionalTime(r.ExpiresAt), RevokedAt: optionalTime(r.RevokedAt),
		LastUsedAt: optionalTime(r.LastUsedAt),
	}
	if r.Scopes != "" {
		for s := range strings.SplitSeq(r.Scopes, ",") {
			k.Scopes = append(k.Scopes, domain.Scope(s))
		}
	}
	return k
}

// credentialRow is a key joined with its application and business.
type credentialRow struct {
	Key         apiKeyRow      `gorm:"embedded;embeddedPrefix:key_"`
	Application applicationRow `gorm:"embedded;embeddedPrefix:application_"`
	Business    businessRow    `gorm:"embedded;embeddedPrefix:business_"`
}

func (r *credentialRow) domain() domain.Credential {
	return domain.Credential{Key: r.Key.domain(), Application: r.Application.domain(), Business: r.Business.domain()}
}

// optionalMark returns the mark of a pepper as a column stores it.
func optionalMark(mark [32]byte) []byte {
	if mark == [32]byte{} {
		return nil
	}
	return mark[:]
}

func markOf(column []byte) (mark [32]byte) {
	copy(mark[:], column)
	return mark
}
