package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
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
	url := backend.Database(t, gormstore.Migrate, gormstore.MigrationsHash())
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

// due returns the webhook that waits for an endpoint.
func (s *scene) due(t *testing.T, endpoint domain.ID) domain.WebhookDelivery {
	t.Helper()
	due, err := s.store.Outbox().Due(t.Context(), endpoint, time.Now(), 1)
	if err != nil || len(due) != 1 {
		t.Fatalf("%d webhooks are due, %v", len(due), err)
	}
	return due[0].WebhookDelivery
}

// record records that a webhook was delivered.
func (s *scene) record(t *testing.T, w domain.WebhookDelivery) error {
	t.Helper()
	token, out := sample.ID("").Hex(), s.store.Outbox()
	if _, leased, err := out.Lease(t.Context(), w.EndpointID, token, time.Minute); err != nil || !leased {
		return fmt.Errorf("leased %t, %w", leased, err)
	}
	o := sample.WebhookOutcome(w, sample.Arrived(time.Now()), time.Now())
	return out.Record(t.Context(), w.EndpointID, token, []ports.WebhookOutcome{o}, domain.WebhookHealth{})
}
