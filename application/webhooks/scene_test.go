package webhooks_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/application/idempotency"
	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// scene holds the use cases of callers on their own database.
type scene struct {
	*stage.Stage
	t         *testing.T
	tenant    domain.Tenant
	ids       spaced
	sealer    maskSealer
	resolver  *resolver
	webhooks  *webhooks.Webhooks
	listeners *webhooks.Listeners
	first     string // the first secret
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := stage.New(t)
	sc := &scene{Stage: s, t: t, tenant: s.NewTenant(t), ids: spaced{s.IDs}, resolver: &resolver{}}
	sc.perform(s.Store)
	return sc
}

// perform puts a storage behind the use cases. It may be a double in front of the stage's.
func (s *scene) perform(storage ports.Storage) {
	gate := s.Gate(storage)
	s.webhooks = webhooks.New(storage, gate, s.sealer, s.resolver, stage.Renderer{}, s.Clock, s.ids, false)
	s.listeners = webhooks.NewListeners(storage, s.Store.Outbox(), gate, s.sealer, s.Clock, s.ids,
		webhooks.Schedules{domain.Sandbox: domain.DefaultRetrySchedule(domain.Sandbox)})
}

// spaced leaves the last digit free, which domain.WebhookDeliveryID uses.
type spaced struct{ *stage.IDs }

func (s spaced) ID(p domain.Prefix) domain.ID {
	return domain.ID(string(p) + s.IDs.ID(p).Hex()[1:] + "0")
}

// maskSealer hides a text from a reader of the database, and opens it only for the purpose it was
// sealed for.
type maskSealer struct{}

func (maskSealer) Derive(purpose string) ([domain.SigningSecretBytes]byte, error) {
	return sha256.Sum256([]byte(purpose)), nil
}

func (maskSealer) Current([]byte) bool { return true }

func (maskSealer) Seal(purpose string, plain []byte) ([]byte, error) {
	return append([]byte(purpose+"|"), mask(plain)...), nil
}

func (maskSealer) Open(purpose string, sealed []byte) ([]byte, error) {
	text, ok := bytes.CutPrefix(sealed, []byte(purpose+"|"))
	if !ok {
		return nil, errors.New("sealed for something else")
	}
	return mask(text), nil
}

func mask(text []byte) []byte {
	masked := slices.Clone(text)
	for i := range masked {
		masked[i] ^= 0x80
	}
	return masked
}

// resolver finds every host but the refused ones. It sends nothing.
type resolver struct {
	ports.WebhookSender
	mu      sync.Mutex
	asked   []string
	refuses string // a part of the refused URLs
}

func (r *resolver) Resolvable(_ context.Context, url string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, url)
	if r.refuses != "" && strings.Contains(url, r.refuses) {
		return domain.WebhookURLBlocked("The host does not resolve.")
	}
	return nil
}

// shown is what the tests render: enough to distinguish answers.
type shown struct {
	Endpoint domain.WebhookEndpoint
	Secret   string
}

func showSecret(e domain.WebhookEndpoint, secret string) domain.Answer {
	return render(201, shown{e, secret})
}

func showEndpoint(e domain.WebhookEndpoint) domain.Answer { return render(200, shown{Endpoint: e}) }

func showChanged(e domain.WebhookEndpoint, _ bool) domain.Answer { return showEndpoint(e) }

func showWebhook(d domain.WebhookDelivery) domain.Answer { return render(202, d) }

func render(status int, v any) domain.Answer {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return domain.Answer{Status: status, Body: body}
}

func read[T any](t *testing.T, r idempotency.Result, err error) (v T) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(r.Answer.Body, &v); err != nil {
		t.Fatalf("%v in %q", err, r.Answer.Body)
	}
	return v
}

func isCode(t *testing.T, err error, code string) *domain.Error {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("the error is %v, want %s", err, code)
	}
	return e
}

// form returns an endpoint that takes every event.
func form(changes ...func(*webhooks.Form)) func() (webhooks.Form, error) {
	f := webhooks.Form{URL: "https://shop.example.com/hooks", EventTypes: []string{domain.AllEvents}, Enabled: true}
	for _, c := range changes {
		c(&f)
	}
	return func() (webhooks.Form, error) { return f, nil }
}

// request returns a request without a key.
func (s *scene) request() idempotency.Request { return idempotency.Request{Tenant: s.tenant} }

// add makes an endpoint.
func (s *scene) add(changes ...func(*webhooks.Form)) shown {
	s.t.Helper()
	r, err := s.webhooks.Create(s.t.Context(), s.request(), form(changes...), showSecret)
	made := read[shown](s.t, r, err)
	if s.first == "" {
		s.first = made.Secret
	}
	return made
}

func (s *scene) change(id domain.ID, c domain.WebhookEndpointChange) domain.WebhookEndpoint {
	s.t.Helper()
	r, err := s.webhooks.Change(s.t.Context(), s.request(), id, func() (domain.WebhookEndpointChange, error) { return c, nil }, showChanged)
	return read[shown](s.t, r, err).Endpoint
}

// send makes a webhook of a test event of the endpoint.
func (s *scene) send(endpoint domain.ID) domain.WebhookDelivery {
	s.t.Helper()
	r, err := s.webhooks.Test(s.t.Context(), s.request(), endpoint, showWebhook)
	return read[domain.WebhookDelivery](s.t, r, err)
}

// attempt ends the next attempt of all that is due for an endpoint, with the same result.
func (s *scene) attempt(endpoint domain.ID, result domain.WebhookResult) {
	s.t.Helper()
	ctx, o, now := s.t.Context(), s.Store.Outbox(), s.Clock.Now()
	token := s.ids.ID("").Hex()
	e, leased, err := o.Lease(ctx, endpoint, token, time.Minute)
	if err != nil || !leased {
		s.t.Fatal("the endpoint is not leased", err)
	}
	due, err := o.Due(ctx, endpoint, now, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	var outcomes []ports.WebhookOutcome
	for _, d := range due {
		a := d.Record(s.ids.ID(domain.PrefixWebhookAttempt), result, domain.DefaultRetrySchedule(domain.Sandbox), false, 0.5, now)
		outcomes = append(outcomes, ports.WebhookOutcome{Delivery: d.WebhookDelivery, Attempt: a})
	}
	if err := o.Record(ctx, endpoint, token, outcomes, e.Health); err != nil {
		s.t.Fatal(err)
	}
	if err := o.Release(ctx, endpoint, token); err != nil {
		s.t.Fatal(err)
	}
}

var (
	tookIt      = domain.WebhookResult{StatusCode: 200}
	serverError = domain.WebhookResult{StatusCode: 503, Error: domain.ErrorHTTP5xx}
)
