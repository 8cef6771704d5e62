package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

// object is a record of the API, whatever fields it has by now.
type object map[string]any

type point struct {
	Latitude  float64 `json:"latitude" jsonschema:"degrees north, WGS 84"`
	Longitude float64 `json:"longitude" jsonschema:"degrees east, WGS 84"`
}

type quoteInput struct {
	Pickup           *point `json:"pickup,omitempty" jsonschema:"where the goods are; this or pickup_location_id"`
	PickupLocationID string `json:"pickup_location_id,omitempty" jsonschema:"a saved pickup location, pkp_...; this or pickup"`
	Dropoff          point  `json:"dropoff" jsonschema:"where they go"`
	VehicleType      string `json:"vehicle_type" jsonschema:"what carries them; a truck always needs a custom quote"`
}

type quoteOutput struct {
	Quote object `json:"quote" jsonschema:"the price as fee in currency, or requires_custom_quote"`
}

type bookInput struct {
	ExternalID           string     `json:"external_id,omitempty" jsonschema:"your own name for the delivery, unique for good"`
	Recipient            *recipient `json:"recipient,omitempty" jsonschema:"who gets it; this, or recipient_id with recipient_address_id"`
	RecipientID          string     `json:"recipient_id,omitempty" jsonschema:"a saved recipient, rcp_..."`
	RecipientAddressID   string     `json:"recipient_address_id,omitempty" jsonschema:"an address of that recipient, adr_..."`
	Pickup               *pickup    `json:"pickup,omitempty" jsonschema:"where the goods are; this or pickup_location_id"`
	PickupLocationID     string     `json:"pickup_location_id,omitempty" jsonschema:"a saved pickup location, pkp_..."`
	Payment              payment    `json:"payment"`
	VehicleType          string     `json:"vehicle_type"`
	DeliveryInstructions string     `json:"delivery_instructions,omitempty" jsonschema:"for the rider, at most 500 characters"`
	Sandbox              *scenario  `json:"sandbox,omitempty" jsonschema:"sandbox only: what moves the delivery; without it nothing does"`
	IdempotencyKey       string     `json:"idempotency_key,omitempty" jsonschema:"made from the other arguments if left out; give another one to book the same order twice"`
}

type recipient struct {
	Name        string  `json:"name,omitempty"`
	PhoneNumber string  `json:"phone_number" jsonschema:"national or with +, such as 024 412 3456"`
	Address     address `json:"address"`
}

type address struct {
	Address       string  `json:"address" jsonschema:"as a rider finds it"`
	Latitude      float64 `json:"latitude"`
	Longitude     float64 `json:"longitude"`
	Municipality  string  `json:"municipality,omitempty"`
	DeliveryNotes string  `json:"delivery_notes,omitempty"`
}

