package domain_test

import (
	"slices"
	"testing"

	"waybill/domain"
)

// Masks are stored, so a type keeps its bit forever. Add a new type after the last one here.
func TestEveryTypeKeepsTheBitItWasStoredWith(t *testing.T) {
	t.Parallel()
	want := []struct {
		of  domain.EventType
		bit domain.EventMask
	}{
		{"delivery.created", 4}, {"delivery.assigned", 8}, {"delivery.picked_up", 16}, {"delivery.in_transit", 32},
		{"delivery.delivered", 64}, {"delivery.failed", 128}, {"delivery.cancelled", 256}, {"delivery.outsourced", 512},
		{"webhook_endpoint.test", 1024}, {"webhook_endpoint.disabled", 2048},
	}
	if len(want) != len(domain.EventTypes()) {
		t.Errorf("%d types, want %d", len(domain.EventTypes()), len(want))
	}
	for _, w := range want {
		if mask, ok := domain.MaskOfPatterns([]string{string(w.of)}); !ok || mask != w.bit {
			t.Errorf("%s has the bits %d, want %d", w.of, mask, w.bit)
		}
	}
	for pattern, bit := range map[string]domain.EventMask{"*": 1, "delivery.*": 2} {
		if mask, ok := domain.MaskOfPatterns([]string{pattern}); !ok || mask != bit {
			t.Errorf("%s has the bits %d, want %d", pattern, mask, bit)
		}
	}
}

func TestEveryStatusHasItsType(t *testing.T) {
	t.Parallel()
	var want []domain.EventType
	for _, s := range domain.Statuses() {
		want = append(want, domain.EventType("delivery."+string(s)))
	}
	want[0] = "delivery.created"
	got := domain.DeliveryEventTypes()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the types of deliveries are %v, want %v", got, want)
	}
}

func TestAnEndpointTakesWhatItsPatternsName(t *testing.T) {
	t.Parallel()
	later := []domain.EventType{"delivery.weighed", "invoice.paid"} // types of a later version
	for _, of := range append(domain.EventTypes(), later...) {
		event := domain.MaskOf(of)
		takes := func(patterns ...string) bool {
			mask, ok := domain.MaskOfPatterns(patterns)
			if !ok {
				t.Fatalf("%q names nothing", patterns)
			}
			return mask&event != 0
		}
		ofDelivery := slices.Contains(domain.DeliveryEventTypes(), of) || of == "delivery.weighed"
		if !takes("*") || takes("delivery.*") != ofDelivery || takes() {
			t.Errorf("%s: * %v, delivery.* %v, no pattern %v", of, takes("*"), takes("delivery.*"), takes())
		}
		for _, other := range domain.EventTypes() {
			if takes(string(other)) != (other == of) {
				t.Errorf("an endpoint for %s takes %s: %v", other, of, takes(string(other)))
			}
			if takes(string(other), "delivery.*") != (other == of || ofDelivery) {
				t.Errorf("an endpoint for %s and delivery.* is wrong about %s", other, of)
			}
		}
	}
}

func TestAPatternThatNamesNothingIsNone(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"", " ", "delivery", "delivery.", "delivery.weighed", "Delivery.created", "delivery.**", "*.created",
		"webhook_endpoint.*", "**", "* "} {
		if mask, ok := domain.MaskOfPatterns([]string{"*", p}); ok || mask != 0 {
			t.Errorf("%q gives %d, %v", p, mask, ok)
		}
	}
}

func TestEveryPatternAnEndpointMayAskForNamesSomething(t *testing.T) {
	t.Parallel()
	for _, p := range domain.EventPatterns() {
		if _, ok := domain.MaskOfPatterns([]string{p}); !ok {
			t.Errorf("%s names nothing", p)
		}
	}
	if len(domain.EventPatterns()) > domain.MaxEventPatterns {
		t.Errorf("there are %d, and an endpoint may have %d", len(domain.EventPatterns()), domain.MaxEventPatterns)
	}
}
