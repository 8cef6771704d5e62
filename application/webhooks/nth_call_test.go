package webhooks_test

import (
	"context"
	"testing"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/test/stage"
)

// once sends the same request under a key.
func once(send func(ctx context.Context, req idempotency.Request) (idempotency.Result, error)) func(s *scene) stage.Send {
	return func(s *scene) stage.Send {
		return func(ctx context.Context) (idempotency.Result, error) {
			return send(ctx, stage.Key(s.tenant, "webhooks-0001", 1))
		}
	}
}

var useCases = []stage.UseCase[*scene]{
	{
		// key, transaction: claim, insert, complete
		Name: "create", Keyed: true, Calls: 5,
		Ready: func(_ *testing.T, s *scene) stage.Send {
			return once(func(ctx context.Context, req idempotency.Request) (idempotency.Result, error) {
				return s.webhooks.Create(ctx, req, form(), showSecret)
			})(s)
		},
		Check: func(t *testing.T, s *scene) {
			if all, err := s.webhooks.List(t.Context(), s.tenant, domain.PageRequest{Limit: 10}); err != nil || len(all) != 1 {
				t.Errorf("endpoints %+v, %v", all, err)
			}
		},
	},
	{
		// key, transaction: claim, lock, update, complete
		Name: "rotate", Keyed: true, Calls: 6,
		Ready: func(_ *testing.T, s *scene) stage.Send {
			id := s.add().Endpoint.ID
			return once(func(ctx context.Context, req idempotency.Request) (idempotency.Result, error) {
				return s.webhooks.Rotate(ctx, req, id, func() (time.Duration, error) { return time.Hour, nil }, showSecret)
			})(s)
		},
		Check: func(t *testing.T, s *scene) {
			all, err := s.webhooks.List(t.Context(), s.tenant, domain.PageRequest{Limit: 10})
			if err != nil || len(all) != 1 || len(all[0].Secrets) != 2 {
				t.Fatalf("endpoints %+v, %v", all, err)
			}
			// The first secret of all still signs: it was the previous one before, too.
			if old, err := s.sealer.Open(string(all[0].ID), all[0].Secrets[1].Sealed); err != nil || domain.FormatSigningSecret(old) != s.first {
				t.Errorf("the secret before is another one (%v)", err)
			}
		},
	},
	{
		// key, transaction: claim, lock, delete, complete
		Name: "delete with a key", Keyed: true, Calls: 6,
		Ready: func(_ *testing.T, s *scene) stage.Send {
			id := s.add().Endpoint.ID
			return once(func(ctx context.Context, req idempotency.Request) (idempotency.Result, error) {
				return s.webhooks.Delete(ctx, req, id, showEndpoint)
			})(s)
		},
		Check: func(t *testing.T, s *scene) {
			if all, err := s.webhooks.List(t.Context(), s.tenant, domain.PageRequest{Limit: 10}); err != nil || len(all) != 0 {
				t.Errorf("endpoints %+v, %v", all, err)
			}
		},
	},
	{
		// key, transaction: claim, lock, look for it, count, publish, complete
		Name: "test", Keyed: true, Calls: 8,
		Ready: func(_ *testing.T, s *scene) stage.Send {
			id := s.add().Endpoint.ID
			return once(func(ctx context.Context, req idempotency.Request) (idempotency.Result, error) {
				return s.webhooks.Test(ctx, req, id, showWebhook)
			})(s)
		},
		Check: func(t *testing.T, s *scene) {
			all, err := s.webhooks.List(t.Context(), s.tenant, domain.PageRequest{Limit: 10})
			if err != nil || len(all) != 1 {
				t.Fatalf("endpoints %+v, %v", all, err)
			}
			sent, err := s.webhooks.Deliveries(t.Context(), s.tenant, all[0].ID, domain.WebhookDeliveryFilter{}, domain.PageRequest{Limit: 10})
			if err != nil || len(sent) != 1 {
				t.Errorf("sent %+v, %v", sent, err)
			}
		},
	},
}

// Whichever call fails in whichever way, a retry of the request gets its effect exactly once.
func TestWhicheverCallFailsTheRetryFindsOneEffect(t *testing.T) {
	t.Parallel()
	stage.Exam[*scene]{
		Scene: newScene,
		Break: func(s *scene, c *stage.Calls) { s.perform(c.Storage(s.Store)) },
		Mend:  func(s *scene) { s.perform(s.Store) },
	}.Run(t, useCases)
}
