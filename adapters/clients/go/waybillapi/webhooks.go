package waybillapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Tolerance is how far the time of a webhook may be from the clock of its
// receiver, either way.
const Tolerance = 5 * time.Minute

// ErrWebhook says that a webhook is not to be believed. A WebhookError says why;
// answer 400 or 401 and no more.
var ErrWebhook = errors.New("waybillapi: the webhook is not to be believed")

// WebhookError is an ErrWebhook with its reason, for the receiver's own eyes.
type WebhookError struct {
	Reason string // such as: no signature is by a known secret
}

func (e *WebhookError) Error() string { return ErrWebhook.Error() + ": " + e.Reason }

func (e *WebhookError) Unwrap() error { return ErrWebhook }

// Verifier verifies webhooks as Standard Webhooks says.
type Verifier struct {
	keys [][]byte
	now  func() time.Time
}

// NewVerifier takes the secrets of an endpoint, whsec_...: one, or while they are
// rotated both.
func NewVerifier(secrets ...string) (*Verifier, error) {
	if len(secrets) == 0 {
		return nil, errors.New("waybillapi: there is no secret to verify webhooks with")
	}
	v := &Verifier{now: time.Now}
	for _, secret := range secrets {
		encoded, ok := strings.CutPrefix(secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(key) == 0 {
			return nil, errors.New("waybillapi: a secret of webhooks is whsec_ and Base64; this one is not") // never shown
		}
		v.keys = append(v.keys, key)
	}
	return v, nil
}

// WithClock returns a verifier that takes the time from now, for tests.
func (v *Verifier) WithClock(now func() time.Time) *Verifier {
	return &Verifier{keys: v.keys, now: now}
}

// Verify returns nil if the headers sign these bytes with one of the secrets, at
// a time within Tolerance. The body is what was read, before any parsing. An
// event may come twice: remember webhook-id.
func (v *Verifier) Verify(header http.Header, body []byte) error {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	signatures := header.Get("webhook-signature")
	if id == "" || timestamp == "" || signatures == "" {
		return &WebhookError{"webhook-id, webhook-timestamp or webhook-signature is missing"}
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return &WebhookError{"webhook-timestamp is not a number of seconds"}
	}
	if off := v.now().Sub(time.Unix(seconds, 0)); off > Tolerance || off < -Tolerance {
		return &WebhookError{fmt.Sprintf("it was signed %v from now", off.Round(time.Second))}
	}
	for _, key := range v.keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		want := mac.Sum(nil)
		for signature := range strings.SplitSeq(signatures, " ") {
			encoded, ours := strings.CutPrefix(signature, "v1,")
			got, err := base64.StdEncoding.DecodeString(encoded)
			if ours && err == nil && hmac.Equal(got, want) {
				return nil
			}
		}
	}
	return &WebhookError{"no signature is by a known secret"}
}

// WebhookEvent is an event of a delivery or of an endpoint: PublishedDeliveryEvent and
// PublishedEndpointEvent in one. Its data has what Type is about.
type WebhookEvent struct {
	ID          EventID          `json:"id"`
	Type        EventType        `json:"type"`
	Timestamp   Timestamp        `json:"timestamp"`
	APIVersion  string           `json:"api_version"`
	Environment Environment      `json:"environment"`
	Simulated   bool             `json:"simulated"`
	Sequence    int              `json:"sequence,omitzero"` // 1 for the first event of a delivery, then without a gap
	Data        WebhookEventData `json:"data"`
}

// WebhookEventData is the subject of a WebhookEvent. Delivery is as it was right after
// the event.
type WebhookEventData struct {
	Delivery        *Delivery             `json:"delivery,omitempty"`
	PreviousStatus  DeliveryStatus        `json:"previous_status,omitzero"` // "" on the first event
	ReasonCode      ReasonCode            `json:"reason_code,omitzero"`
	WebhookEndpoint *EventWebhookEndpoint `json:"webhook_endpoint,omitempty"`
}

// Event verifies a webhook and reads it. Types that are not known yet come too;
// ignore them.
func (v *Verifier) Event(header http.Header, body []byte) (*WebhookEvent, error) {
	if err := v.Verify(header, body); err != nil {
		return nil, err
	}
	var event WebhookEvent
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, fmt.Errorf("waybillapi: the webhook is signed, but not an event: %w", err)
	}
	return &event, nil
}
