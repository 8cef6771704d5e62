package domain_test

import (
	"errors"
	"testing"
	"time"

	"waybill/domain"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func bookingAt(at time.Time) domain.Booking {
	return domain.Booking{
		ID:        domain.MakeID(domain.PrefixDelivery, [16]byte{1}),
		Tenant:    domain.Tenant{BusinessID: "biz_1", ApplicationID: "app_1", Environment: domain.Sandbox},
		Reference: domain.MakeReference(1),
		CreatedAt: at,
	}
}

func eventID(n int) domain.ID {
	return domain.MakeID(domain.PrefixEvent, [16]byte{byte(n >> 8), byte(n)})
}

// deliveryIn returns a delivery in a status, as storage restores it after five events.
func deliveryIn(s domain.Status, pickedUp bool) *domain.Delivery {
	l := domain.Lifecycle{Status: s, Sequence: 5, UpdatedAt: noon}
	if pickedUp {
		at := noon.Add(-time.Hour)
		l.PickedUpAt = &at
	}
	return domain.RestoreDelivery(bookingAt(noon.Add(-2*time.Hour)), l)
}

// asError fails the test unless err is an Error with this code.
func asError(t *testing.T, err error, kind domain.Kind, code string) *domain.Error {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T (%v), want a *domain.Error with code %s", err, err, code)
	}
	if e.Code != code || e.Kind != kind {
		t.Fatalf("got kind %d code %s (%s), want kind %d code %s", e.Kind, e.Code, e.Message, kind, code)
	}
	return e
}
