package monitoring

import (
	"context"

	"waybill/application/audit"
	"waybill/domain"
	"waybill/ports"
)

// Machinery implements the use cases.
type Machinery struct {
	storage  ports.Storage
	database ports.StorageState
	upkeep   ports.Maintenance
	queue    ports.SharedQueue // nil: no queue is shared
	log      *audit.Log
	clock    ports.Clock
	overview shared[*Overview]
	pauses   shared[Part[[]domain.SendingPause]]
}

// NewMachinery returns the use cases. queue is nil where processes share none.
func NewMachinery(d ports.Database, queue ports.SharedQueue, c ports.Clock, ids ports.Identifiers) *Machinery {
	m := &Machinery{storage: d, database: d, upkeep: d, queue: queue, log: audit.New(d, c, ids), clock: c}
	m.overview.read = m.look
	m.pauses.read = func(ctx context.Context) (p Part[[]domain.SendingPause]) {
		part(ctx, &p, d.Read().Sending.Pauses)()
		return p
	}
	return m
}
