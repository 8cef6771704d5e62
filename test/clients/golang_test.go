package clients

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/adapters/clients/go/waybillapi"
	"waybill/test/contract"
	"waybill/test/program"
)

// seen notes which operations were answered with a success.
type seen struct {
	base http.RoundTripper
	ops  map[*regexp.Regexp]operation

	mu   sync.Mutex
	done map[string]bool
}

func watch(t *testing.T) *seen {
	s := &seen{ops: map[*regexp.Regexp]operation{}, done: map[string]bool{}}
	s.base = contract.Load(t).Transport(nil, func(err error) { t.Error(err) })
	parameter := regexp.MustCompile(`\\\{[a-z_]+\\\}`)
	for _, op := range operations(t) {
		s.ops[regexp.MustCompile(`^`+parameter.ReplaceAllString(regexp.QuoteMeta(op.method+" /v1"+op.path), `[a-z]+_[0-9a-f]+`)+`$`)] = op
	}
	return s
}

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := s.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for pattern, op := range s.ops {
		if pattern.MatchString(r.Method+" "+r.URL.Path) && slices.Contains(op.successes, res.StatusCode) {
			s.done[op.id] = true
		}
	}
	return res, nil
}

func client(t *testing.T, s *program.Process, transport http.RoundTripper) *waybillapi.Client {
	t.Helper()
	c, err := waybillapi.New(waybillapi.WithBaseURL(s.Vars["WAYBILL_SANDBOX_URL"]), waybillapi.WithAPIKey(s.Vars["WAYBILL_TEST_KEY"]),
		waybillapi.WithHTTPClient(&http.Client{Transport: transport, Timeout: patience}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// must is for calls that have to succeed; what fails is in the error.
func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func anOrder() waybillapi.DeliveryRequest {
	return waybillapi.DeliveryRequest{
		Recipient: &waybillapi.InlineRecipient{
			PhoneNumber: "024 123 4567",
			Address:     waybillapi.AddressRequest{Address: "12 Lagos Avenue", Latitude: 5.6358, Longitude: -0.1612},
		},
		Pickup: &waybillapi.PickupRequest{Name: "Adom Foods", Contact: "030 212 3456", Address: "14 Ring Road East", Latitude: 5.5718,
			Longitude: -0.187},
		Payment:     waybillapi.Payment{Type: waybillapi.PaymentMethodCOD, GoodsValue: 120.5},
		VehicleType: waybillapi.VehicleTypeBike,
	}
}

func key() string { return waybillapi.NewIdempotencyKey() }

func TestEveryOperationIsCalledByTheClientInGo(t *testing.T) {
	t.Parallel()
	s := program.Shared(t)
	seen := watch(t)
	c, ctx := client(t, s, seen), t.Context()

	quote := must(c.CreateQuote(ctx, waybillapi.QuoteRequest{
		Pickup: &waybillapi.Point{Latitude: 5.5718, Longitude: -0.187}, Dropoff: waybillapi.Point{Latitude: 5.6358, Longitude: -0.1612},
		VehicleType: waybillapi.VehicleTypeBike,
	}))(t)
	if quote.Fee == nil || *quote.Fee <= 0 || quote.Currency != "GHS" || quote.Environment != waybillapi.EnvironmentSandbox {
		t.Errorf("the quote is %+v", quote)
	}
	directory(t, ctx, c)
	deliveries(t, ctx, c)
	webhooks(t, ctx, c)
	listeners(t, ctx, c)

	info := must(c.GetAPIKey(ctx))(t)
	if info.Business.ID != s.Vars["WAYBILL_BUSINESS_ID"] || !slices.Contains(info.Key.Scopes, waybillapi.ScopeDeliveriesWrite) ||
		info.Key.ExpiresAt != nil {
		t.Errorf("the key is %+v", info)
	}
	for _, get := range []func(context.Context, ...waybillapi.CallOption) ([]byte, error){c.GetOpenAPIJSON, c.GetOpenAPIYAML} {
		if text := must(get(ctx))(t); !strings.Contains(string(text), "3.1.0") {
			t.Errorf("the description is %.200s", text)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(operations(t))) {
		if !seen.done[id] {
			t.Errorf("the operation %s of the description was not called with success; call it here", id)
		}
	}
}

// directory calls what concerns recipients and pickup locations.
func directory(t *testing.T, ctx context.Context, c *waybillapi.Client) {
	var answer waybillapi.Answer
	known := must(c.CreateRecipient(ctx, key(), waybillapi.RecipientRequest{PhoneNumber: "024 987 6543", Name: "Kofi"},
		waybillapi.WithAnswer(&answer)))(t)
	if known.PhoneNumber != "+233249876543" || answer.StatusCode != 201 || answer.RequestID == "" || answer.Message == "" ||
		answer.Tries != 1 {
		t.Errorf("the recipient is %+v, the answer %+v", known, answer)
	}
	if one := must(c.GetRecipient(ctx, known.ID))(t); *one != *known {
		t.Errorf("read again, %+v is %+v", known, one)
	}
	if page := must(c.ListRecipients(ctx, waybillapi.ListRecipientsParams{PhoneNumber: known.PhoneNumber}))(t); len(page.Items) != 1 ||
		page.HasMore {
		t.Errorf("by its number there are %+v", page)
	}
	address := must(c.CreateRecipientAddress(ctx, known.ID, key(), waybillapi.AddressRequest{Address: "Oxford Street", Latitude: 5.56,
		Longitude: -0.18}))(t)
	must(c.GetRecipientAddress(ctx, address.ID))(t)
	if all := must(c.ListRecipientAddresses(ctx, known.ID, waybillapi.ListRecipientAddressesParams{}))(t).Items; len(all) != 1 ||
		all[0] != *address {
		t.Errorf("the addresses are %+v, want %+v", all, address)
	}

	place := must(c.CreatePickupLocation(ctx, key(), waybillapi.PickupLocationRequest{Name: "Tema depot", Address: "Harbour Road"}))(t)
	if place.Complete || place.Contact != nil || place.Latitude != nil || !place.Active {
		t.Errorf("the pickup location is %+v", place)
	}
	latitude, longitude, active := 5.5718, -0.187, false
	place = must(c.UpdatePickupLocation(ctx, place.ID, waybillapi.PickupLocationChange{Contact: "030 212 3456", Latitude: &latitude,
		Longitude: &longitude, Active: &active}))(t)
	if !place.Complete || place.Active || place.Contact == nil {
		t.Errorf("after the change it is %+v", place)
	}
	must(c.GetPickupLocation(ctx, place.ID))(t)
	if page := must(c.ListPickupLocations(ctx, waybillapi.ListPickupLocationsParams{Active: &active, Search: "Tema"}))(t); len(
		page.Items) == 0 {
		t.Error("no inactive pickup location is found")
	}
}

// deliveries calls what concerns deliveries, and the helpers that move them.
func deliveries(t *testing.T, ctx context.Context, c *waybillapi.Client) {
	order := anOrder()
	order.ExternalID = "order-" + key()
	once := key()
	d := must(c.CreateDelivery(ctx, once, order))(t)
	var answer waybillapi.Answer
	if again := must(c.CreateDelivery(ctx, once, order, waybillapi.WithAnswer(&answer)))(t); again.ID != d.ID || !answer.Replayed {
		t.Errorf("under one key there are %s and %s; replayed is %t", d.ID, again.ID, answer.Replayed)
	}
	if d.Status != waybillapi.DeliveryStatusBooked || waybillapi.Payment(d.Payment) != order.Payment || d.CreatedAt.IsZero() || d.Simulation == nil ||
		d.Simulation.NextStepAt != nil {
		t.Errorf("the delivery is %+v", d)
	}
	_, err := c.CreateDelivery(ctx, key(), order)
	var details waybillapi.ErrorDetails
	if failure := asError(err); failure == nil || failure.Code != waybillapi.CodeExternalIDConflict || failure.StatusCode != 409 ||
		failure.RequestID == "" {
		t.Errorf("a second create of one external ID: %v", err)
	} else if err := failure.DecodeDetails(&details); err != nil || details.DeliveryID != d.ID {
		t.Errorf("its details are %+v, %v", details, err)
	}

	must(c.GetDelivery(ctx, d.ID, waybillapi.WithAnswer(&answer)))(t)
	if _, err := c.GetDelivery(ctx, d.ID, waybillapi.WithIfNoneMatch(answer.ETag)); err != waybillapi.ErrNotModified {
		t.Errorf("a read of what did not change: %v", err)
	}
	must(c.StartSimulation(ctx, d.ID, waybillapi.SandboxRequest{Scenario: waybillapi.ScenarioDelivered, StepSeconds: 300}))(t)
	must(c.StopSimulation(ctx, d.ID))(t)
	must(c.TransitionDelivery(ctx, d.ID, waybillapi.TransitionRequest{Status: waybillapi.TransitionTargetAssigned}))(t)
	if d = must(c.CancelDelivery(ctx, d.ID, waybillapi.WithIdempotencyKey(key())))(t); d.Status != waybillapi.DeliveryStatusCancelled {
		t.Errorf("after the cancellation it is %+v", d)
	}
	if events := must(c.ListDeliveryEvents(ctx, d.ID, waybillapi.ListDeliveryEventsParams{}))(t).Items; len(events) != 3 ||
		events[2].ReasonCode != waybillapi.ReasonCodeCancelledByCaller {
		t.Errorf("its events are %+v", events)
	}

	since := time.Now().Add(-time.Minute)
	outcome := must(c.CreateDeliveries(ctx, key(), waybillapi.BulkRequest{Deliveries: []waybillapi.DeliveryRequest{anOrder(), anOrder()}}))(t)
	if outcome.Created != 2 || outcome.Results[1].Status != waybillapi.BulkOutcomeResultStatusCreated || outcome.Results[1].Delivery == nil {
		t.Errorf("the bulk came out as %+v", outcome)
	}
	page := must(c.ListDeliveries(ctx, waybillapi.ListDeliveriesParams{Status: waybillapi.DeliveryStatusBooked, CreatedAfter: since,
		Limit: 1}))(t)
	if len(page.Items) != 1 || !page.HasMore || page.NextCursor == "" {
		t.Errorf("the page is %+v", page)
	}
	feed := must(c.ListEvents(ctx, waybillapi.ListEventsParams{DeliveryID: d.ID}))(t)
	if len(feed.Items) != 3 || feed.Items[0].Data.Delivery.ID != d.ID || feed.NextCursor != "" || feed.ResumeCursor == "" {
		t.Errorf("the feed is %+v", feed)
	}
}

// webhooks calls what concerns endpoints; one webhook comes and is verified.
func webhooks(t *testing.T, ctx context.Context, c *waybillapi.Client) {
	type letter struct {
		header http.Header
		body   []byte
	}
	letters := make(chan letter, 8)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		letters <- letter{r.Header, body}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()

	endpoint := must(c.CreateWebhookEndpoint(ctx, key(), waybillapi.WebhookEndpointRequest{
		URL: receiver.URL, EventTypes: []waybillapi.EventPattern{waybillapi.EventPatternDeliveryCreated},
	}))(t)
	must(c.GetWebhookEndpoint(ctx, endpoint.ID))(t)
	description := "the shop"
	if changed := must(c.UpdateWebhookEndpoint(ctx, endpoint.ID,
		waybillapi.WebhookEndpointChange{Description: &description}))(t); changed.Description != description {
		t.Errorf("after the change the endpoint is %+v", changed)
	}
	must(c.ListWebhookEndpoints(ctx, waybillapi.ListWebhookEndpointsParams{}))(t)
	rotated := must(c.RotateWebhookSecret(ctx, endpoint.ID, nil))(t)
	sent := must(c.TestWebhookEndpoint(ctx, endpoint.ID))(t)

	var got letter
	select {
	case got = <-letters:
	case <-time.After(patience):
		t.Fatalf("no webhook came within %v", patience)
	}
	for _, secret := range []string{endpoint.Secret, rotated.Secret} { // both sign for a day
		verifier := must(waybillapi.NewVerifier(secret))(t)
		event, err := verifier.Event(got.header, got.body)
		if err != nil || event.Type != waybillapi.EventTypeWebhookEndpointTest || event.Data.WebhookEndpoint == nil || event.ID != sent.EventID {
			t.Errorf("the event is %+v, %v", event, err)
		}
		if err := verifier.Verify(got.header, append(slices.Clone(got.body), ' ')); err == nil {
			t.Error("a body with one byte more is believed")
		}
	}

	settled := func() bool {
		return must(c.GetWebhookDelivery(ctx, sent.ID))(t).Status == waybillapi.WebhookDeliveryStatusSucceeded
	}
	for deadline := time.Now().Add(patience); !settled(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the webhook is not settled after %v", patience)
		}
	}
	if tries := must(c.ListWebhookAttempts(ctx, sent.ID, waybillapi.ListWebhookAttemptsParams{}))(t).Items; len(tries) != 1 ||
		tries[0].StatusCode != http.StatusNoContent {
		t.Errorf("the attempts are %+v", tries)
	}
	if page := must(c.ListWebhookDeliveries(ctx, endpoint.ID,
		waybillapi.ListWebhookDeliveriesParams{EventType: waybillapi.EventTypeWebhookEndpointTest}))(t); len(page.Items) != 1 {
		t.Errorf("the webhooks are %+v", page)
	}
	must(c.RedeliverWebhook(ctx, sent.ID))(t)
	must(c.RecoverWebhooks(ctx, endpoint.ID, waybillapi.RecoveryRequest{Since: time.Now().Add(-time.Hour),
		Only: waybillapi.RecoverableStatusFailed}))(t)
	must(c.DeleteWebhookEndpoint(ctx, endpoint.ID))(t)
}

// listeners calls what a program on a laptop uses.
func listeners(t *testing.T, ctx context.Context, c *waybillapi.Client) {
	listener := must(c.CreateWebhookListener(ctx,
		&waybillapi.WebhookListenerRequest{EventTypes: []waybillapi.EventPattern{waybillapi.EventPatternDeliveryAll}}))(t)
	d := must(c.CreateDelivery(ctx, key(), anOrder()))(t)
	wait := 20
	fetched := must(c.FetchWebhooks(ctx, listener.ID, &waybillapi.WebhookFetchRequest{WaitSeconds: &wait}))(t)
	if len(fetched.Webhooks) == 0 {
		t.Fatal("no webhook was fetched")
	}
	header := http.Header{}
	for name, value := range fetched.Webhooks[0].Headers {
		header.Set(name, value)
	}
	event, err := must(waybillapi.NewVerifier(listener.Secret))(t).Event(header, []byte(fetched.Webhooks[0].Body))
	if err != nil || event.Data.Delivery == nil || event.Data.Delivery.ID != d.ID {
		t.Errorf("the event is %+v, %v", event, err)
	}
	must(c.DeleteWebhookListener(ctx, listener.ID))(t)
}
