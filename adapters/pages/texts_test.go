package pages_test

import (
	"testing"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

func TestConstantsAndShortTimesAreToldInWords(t *testing.T) {
	t.Parallel()
	for constant, want := range map[string]string{
		"picked_up": "picked up", "cod": "cash on delivery", "cod_refused": "cash on delivery refused", "code": "code",
	} {
		if got := pages.Spaced(constant); got != want {
			t.Errorf("%s is %q, want %q", constant, got, want)
		}
	}
	for took, want := range map[time.Duration]string{
		0: "less than 1 ms", 40 * time.Microsecond: "less than 1 ms", 60 * time.Microsecond: "0.1 ms", 12 * time.Millisecond: "12 ms",
	} {
		if got := pages.Took(took); got != want {
			t.Errorf("%v is told as %q, want %q", took, got, want)
		}
	}
	if got := pages.PaymentOf(domain.Payment{Type: domain.PaymentType("delivery_only")}); got != "delivery only" {
		t.Errorf("a payment is %q", got)
	}
}
