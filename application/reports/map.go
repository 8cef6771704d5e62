package reports

import (
	"context"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// MostOnMap is how many open deliveries of an environment a map shows.
const MostOnMap = 20_000

// Map tells where open deliveries are.
type Map struct {
	storage ports.Storage
	clock   ports.Clock
	area    [][]domain.Coordinates
	last    map[domain.Environment]*recent[Snapshot]
}

// NewMap makes a map over a service area.
func NewMap(s ports.Storage, c ports.Clock, area ports.ServiceOutline) *Map {
	last := map[domain.Environment]*recent[Snapshot]{}
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		last[e] = &recent[Snapshot]{}
	}
	return &Map{storage: s, clock: c, area: area.Outline(), last: last}
}

// Area is the outline of where the company delivers, as closed lines.
func (m *Map) Area() [][]domain.Coordinates { return m.area }

// Snapshot is where open deliveries were at a moment, the newest first. It is shared:
// do not change it.
type Snapshot struct {
	At   time.Time
	Open []domain.OpenDelivery
	More bool // open deliveries that are not in it, which are older than those that are
}

// Snapshot is at most 5 seconds old. An environment that there is not has no deliveries:
// nothing is asked nor kept for a text of an address.
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
