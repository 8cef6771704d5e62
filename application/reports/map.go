package reports

import (
	"context"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// MostOnMap limits the open deliveries of an environment on a map.
const MostOnMap = 20_000

// Map shows where open deliveries are.
type Map struct {
	storage ports.Storage
	clock   ports.Clock
	area    [][]domain.Coordinates
	last    map[domain.Environment]*recent[Snapshot]
}

// NewMap returns a map over a service area.
func NewMap(s ports.Storage, c ports.Clock, area ports.ServiceOutline) *Map {
	last := map[domain.Environment]*recent[Snapshot]{}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		last[e] = &recent[Snapshot]{}
	}
	return &Map{storage: s, clock: c, area: area.Outline(), last: last}
}

// Area returns the outline of where the company delivers, as closed lines.
func (m *Map) Area() [][]domain.Coordinates { return m.area }

// Snapshot holds where open deliveries were at a moment, the newest first. It is shared: do not
// change it.
type Snapshot struct {
	At   time.Time
	Open []domain.OpenDelivery
	More bool // there are older open deliveries that are not in it
}

// Snapshot returns a snapshot of the last 5 seconds. An unknown environment has no deliveries, and
// causes no query and no cache entry.
func (m *Map) Snapshot(ctx context.Context, e domain.Environment) (Snapshot, error) {
	last, known := m.last[e]
	if !known {
		return Snapshot{At: m.clock.Now()}, nil
	}
	return last.get(ctx, m.clock, func(ctx context.Context, at time.Time) (Snapshot, error) {
		open, err := m.storage.Read().Reports.Open(ctx, e, MostOnMap)
		s := Snapshot{At: at, Open: open, More: len(open) > MostOnMap}
		if s.More {
			s.Open = open[:MostOnMap]
		}
		return s, err
	})
}
