package simulation

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// pricing asks for the same fee for the same trip.
type pricing struct{ p *process }

func (s pricing) Price(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
	name := fmt.Sprintf("Price %s %.6f %.6f", trip.VehicleType, trip.Pickup.Latitude, trip.Dropoff.Latitude)
	return ask(ctx, s.p, prices, name, func(ctx context.Context) (domain.Quote, error) {
		quote := domain.Quote{Currency: currency, Distance: domain.Distance{Kilometres: 4.2, Source: domain.DistanceRoad}}
		switch fateOf(ctx) {
		case noPrice:
			return domain.Quote{}, domain.QuoteUnavailable(errInjected)
		case noPriceSoon:
			wait, cancel := context.WithTimeout(ctx, 2437*time.Millisecond) // never together with another timer
			defer cancel()
			<-wait.Done()
			return domain.Quote{}, domain.QuoteUnavailable(errInjected)
		case customPrice:
			quote.RequiresCustomQuote = true
			return quote, nil
		}
		quote.Fee = &domain.Money{Minor: 2500, Currency: currency}
		return quote, nil
	})
}

// worldQueue holds each notification until the world brings it to a handler.
type worldQueue struct{ p *process }

func (b worldQueue) Notify(ctx context.Context, _ ports.JobKind, id string) error {
	return b.p.through(ctx, notifications, "Notify "+id, func(ctx context.Context) error {
		w := b.p.world
		switch fateOf(ctx) {
		case notificationIsLost:
			return nil
		case notificationIsDoubled:
			w.notified = append(w.notified, id)
		}
		w.notified = append(w.notified, id)
		return nil
	})
}

func (b worldQueue) Run(context.Context, map[ports.JobKind]ports.Handler) error { return nil }

// limiter is that of the process; sometimes it fails.
type limiter struct {
	ports.RateLimiter
	p *process
}

func (l limiter) Take(ctx context.Context, buckets ...ports.Bucket) (ports.Allowance, error) {
	if t, ok := ctx.Value(taskKey{}).(*task); ok && t.chance(l.p.world.faulty/10) {
		t.note("limiter failed")
		return ports.Allowance{}, errInjected
	}
	return l.RateLimiter.Take(ctx, buckets...)
}

// clock is that of the world, set a little wrong.
type clock struct{ p *process }

func (c clock) Now() time.Time { return domain.Millis(time.Now().Add(time.Duration(c.p.skew.Load()))) }

// identifiers sort by the moment they are drawn at, and are made of the process
// that draws them and how many it drew before.
type identifiers struct{ w *world }

func (i identifiers) next() (bytes [16]byte, t *task, n uint32) {
	t = i.w.x.current()
	if t == nil {
		t = i.w.nobody
	}
	n = t.drawn.Add(1)
	binary.BigEndian.PutUint64(bytes[:], uint64(time.Now().UnixMilli())<<16)
	binary.BigEndian.PutUint32(bytes[6:], i.w.x.released.Load())
	binary.BigEndian.PutUint32(bytes[10:], uint32(t.n))
	binary.BigEndian.PutUint16(bytes[14:], uint16(n))
	return bytes, t, n
}

func (i identifiers) ID(p domain.Prefix) domain.ID {
	bytes, _, _ := i.next()
	return domain.MakeID(p, bytes)
}

// Reference is now and then one that was drawn before.
func (i identifiers) Reference() domain.Reference {
	_, t, n := i.next()
	r := rand.New(rand.NewPCG(uint64(t.n), uint64(n)))
	if t.n > 3 && r.IntN(60) == 0 {
		return domain.MakeReference(uint64(r.IntN(4)))
	}
	return domain.MakeReference(r.Uint64())
}

func (i identifiers) APIKey(e domain.Environment) string {
	bytes, _, _ := i.next()
	return domain.MakeAPIKey(e, [32]byte(append(bytes[:], bytes[:]...)))
}

func (i identifiers) SigningSecret() [32]byte {
	bytes, _, _ := i.next()
	return [32]byte(append(bytes[:], bytes[:]...))
}
