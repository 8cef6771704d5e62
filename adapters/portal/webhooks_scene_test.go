package portal_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

// spacedIDs leave the last digit of events free, which domain.WebhookDeliveryID takes, and
// begin them with another digit than all others.
type spacedIDs struct{ *stage.IDs }

func (s spacedIDs) ID(p domain.Prefix) domain.ID {
	if p != domain.PrefixEvent {
		return s.IDs.ID(p)
	}
	return domain.ID(string(p) + "f" + s.IDs.ID(p).Hex()[2:] + "0")
}

// nowhere sends nothing, and finds every host.
type nowhere struct{ asked atomic.Int64 }

func (*nowhere) Send(context.Context, ports.WebhookMessage) domain.WebhookResult {
	return domain.WebhookResult{}
}
func (n *nowhere) Resolvable(context.Context, string) error { n.asked.Add(1); return nil }

// mask hides secrets from those who look at the database, and opens them for their purpose.
type mask struct{}

func (mask) Current([]byte) bool                     { return true }
func (mask) Derive(purpose string) ([32]byte, error) { return sha256.Sum256([]byte(purpose)), nil }

func (mask) Seal(purpose string, plain []byte) ([]byte, error) {
	sealed := []byte(purpose + "|")
	for _, b := range plain {
		sealed = append(sealed, b^0x5a)
	}
	return sealed, nil
}

func (m mask) Open(purpose string, sealed []byte) ([]byte, error) {
	text, sound := bytes.CutPrefix(sealed, []byte(purpose+"|"))
	if !sound {
		return nil, errors.New("sealed for something else")
	}
	plain, err := m.Seal("", text)
	return plain[1:], err
}

// endpoints are the use cases of webhook endpoints, on the storage that may break.
func (s *scene) endpoints() *webhooks.Endpoints {
	ids := spacedIDs{s.IDs}
	return webhooks.NewEndpoints(s.storage, webhooks.New(s.storage, s.Gate(s.storage), mask{}, &nowhere{}, stage.Renderer{}, s.Clock, ids, false),
		s.Clock, ids)
}

// newEndpoint is one of the sandbox that gets nothing but a test, which failed.
func (s *scene) newEndpoint(t *testing.T, h house, address string) (e domain.WebhookEndpoint, sent domain.ID) {
	t.Helper()
	once := spacedIDs{s.IDs}.ID(domain.PrefixWebhookEndpoint)
	made := must[webhooks.Secret](t)(s.endpoints().Create(t.Context(), h.actor(domain.RoleOwner), once, h.tenant(domain.Sandbox),
		webhooks.Form{URL: address, EventTypes: []string{string(domain.EventEndpointDisabled)}, Enabled: true}))
	d := s.sends(t, made.WebhookEndpoint)
	s.settles(t, made.WebhookEndpoint, d, sample.Refused(s.Clock.Now()))
	return made.WebhookEndpoint, d.ID
}

func (h house) actor(role domain.Role) domain.AuditActor {
	return domain.AuditActor{ID: h.people[role].ID, Name: h.people[role].Name, BusinessID: h.business.ID}
}

// sends makes an event for an endpoint, which is due.
func (s *scene) sends(t *testing.T, e domain.WebhookEndpoint) (d domain.WebhookDelivery) {
	t.Helper()
	s.Write(t, func(ctx context.Context, tx ports.Stores) (err error) {
		d, err = tx.Webhooks.PublishTo(ctx, e, sample.EndpointEvent(domain.EventEndpointTest, func(f *domain.FeedEvent) {
			f.ID, f.OccurredAt = spacedIDs{s.IDs}.ID(domain.PrefixEvent), s.Clock.Now()
			f.Payload = []byte(`{"id":"` + string(f.ID) + `","type":"webhook_endpoint.test","data":{"note":"sent as it is"}}`)
		}))
		return err
	})
	return d
}

