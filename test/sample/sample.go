// Package sample builds valid records for tests. Every builder fills every
// field with something that is not zero and takes functions that change what
// the test is about; the rest need not be read.
//
// IDs, phone numbers, references and keys differ at every call, so that
// samples may share a database.
package sample

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"waybill/domain"
)

// Now is when samples are made.
var Now = time.Date(2026, 3, 14, 9, 26, 53, 589_000_000, time.UTC)

// ID is fresh; later ones sort behind earlier ones.
func ID(p domain.Prefix) domain.ID {
	id, err := uuid.NewV7()
	if err != nil {
		panic(err)
	}
	return domain.MakeID(p, id)
}

// IDAt is one that was made at a time.
func IDAt(p domain.Prefix, at time.Time) domain.ID {
	return domain.ID(fmt.Sprintf("%s%012x%s", p, at.UnixMilli(), ID(p).Hex()[12:]))
}

var numbers atomic.Uint64

// PhoneNumber is a Ghanaian mobile number that no other sample has.
func PhoneNumber() domain.PhoneNumber {
	return domain.PhoneNumber(fmt.Sprintf("+23320%07d", numbers.Add(1)))
}

// Reference is a fresh one.
func Reference() domain.Reference {
	var bits [8]byte
	_, _ = rand.Read(bits[:]) // never fails
	return domain.MakeReference(binary.BigEndian.Uint64(bits[:]))
}

// Tenant is a sandbox tenant that nothing stores.
func Tenant(with ...func(*domain.Tenant)) domain.Tenant {
	return build(domain.Tenant{
		BusinessID:    ID(domain.PrefixBusiness),
		ApplicationID: ID(domain.PrefixApplication),
		Environment:   domain.Sandbox,
	}, with)
}

// Business has a rate limit of its own.
func Business(with ...func(*domain.Business)) domain.Business {
	return build(domain.Business{
		ID:        ID(domain.PrefixBusiness),
		Name:      "Kejetia Foods",
		RateLimit: &domain.RateLimit{Limit: 90, Window: 1500 * time.Millisecond},
		CreatedAt: Now,
	}, with)
}

// Application belongs to the business. It is enabled, as a business is: the only zero fields
// of a sample.
func Application(business domain.ID, with ...func(*domain.Application)) domain.Application {
	return build(domain.Application{
		ID:         ID(domain.PrefixApplication),
		BusinessID: business,
		Name:       "Web shop",
		CreatedAt:  Now.Add(time.Second),
	}, with)
}

// APIKey is a key of the application that was used, will expire and was revoked.
func APIKey(application domain.ID, with ...func(*domain.APIKey)) domain.APIKey {
	id := ID(domain.PrefixAPIKey)
	expires, revoked, used := Now.Add(time.Hour), Now.Add(time.Minute), Now.Add(30*time.Second)
	return build(domain.APIKey{
		ID:            id,
		ApplicationID: application,
		Environment:   domain.Sandbox,
		Digest:        sha256.Sum256([]byte(id)),
		Pepper:        sha256.Sum256([]byte("a pepper")),
		LastFour:      "x7Qz",
		Name:          "Web shop server",
		Scopes:        []domain.Scope{domain.ScopeDeliveriesRead, domain.ScopeQuotesRead},
		CreatedAt:     Now.Add(2 * time.Second),
		ExpiresAt:     &expires,
		RevokedAt:     &revoked,
		LastUsedAt:    &used,
	}, with)
}

// Recipient has a name.
func Recipient(with ...func(*domain.Recipient)) domain.Recipient {
	return build(domain.Recipient{
		ID:          ID(domain.PrefixRecipient),
		PhoneNumber: PhoneNumber(),
		Name:        "Ama Owusu",
		CreatedAt:   Now.Add(3 * time.Second),
		UpdatedAt:   Now.Add(4 * time.Second),
	}, with)
}

// Address is one that no other sample of the recipient has.
func Address(recipient domain.ID, with ...func(*domain.Address)) domain.Address {
	n := numbers.Add(1)
	return build(domain.Address{
		ID:            ID(domain.PrefixAddress),
		RecipientID:   recipient,
		Label:         "Home",
		Text:          fmt.Sprintf("%d Oxford Street, Osu", n),
		MatchKey:      fmt.Sprintf("%d oxford street, osu", n),
		Coordinates:   domain.Coordinates{Latitude: 5.5571, Longitude: -0.1818},
		Municipality:  "Accra",
		DeliveryNotes: "Ring twice",
		CreatedAt:     Now.Add(5 * time.Second),
	}, with)
}

// PickupLocation is complete and active.
func PickupLocation(with ...func(*domain.PickupLocation)) domain.PickupLocation {
	return build(domain.PickupLocation{
		ID:          ID(domain.PrefixPickupLocation),
		Name:        "Makola kitchen",
		Contact:     PhoneNumber(),
		Address:     "Stall 14, Makola Market",
		Coordinates: &domain.Coordinates{Latitude: 5.5463, Longitude: -0.2062},
		Active:      true,
		CreatedAt:   Now.Add(6 * time.Second),
		UpdatedAt:   Now.Add(7 * time.Second),
	}, with)
}

// KeyRecord has an answer.
func KeyRecord(with ...func(*domain.KeyRecord)) domain.KeyRecord {
	key := ID("key-")
	return build(domain.KeyRecord{
		Key:         string(key),
		Fingerprint: sha256.Sum256([]byte(key)),
		ClaimID:     ClaimID(),
		Answer:      domain.Answer{Status: 201, Location: "/v1/deliveries/1", Body: []byte(`{"data":"` + string(key) + `"}`)},
		CreatedAt:   Now.Add(8 * time.Second),
	}, with)
}

// ClaimID is fresh.
func ClaimID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func build[T any](value T, with []func(*T)) T {
	for _, change := range with {
		change(&value)
	}
	return value
}
