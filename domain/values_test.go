package domain_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"waybill/domain"
)

func TestTimesAreShownInUTCWithThreeDecimals(t *testing.T) {
	t.Parallel()
	accraPlusTwo := time.FixedZone("plus two", 2*60*60)
	for want, at := range map[string]time.Time{
		"2026-03-14T12:00:00.000Z": noon,
		"2026-03-14T10:00:00.000Z": time.Date(2026, 3, 14, 12, 0, 0, 0, accraPlusTwo),
		"2026-03-14T12:00:00.120Z": noon.Add(120 * time.Millisecond),
		"2026-03-14T12:00:00.009Z": noon.Add(9*time.Millisecond + 999*time.Microsecond),
	} {
		if got := domain.FormatTime(at); got != want {
			t.Errorf("%s is shown as %s, want %s", at, got, want)
		}
	}
}

func TestTimesSortAsTheirTextDoes(t *testing.T) {
	t.Parallel()
	instant := rapid.Int64Range(0, 250_000_000_000_000) // microseconds up to the year 9892
	rapid.Check(t, func(t *rapid.T) {
		a, b := time.UnixMicro(instant.Draw(t, "a")), time.UnixMicro(instant.Draw(t, "b"))
		cutA, cutB := domain.Millis(a), domain.Millis(b)
		if cutA.After(a) || a.Sub(cutA) >= time.Millisecond || cutA.Location() != time.UTC {
			t.Fatalf("%s is cut to %s", a, cutA)
		}
		if domain.FormatTime(a) != domain.FormatTime(cutA) {
			t.Fatalf("%s is shown as %s, yet its cut as %s", a, domain.FormatTime(a), domain.FormatTime(cutA))
		}
		if textAfter := domain.FormatTime(a) > domain.FormatTime(b); textAfter != cutA.After(cutB) {
			t.Fatalf("%s and %s sort differently as text", cutA, cutB)
		}
		if back, err := time.Parse(domain.TimeLayout, domain.FormatTime(a)); err != nil || !back.Equal(cutA) {
			t.Fatalf("%s reads back as %s, %v", cutA, back, err)
		}
	})
}

func TestPhoneNumbersAreTakenNormalizedOnly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"+233201234567": true, "+12345678": true, "+123456789012345": true,
		"": false, "+": false, "233201234567": false, "+0233201234567": false, "+1234567": false, "+1234567890123456": false,
		"+233 20 123 4567": false, " +233201234567": false, "+233201234567\n": false, "+23320123456a": false, "0201234567": false,
		"++33201234567": false, "+\u0662\u0663\u06633201234567": false,
	} {
		got, ok := domain.ParsePhoneNumber(text)
		if ok != want || ok && string(got) != text {
			t.Errorf("ParsePhoneNumber(%q) = %q, %t", text, got, ok)
		}
	}
}

func TestThereAreTwoEnvironments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"live": true, "sandbox": true, "": false, "test": false, "Live": false, "live ": false} {
		got, ok := domain.ParseEnvironment(text)
		if ok != want || ok && string(got) != text || !ok && got != "" {
			t.Errorf("ParseEnvironment(%q) = %q, %t", text, got, ok)
		}
	}
}

func TestWhatClientsMayMeetIsListedInFull(t *testing.T) {
	t.Parallel()
	same(t, domain.Statuses(), "booked", "assigned", "picked_up", "in_transit", "delivered", "failed", "cancelled", "outsourced")
	same(t, domain.VehicleTypes(), "bike", "car", "van", "truck")
	same(t, domain.PaymentTypes(), "cod", "delivery_only")
	same(t, domain.ReasonCodes(), "recipient_unreachable", "recipient_refused", "cod_refused", "address_problem",
		"pickup_unavailable", "no_rider", "cancelled_by_caller", "cancelled_by_platform", "other")
}

func same[T ~string](t *testing.T, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
