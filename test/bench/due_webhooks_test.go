package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/postgres"
	"waybill/test/sample"
)

// scene is a database of the program's own, with two endpoints of one application
// that each have had a webhook.
type scene struct {
	store     *gormstore.Store
	db        *pgx.Conn
	endpoints []domain.ID
	keys      []string // the same in the database
	payload   string   // of the webhook
}

func newScene(t *testing.T) *scene {
	t.Helper()
	url := postgres.Database(t, gormstore.Migrate, gormstore.MigrationsHash())
	store, err := gormstore.Open(t.Context(), url, gormstore.Options{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(context.WithoutCancel(t.Context())) })
	s := &scene{store: store, db: db}

	business := sample.Business()
	application := sample.Application(business.ID)
	tenant := domain.Tenant{BusinessID: business.ID, ApplicationID: application.ID, Environment: domain.Live}
	err = store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		err := errors.Join(tx.Tenancy.InsertBusiness(ctx, business), tx.Tenancy.InsertApplication(ctx, application))
		for range 2 {
			e, insertErr := tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(tenant))
			s.endpoints, s.keys = append(s.endpoints, e.ID), append(s.keys, e.ID.Hex())
			err = errors.Join(err, insertErr)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w := sample.BookingWrite(tenant)
	s.payload = `{"id":"` + string(w.Event.ID) + `","timestamp":"2026-03-14T09:26:53.589Z","data":{"delivery":{` + orderMark + `0000041"}}}`
	w.Event.Payload = []byte(s.payload)
	if err := store.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestInsertedWebhooksAreSentLikeCreatedOnes(t *testing.T) {
	t.Parallel()
	for name, failed := range map[string]bool{"never tried": false, "failed once": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			const each = 300
			now := time.Now()
			before := map[domain.ID]ports.OutgoingWebhook{}
			for _, e := range s.endpoints {
				before[e] = s.due(t, e, now)[0]
			}
			if err := insertDue(t.Context(), s.db, s.keys, 2*each, time.Minute, failed); err != nil {
				t.Fatal(err)
			}
			events, deliveries := map[domain.ID]bool{}, map[domain.ID]bool{"": true}
			for slot, e := range s.endpoints {
				due := slices.DeleteFunc(s.due(t, e, time.Now()), func(w ports.OutgoingWebhook) bool { return w.ID == before[e].ID })
				if len(due) != each {
					t.Fatalf("%d are due", len(due))
				}
				for _, w := range due {
					if events[w.EventID] || deliveries[w.DeliveryID] {
						t.Fatalf("event %s or its delivery %q is there twice", w.EventID, w.DeliveryID)
					}
					events[w.EventID], deliveries[w.DeliveryID] = true, true
					s.wantLike(t, before[e], w, slot, failed)
				}
				if oldest := now.Sub(due[0].CreatedAt); oldest < time.Minute/2 || oldest > time.Minute {
					t.Errorf("the oldest is of %v before the insert", oldest)
				}
				var attempts int
				if err := s.db.QueryRow(t.Context(),
					"SELECT count(*) FROM webhook_attempts a JOIN webhook_deliveries w ON w.id = a.webhook_delivery_id"+
						" WHERE w.endpoint_id = $1::uuid AND a.number = w.attempts", e.Hex()).Scan(&attempts); err != nil || (attempts == each) != failed {
					t.Errorf("%d attempts are logged, %v", attempts, err)
				}
			}
			s.wantRecordable(t, failed)

			if err := uproot(t.Context(), s.db, s.keys[:1]); err != nil {
				t.Fatal(err)
			}
			var webhooks, attempts, left int
			if err := s.db.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM webhook_deliveries), (SELECT count(*) FROM webhook_attempts), "+
				"(SELECT count(*) FROM feed_events)").
				Scan(&webhooks, &attempts, &left); err != nil {
				t.Fatal(err)
			}
			wantAttempts := 0
			if failed {
				wantAttempts = each
			}
			// The event that both had is gone with those of the first.
			if webhooks != each+1 || attempts != wantAttempts || left != each {
				t.Errorf("after one was cleared there are %d webhooks, %d attempts, %d events", webhooks, attempts, left)
			}
		})
	}
}

