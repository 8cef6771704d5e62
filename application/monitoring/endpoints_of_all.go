package monitoring

import (
	"context"

	"waybill/domain"
)

// Endpoints returns a page of the webhook endpoints of all customers, and one more. Those that need
// people most come first.
func (m *Machinery) Endpoints(ctx context.Context, f domain.EndpointFilter, after *domain.EndpointPlace, limit int) ([]domain.EndpointShown,
	error) {
	return m.storage.Read().Machinery.Endpoints(ctx, f, m.clock.Now(), after, limit+1)
}

// Endpoint returns an endpoint of any customer.
func (m *Machinery) Endpoint(ctx context.Context, id domain.ID) (domain.WebhookEndpoint, error) {
	return m.storage.Read().Machinery.Endpoint(ctx, id)
}
