package deliveries

import (
	"context"
	"encoding/json"
	"errors"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Samples books sandbox deliveries for people, through the same code as their programs.
type Samples struct {
	handling   *Handling
	deliveries *Deliveries
}

// NewSamples returns the use case on top of the deliveries of the sandbox.
func NewSamples(h *Handling, d *Deliveries) *Samples {
	return &Samples{handling: h, deliveries: d}
}

// Sample describes what a person books.
type Sample struct {
	Application domain.ID
	Key         string   // the Idempotency-Key: a form that is sent twice books once
	Fingerprint [32]byte // of what the form says
	Order       func() (Order, error)
}

// Book books a sample in an application of the actor's business and returns its ID. It refuses as
// Deliveries.Create does. The booking commits before its audit record is written. Where a process
// dies in between, sending the form again writes the record.
func (s *Samples) Book(ctx context.Context, by domain.AuditActor, sample Sample) (domain.ID, error) {
	t := domain.Tenant{BusinessID: by.BusinessID, ApplicationID: sample.Application, Environment: domain.Sandbox}
	if err := s.handling.owns(ctx, t); err != nil {
		return "", err
	}
	result, err := s.deliveries.Create(ctx, idempotency.Request{Tenant: t, Key: sample.Key, Fingerprint: sample.Fingerprint}, sample.Order,
		func(d *domain.Delivery) domain.Answer {
			body, _ := json.Marshal(d.ID) // a string always has JSON
			return domain.Answer{Status: 201, Body: body}
		})
	if err != nil {
		return "", err
	}
	var id domain.ID
	if err := json.Unmarshal(result.Answer.Body, &id); err != nil {
		return "", domain.Internal(err)
	}
	return id, s.record(ctx, by, id, result.Replayed)
}

// record writes the audit record of a booking, once.
func (s *Samples) record(ctx context.Context, by domain.AuditActor, id domain.ID, replayed bool) error {
	if replayed {
		entries, err := s.handling.log.EntriesOfBusiness(ctx, by.BusinessID, domain.AuditFilter{Action: domain.ActionDeliveryBook, Target: id},
			domain.PageRequest{Limit: 1})
		if err != nil || len(entries) > 0 {
			return err
		}
	}
	err := s.handling.log.Change(ctx, by, func(context.Context, ports.Stores) (domain.AuditRecord, error) {
		return domain.AuditRecord{Action: domain.ActionDeliveryBook, Target: id, BusinessID: by.BusinessID}, nil
	})
	if errors.Is(err, ports.ErrOutcomeUnknown) {
		return nil // the booking is known, and its page shows it
	}
	return err
}