func (s *scene) due(t *testing.T, endpoint domain.ID, now time.Time) []ports.OutgoingWebhook {
	t.Helper()
	due, err := s.store.Outbox().Due(t.Context(), endpoint, now, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return due
}

// wantLike compares with the webhook that was booked.
func (s *scene) wantLike(t *testing.T, real, w ports.OutgoingWebhook, slot int, failed bool) {
	t.Helper()
	tried := 0
	if failed {
		tried = 1
	}
	want := real.WebhookDelivery
	want.ID, want.EventID, want.DeliveryID, want.CreatedAt, want.DueAt = w.ID, w.EventID, w.DeliveryID, w.CreatedAt, w.DueAt
	want.Attempts, want.Used = tried, tried
	if fmt.Sprintf("%+v", w.WebhookDelivery) != fmt.Sprintf("%+v", want) {
		t.Errorf("inserted %+v, want %+v", w.WebhookDelivery, want)
	}
	if w.ID != domain.WebhookDeliveryID(w.EventID, slot) || w.DeliveryID == real.DeliveryID {
		t.Errorf("%s of event %s, delivery %s, in slot %d", w.ID, w.EventID, w.DeliveryID, slot)
	}
	if failed == w.DueAt.Equal(w.CreatedAt) {
		t.Errorf("made at %v, due at %v", w.CreatedAt, w.DueAt)
	}
	body := strings.ReplaceAll(strings.ReplaceAll(s.payload, string(real.EventID), string(w.EventID)), orderMark+"0000041",
		orderMark+"0000000")
	if string(w.Payload) != body || !(arrival{Order: orderOf(w.Payload)}).inserted() {
		t.Errorf("the body is %s, want %s", w.Payload, body)
	}
}

// wantRecordable records an attempt as a sender does.
func (s *scene) wantRecordable(t *testing.T, failed bool) {
	t.Helper()
	w := s.due(t, s.endpoints[0], time.Now())[1].WebhookDelivery
	token, out := sample.ID("").Hex(), s.store.Outbox()
	if _, leased, err := out.Lease(t.Context(), s.endpoints[0], token, time.Minute); err != nil || !leased {
		t.Fatalf("leased %t, %v", leased, err)
	}
	o := sample.WebhookOutcome(w, sample.Refused(time.Now()), time.Now())
	if err := out.Record(t.Context(), s.endpoints[0], token, []ports.WebhookOutcome{o}, domain.WebhookHealth{}); err != nil {
		t.Fatal(err)
	}
	var logged, want int
	if want = 1; failed {
		want = 2
	}
	if err := s.db.QueryRow(t.Context(), "SELECT count(*) FROM webhook_attempts WHERE webhook_delivery_id = $1::uuid", w.ID.Hex()).Scan(
		&logged); err != nil || logged != want {
		t.Errorf("%d attempts are logged, want %d, %v", logged, want, err)
	}
}

func TestOnlyAWebhookThatWasThereIsInserted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	without := []string{s.keys[0], sample.ID(domain.PrefixWebhookEndpoint).Hex()}
	if err := insertDue(t.Context(), s.db, without, 20, time.Minute, false); err == nil {
		t.Error("inserted for an endpoint that had none")
	}
}

func TestIdleEndpointsStandInForTheOthers(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	endpoints := func() string {
		t.Helper()
		var all string
		if err := s.db.QueryRow(t.Context(),
			"SELECT coalesce(string_agg(to_jsonb(e)::text, E'\n' ORDER BY e.id), '') FROM webhook_endpoints e").Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := endpoints()
	for _, n := range []int{0, 20} {
		putBack, err := onlyIdle(t.Context(), s.db, n)
		if err != nil {
			t.Fatal(err)
		}
		var all, ready, most int
		if err := s.db.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE enabled AND slot IS NOT NULL AND secret <> ''),
			(SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM webhook_endpoints GROUP BY application_id, environment) AS each)
			FROM webhook_endpoints`).Scan(&all, &ready, &most); err != nil {
			t.Fatal(err)
		}
		if all != n || ready != n || most > 16 {
			t.Errorf("%d endpoints, %d of them enabled, at most %d of one application and environment; want %d", all, ready, most, n)
		}
		if err := putBack(); err != nil {
			t.Fatal(err)
		}
		if after := endpoints(); after != before {
			t.Errorf("put back\n%s\nwant\n%s", after, before)
		}
	}
	if _, err := onlyIdle(t.Context(), s.db, 33); err == nil || endpoints() != before {
		t.Errorf("33 for one application: %v, and afterwards\n%s", err, endpoints())
	}
}