// settles records an attempt, with what it says of the endpoint, and is the webhook after it.
func (s *scene) settles(t *testing.T, e domain.WebhookEndpoint, d domain.WebhookDelivery, r domain.WebhookResult) domain.WebhookDelivery {
	t.Helper()
	outcome := sample.WebhookOutcome(d, r, s.Clock.Now())
	token := sample.ID("").Hex()
	if _, leased, err := s.Store.Outbox().Lease(t.Context(), e.ID, token, domain.ListenerLife); err != nil || !leased {
		t.Fatal(leased, err)
	}
	err := s.Store.Outbox().Record(t.Context(), e.ID, token, []ports.WebhookOutcome{outcome}, e.Health)
	if err == nil {
		err = s.Store.Outbox().Release(t.Context(), e.ID, token)
	}
	if err != nil {
		t.Fatal(err)
	}
	return outcome.Delivery
}

// ails gives an endpoint another health.
func (s *scene) ails(t *testing.T, e domain.WebhookEndpoint, change func(*domain.WebhookEndpoint)) {
	t.Helper()
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		stored, err := tx.Webhooks.LockEndpoint(ctx, e.Tenant, e.ID)
		if err != nil {
			return err
		}
		change(&stored)
		return tx.Webhooks.UpdateEndpoint(ctx, stored)
	})
}

// webhookState is all of webhooks that may be changed of a house.
func (s *scene) webhookState(t *testing.T, to io.Writer, h house) {
	t.Helper()
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		read := s.Store.Read().Webhooks
		for _, one := range must[[]domain.WebhookEndpoint](t)(read.Endpoints(t.Context(), h.tenant(e), domain.PageRequest{Limit: 16})) {
			fmt.Fprintln(to, one.ID, one.URL, one.EventTypes, one.Enabled, one.UpdatedAt, len(one.Secrets))
			for _, d := range must[[]domain.WebhookDelivery](t)(read.Deliveries(t.Context(), one.Tenant, one.ID, domain.WebhookDeliveryFilter{},
				domain.PageRequest{Limit: 100})) {
				fmt.Fprintln(to, d.ID, d.Status, d.Trigger)
			}
		}
	}
}

// newEndpointForm is what the form for a new endpoint sends.
func newEndpointForm(s *scene, h house) url.Values {
	return url.Values{"once": {string(s.IDs.ID(domain.PrefixWebhookEndpoint))}, "application": {string(h.app.ID)}, "environment": {"sandbox"},
		"url": {"https://hooks.example.com/new"}, "event_types": {"delivery.*"}}
}

// Webhooks, who may use them.
func init() {
	const one = "/webhooks/:endpoint"
	for _, page := range []string{"/webhooks", "/webhooks/new", "/webhooks/verify", one, one + "/edit", one + "/pause", one + "/resume", one +
		"/rotate", one + "/test",
		one + "/delete", one + "/recover", one + "/sent/:sent", one + "/sent/:sent/resend"} {
		matrix["GET "+page] = row{may: members}
	}
	for route, form := range map[string]func(*scene, house) url.Values{
		"/webhooks": newEndpointForm, one + "/edit": sent("url", "https://hooks.example.com/other", "event_types", "*"), one + "/pause": nil,
		one + "/resume": nil, one + "/rotate": sent("overlap_seconds", "0"), one + "/test": nil, one + "/delete": nil,
		one + "/recover": sent("since", "2026-03-14T11:00", "until", "2026-03-14T13:00", "count", "1"), one + "/sent/:sent/resend": nil,
	} {
		matrix["POST "+route] = row{may: developers, form: form}
	}
	matrix["POST /webhooks/verify"] = row{may: members, form: func(_ *scene, h house) url.Values {
		return url.Values{"application": {string(h.app.ID)}, "headers": {"webhook-id: x"}, "body": {"{}"},
			"secret": {domain.FormatSigningSecret(make([]byte, 32))}}
	}}
}

// hooks is the page of an endpoint.
func hooks(e domain.WebhookEndpoint, more ...string) string {
	return "/webhooks/" + string(e.ID) + strings.Join(more, "")
}

// decoded is a secret as a receiver decodes it.
func decoded(secret string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
}
