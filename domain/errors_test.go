package domain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

func TestErrorsAreToldApartByCode(t *testing.T) {
	t.Parallel()
	cause := errors.New("the disk is full")
	same := &domain.Error{Kind: domain.KindNotFound, Code: domain.CodeNotFound, Message: "another text"}
	for name, c := range map[string]struct {
		err      error
		notFound bool
	}{
		"itself":                {domain.ErrNotFound, true},
		"another of its code":   {same, true},
		"wrapped once":          {fmt.Errorf("reading: %w", same), true},
		"wrapped twice":         {fmt.Errorf("more: %w", fmt.Errorf("reading: %w", same)), true},
		"another code":          {domain.IdempotencyInProgress(time.Second), false},
		"no error of this kind": {cause, false},
		"nothing":               {nil, false},
	} {
		if got := errors.Is(c.err, domain.ErrNotFound); got != c.notFound {
			t.Errorf("%s: errors.Is says %t", name, got)
		}
		if got := domain.HasCode(c.err, "NOT_FOUND"); got != c.notFound {
			t.Errorf("%s: HasCode says %t", name, got)
		}
	}
	if errors.Is(domain.ErrNotFound, cause) {
		t.Error("a plain error matched")
	}
}

func TestAnErrorKeepsItsCauseForTheLogOnly(t *testing.T) {
	t.Parallel()
	cause := errors.New("the disk is full")
	for name, e := range map[string]*domain.Error{
		"internal": domain.Internal(cause), "quote": domain.QuoteUnavailable(cause),
	} {
		var found *domain.Error
		wrapped := fmt.Errorf("serving: %w", e)
		if !errors.Is(wrapped, cause) || !errors.As(wrapped, &found) || found != e {
			t.Errorf("%s: the chain is broken", name)
		}
		if !strings.Contains(e.Error(), "the disk is full") || strings.Contains(e.Message, "disk") {
			t.Errorf("%s: Error() = %q, Message = %q", name, e.Error(), e.Message)
		}
	}
	if got := domain.ErrNotFound.Error(); !strings.HasPrefix(got, "NOT_FOUND: ") {
		t.Errorf("Error() = %q", got)
	}
}

func TestAnErrorWithoutAKindIsInternal(t *testing.T) {
	t.Parallel()
	if (&domain.Error{}).Kind != domain.KindInternal {
		t.Error("the zero kind blames the caller")
	}
	if e := domain.Internal(errors.New("x")); e.Kind != domain.KindInternal || e.Code != "INTERNAL_SERVER_ERROR" {
		t.Errorf("%+v", e)
	}
}

func TestInvalidNamesTheFields(t *testing.T) {
	t.Parallel()
	one := domain.FieldError{Field: "name", Code: "too_long", Message: "at most 128 characters"}
	two := domain.FieldError{Field: "address.latitude", Code: "out_of_range", Message: "-90 to 90"}
	for name, c := range map[string]struct {
		fields []domain.FieldError
		want   string
	}{
		"one": {[]domain.FieldError{one}, "name: at most 128 characters"},
		"two": {[]domain.FieldError{one, two}, "2 fields are invalid: name, address.latitude."},
	} {
		e := asError(t, domain.Invalid(c.fields...), domain.KindInvalid, "VALIDATION_ERROR")
		if e.Message != c.want || len(e.Fields) != len(c.fields) {
			t.Errorf("%s: message %q, fields %v", name, e.Message, e.Fields)
		}
	}
}

func TestWhatTheOtherRefusalsSay(t *testing.T) {
	t.Parallel()
	conflict := asError(t, domain.IdempotencyConflict(noon), domain.KindConflict, "IDEMPOTENCY_CONFLICT")
	if conflict.Details["first_used_at"] != "2026-03-14T12:00:00.000Z" || !strings.Contains(conflict.Message, "2026-03-14T12:00:00.000Z") {
		t.Errorf("%q %v", conflict.Message, conflict.Details)
	}
	busy := asError(t, domain.IdempotencyInProgress(time.Second), domain.KindConflict, "IDEMPOTENCY_IN_PROGRESS")
	if busy.RetryAfter != time.Second {
		t.Errorf("retry after %s", busy.RetryAfter)
	}
	quote := asError(t, domain.QuoteUnavailable(nil), domain.KindUnavailable, "QUOTE_UNAVAILABLE")
	if quote.RetryAfter <= 0 {
		t.Error("a 503 has to say when to come back")
	}
	asError(t, domain.PickupLocationNotFound(), domain.KindInvalid, "PICKUP_LOCATION_NOT_FOUND")
	many := asError(t, domain.TooManyAddresses("recipient.address"), domain.KindInvalid, "VALIDATION_ERROR")
	if many.Fields[0].Field != "recipient.address" || domain.MaxAddressesPerRecipient != 200 {
		t.Errorf("%+v", many.Fields)
	}
	if f := domain.OutsideServiceArea("dropoff"); f.Field != "dropoff" || f.Code != "out_of_range" {
		t.Errorf("%+v", f)
	}
}