type pickup struct {
	Name      string  `json:"name"`
	Contact   string  `json:"contact" jsonschema:"phone number"`
	Address   string  `json:"address"`
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

type payment struct {
	Type       string   `json:"type" jsonschema:"cod: the rider collects goods_value in cash; or delivery_only"`
	GoodsValue *float64 `json:"goods_value,omitempty" jsonschema:"with cod only: the amount, two decimals at most"`
}

type scenario struct {
	Scenario    string `json:"scenario" jsonschema:"the life the delivery plays, such as delivered or failed_at_dropoff; manual for none"`
	StepSeconds int    `json:"step_seconds,omitempty" jsonschema:"seconds from one step to the next, 1 to 300; 15 if left out"`
}

type bookOutput struct {
	Delivery       object `json:"delivery"`
	IdempotencyKey string `json:"idempotency_key" jsonschema:"under which it was booked"`
	AlreadyBooked  bool   `json:"already_booked" jsonschema:"true: an earlier call booked it, and this one changed nothing"`
	Next           string `json:"next"`
}

type simulateInput struct {
	DeliveryID  string `json:"delivery_id" jsonschema:"dlv_... of the sandbox"`
	Scenario    string `json:"scenario,omitempty" jsonschema:"let this life begin; the delivery has to be booked still. This or status"`
	StepSeconds int    `json:"step_seconds,omitempty" jsonschema:"with scenario: seconds from one step to the next, 1 to 300"`
	Status      string `json:"status,omitempty" jsonschema:"move it one step, to this status; while no scenario runs. This or scenario"`
}

type deliveryOutput struct {
	Delivery object `json:"delivery"`
}

type getInput struct {
	DeliveryID string `json:"delivery_id,omitempty" jsonschema:"dlv_...; this or external_id"`
	ExternalID string `json:"external_id,omitempty" jsonschema:"the name you gave it; this or delivery_id"`
}

type getOutput struct {
	Delivery object   `json:"delivery"`
	Timeline []object `json:"timeline" jsonschema:"one event for each change, the first one first"`
}

func (s *server) addDeliveryTools() {
	vehicles, scenarios := values(domain.VehicleTypes()), values(domain.Scenarios())
	add(s, tool{
		name: "quote", title: "Price a trip", scope: waybillapi.ScopeQuotesRead, values: map[string][]any{"vehicle_type": vehicles},
		description: "What a delivery between two points would cost now. Creates and reserves nothing.",
	}, s.quote)
	add(s, tool{
		name: "book_delivery", title: "Book a delivery", scope: waybillapi.ScopeDeliveriesWrite,
		writes: true, repeatable: true, destroys: s.Live,
		values: map[string][]any{"vehicle_type": vehicles},
		description: "Book a delivery: in the sandbox a simulated one, on live (only where the server was started to allow it) a real one. The " +
			"same arguments book once, however often the call is sent. Price the trip with quote first.",
	}, s.book)
	add(s, tool{
		name: "simulate", title: "Move a sandbox delivery", scope: waybillapi.ScopeDeliveriesWrite,
		writes: true, sandboxOnly: true, destroys: true,
		values:      map[string][]any{"scenario": scenarios, "status": targets()},
		description: "Let a scenario move a booked delivery of the sandbox, or move it one step by hand. Events and webhooks come as on live.",
	}, s.simulate)
	add(s, tool{
		name: "get_delivery", title: "Read a delivery and its timeline", scope: waybillapi.ScopeDeliveriesRead,
		description: "A delivery with its timeline, by its ID or by your external_id.",
	}, s.getDelivery)
}

func values[T ~string](of []T) []any {
	all := make([]any, len(of))
	for i, value := range of {
		all[i] = string(value)
	}
	return all
}

// targets returns the statuses that a delivery can be moved to.
func targets() []any {
	all := domain.Statuses()
	return values(all[1:]) // the first is the initial one
}

// call sends a request and decodes its data.
func (s *server) call(ctx context.Context, r waybillapi.Request, into any, options ...waybillapi.CallOption) error {
	response, err := s.api.Do(ctx, r, options...)
	if err != nil {
		return err
	}
	return response.Decode(into)
}

func get(path ...string) waybillapi.Request {
	return waybillapi.Request{Method: http.MethodGet, Path: "/" + joined(path)}
}

func joined(path []string) string {
	whole := ""
	for i, part := range path {
		if i > 0 {
			whole += "/"
		}
		whole += url.PathEscape(part)
	}
	return whole
}

func (s *server) quote(ctx context.Context, in quoteInput) (out quoteOutput, err error) {
	err = s.call(ctx, waybillapi.Request{Method: http.MethodPost, Path: "/quotes", Body: in, Repeatable: true}, &out.Quote)
	return out, err
}

func (s *server) book(ctx context.Context, in bookInput) (bookOutput, error) {
	key := in.IdempotencyKey
	in.IdempotencyKey = ""
	body, err := json.Marshal(in)
	if err != nil {
		return bookOutput{}, err
	}
	if key == "" {
		sum := sha256.Sum256(body)
		key = "mcp-" + hex.EncodeToString(sum[:16])
	} else if err := wantKey(key); err != nil {
		return bookOutput{}, err
	}
	out := bookOutput{IdempotencyKey: key}
	var answer waybillapi.Answer
	err = s.call(ctx, waybillapi.Request{Method: http.MethodPost, Path: "/deliveries", Body: json.RawMessage(body), IdempotencyKey: key},
		&out.Delivery, waybillapi.WithAnswer(&answer))
	if err != nil {
		return bookOutput{}, err
	}
	out.AlreadyBooked = answer.Replayed
	out.Next = "get_delivery shows where it stands."
	if !s.Live && in.Sandbox == nil {
		out.Next = "Nothing moves it yet: call simulate with its ID. " + out.Next
	}
	return out, nil
}

func (s *server) simulate(ctx context.Context, in simulateInput) (out deliveryOutput, err error) {
	// A body for the wrong operation would be refused there with less explanation.
	if (in.Scenario == "") == (in.Status == "") {
		return out, errors.New("give either scenario, to let a life begin, or status, to move the delivery one step")
	}
	if err := wantID("delivery_id", domain.PrefixDelivery, in.DeliveryID); err != nil {
		return out, err
	}
	what, body := "simulation", any(scenario{Scenario: in.Scenario, StepSeconds: in.StepSeconds})
	if in.Status != "" {
		what, body = "transition", map[string]string{"status": in.Status}
	}
	request := waybillapi.Request{Method: http.MethodPost, Path: "/" + joined([]string{"test-helpers", "deliveries", in.DeliveryID, what}),
		Body: body, IdempotencyKey: waybillapi.NewIdempotencyKey()}
	err = s.call(ctx, request, &out.Delivery)
	return out, err
}

func (s *server) getDelivery(ctx context.Context, in getInput) (out getOutput, err error) {
	if (in.DeliveryID == "") == (in.ExternalID == "") {
		return out, errors.New("give either delivery_id or external_id")
	}
	if in.ExternalID != "" {
		var found []object
		r := get("deliveries")
		r.Path += "?" + url.Values{"external_id": {in.ExternalID}}.Encode()
		if err := s.call(ctx, r, &found); err != nil {
			return out, err
		}
		if len(found) == 0 {
			return out, fmt.Errorf("no delivery has external_id %q, so none was booked under it. Check its spelling; nothing of the other "+
				"environment or of another application is seen here", in.ExternalID)
		}
		in.DeliveryID, _ = found[0]["id"].(string)
	}
	if err := wantID("delivery_id", domain.PrefixDelivery, in.DeliveryID); err != nil {
		return out, err
	}
	if err := s.call(ctx, get("deliveries", in.DeliveryID), &out.Delivery); err != nil {
		return out, err
	}
	out.Timeline = []object{}
	err = s.call(ctx, get("deliveries", in.DeliveryID, "events"), &out.Timeline)
	return out, err
}

// wantKey refuses an invalid Idempotency-Key, before it becomes a header.
func wantKey(key string) error {
	odd := strings.IndexFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
	if odd < 0 && len(key) >= domain.MinIdempotencyKey && len(key) <= domain.MaxIdempotencyKey {
		return nil
	}
	return fmt.Errorf("idempotency_key is %.60q, which was not sent: it takes %d to %d printable ASCII characters, without line breaks. "+
		"Nothing was booked. Leave it out, and it is made from the order", key, domain.MinIdempotencyKey, domain.MaxIdempotencyKey)
}

// wantID refuses an invalid ID, before it becomes part of a path.
func wantID(field string, prefix domain.Prefix, id string) error {
	if _, err := domain.ParseID(prefix, id); err != nil {
		return fmt.Errorf("%s is %.60q, which is no ID of the form %s...: take it from the answer that had it", field, id, prefix)
	}
	return nil
}
