package reports

import (
	"context"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// MostOnMap is how many open deliveries of an environment a map shows.
	MostOnMap = 20_000
	// snapshotAge is how old a snapshot may be that is given out again: however many
	// look at a map, the database is asked once in that time for each environment.
	snapshotAge  = 5 * time.Second
	snapshotTime = 3 * time.Second
)

// Map tells where open deliveries are.
type Map struct {
	storage ports.Storage
	clock   ports.Clock
	area    [][]domain.Coordinates

	mu   sync.Mutex
	last map[domain.Environment]*look
}

// NewMap makes a map over a service area.
func NewMap(s ports.Storage, c ports.Clock, area ports.ServiceOutline) *Map {
	return &Map{storage: s, clock: c, area: area.Outline(), last: map[domain.Environment]*look{}}
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

// look is one question to the database, by all that ask meanwhile.
type look struct {
	done chan struct{} // closed when the fields below are set
	Snapshot
	err error
}

// Snapshot is at most 5 seconds old. An environment that there is not has no deliveries:
// nothing is asked nor kept for a text of an address.
func (m *Map) Snapshot(ctx context.Context, e domain.Environment) (Snapshot, error) {
	if _, known := domain.ParseEnvironment(string(e)); !known {
		return Snapshot{At: m.clock.Now()}, nil
	}
	l := m.look(ctx, e)
	select {
	case <-l.done:
		return l.Snapshot, l.err
	case <-ctx.Done():
		return Snapshot{}, ctx.Err()
	}
}

func (m *Map) look(ctx context.Context, e domain.Environment) *look {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.last[e]; l != nil {
		select {
		case <-l.done:
			if l.err == nil && m.clock.Now().Sub(l.At) < snapshotAge {
				return l
			}
		default:
			return l
		}
	}
	l := &look{done: make(chan struct{})}
	m.last[e] = l
	// For all that wait, and not only for the first one.
	go func() {
		defer close(l.done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), snapshotTime)
		defer cancel()
		l.At = m.clock.Now()
		l.Open, l.err = m.storage.Read().Reports.Open(ctx, e, MostOnMap)
		if l.More = len(l.Open) > MostOnMap; l.More {
			l.Open = l.Open[:MostOnMap]
		}
	}()
	return l
}
