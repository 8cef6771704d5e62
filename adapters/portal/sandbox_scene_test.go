package portal_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waybill/adapters/httpapi"
	"waybill/adapters/normalizer"
	"waybill/adapters/portal"
	"waybill/application/access"
	"waybill/application/deliveries"
	"waybill/application/directory"
	"waybill/application/idempotency"
	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// process is one that serves the portal.
type process struct {
	portal *portal.Portal
	server *httptest.Server
}

// tariff prices everything alike, everywhere.
type tariff struct{}

func (tariff) Price(context.Context, domain.Trip) (domain.Quote, error) {
	return domain.Quote{Currency: "GHS", Distance: domain.Distance{Kilometres: 9.5, Source: domain.DistanceRoad},
		Fee: &domain.Money{Minor: 2450, Currency: "GHS"}}, nil
}

func (tariff) Contains(domain.Coordinates) bool { return true }

// webhookIDs leave the last digit free, which domain.WebhookDeliveryID takes.
type webhookIDs struct{ *stage.IDs }

func (i webhookIDs) ID(p domain.Prefix) domain.ID {
	return domain.ID(string(p) + i.IDs.ID(p).Hex()[1:] + "0")
}

// playground adds the use cases of the sandbox, those of a process of its own.
func (s *scene) playground(t *testing.T, u *portal.UseCases) {
	t.Helper()
	u.PickupLocations = directory.NewPickupLocations(s.storage, s.Gate(s.storage), s.Clock, s.IDs)
	gate := idempotency.NewGate(s.storage, s.Clock, s.IDs, slog.New(slog.DiscardHandler),
		idempotency.Retention(stage.Retention))
	u.Deliveries = deliveries.New(s.storage, &s.busy, gate, deliveries.NewQuotes(s.storage, tariff{}, tariff{}), s.Clock, webhookIDs{s.IDs}, stage.FoldCase{},
		stage.Renderer{})
	u.Admission = s.admission()
	u.Listeners = webhooks.NewListeners(s.storage, s.Store.Outbox(), s.Gate(s.storage), mask{}, s.Clock, webhookIDs{s.IDs},
		webhooks.Schedules{domain.Sandbox: domain.DefaultRetrySchedule(domain.Sandbox)})
}

// admission is that of the API, whose allowances all processes share.
func (s *scene) admission() *access.Admission {
	perMinute := func(n int) domain.RateLimit { return domain.RateLimit{Limit: n, Window: time.Minute} }
	return access.NewAdmission(s.storage, s.rates, stage.Digester{}, s.Clock, access.Limits{PerKey: perMinute(100_000),
		PerBusiness: perMinute(100_000), PerAddress: perMinute(100_000)})
}

// busyKeys are bookings whose key another request holds for as many attempts as it says.
type busyKeys struct {
	ports.Bookings
	attempts atomic.Int64
}

func (b *busyKeys) Book(ctx context.Context, w ports.BookingWrite) error {
	if b.attempts.Add(-1) >= 0 {
		return ports.ErrKeyBusy
	}
	return b.Bookings.Book(ctx, w)
}

// sandboxAPI is the one whose form for orders the portal fills in.
func sandboxAPI(t *testing.T) *httpapi.API {
	t.Helper()
	n := must[*normalizer.Normalizer](t)(normalizer.New("GH"))
	return httpapi.New(httpapi.UseCases{Normalizer: n, ServiceArea: tariff{}}, httpapi.Options{Environment: domain.Sandbox, Currency: "GHS",
		CursorKeys: [][32]byte{{1}}, Log: slog.New(slog.DiscardHandler)})
}

// sampleForm is the form for a sample as it is at first.
func (s *scene) sampleForm(h house, pairs ...string) url.Values {
	form := url.Values{
		"once": {string(s.IDs.ID(domain.PrefixDelivery))}, "application": {string(h.app.ID)},
		"recipient.name": {"Ama Mensah"}, "recipient.phone_number": {"024 412 3456"},
		"recipient.address.address": {"7 Independence Avenue"}, "recipient.address.latitude": {"5.6037"},
		"recipient.address.longitude": {"-0.1870"}, "pickup.name": {"Depot"}, "pickup.contact": {"030 212 3456"},
		"pickup.address": {"12 Oxford Street"}, "pickup.latitude": {"5.5571"}, "pickup.longitude": {"-0.1818"},
		"payment.type": {"delivery_only"}, "vehicle_type": {"bike"}, "sandbox.step_seconds": {"2"},
	}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// ofApp is a form about the first application.
func (s *scene) ofApp() url.Values { return ofApp(s, s.house) }

func ofApp(_ *scene, h house) url.Values { return url.Values{"application": {string(h.app.ID)}} }

func newSample(s *scene, h house) url.Values { return s.sampleForm(h) }

// happens makes a webhook for every endpoint of a house's sandbox, with a body of the usual
// size, and returns the ID of its event.
func (s *scene) happens(t *testing.T, h house, what string) domain.ID {
	t.Helper()
	id := webhookIDs{s.IDs}.ID(domain.PrefixEvent)
	body := []byte(`{"id":"` + string(id) + `","what":"` + what + `","of":"` + string(h.business.ID) + `","rest":"` + strings.Repeat("x", 1200) +
		`"}`)
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		return tx.Webhooks.Publish(ctx, domain.WebhookEndpoint{ID: "whe_00000000000000000000000000000000", Tenant: h.tenant(domain.Sandbox)},
			domain.FeedEvent{ID: id, Type: domain.EventEndpointDisabled, OccurredAt: s.Clock.Now(), Payload: body})
	})
	return id
}
