package conformance

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// answerWithin is far more than the promise of the port: the machine may be busy.
const answerWithin = 30 * time.Second

// ExaminePricing examines an adapter of ports.Pricing on a market of its choice.
func ExaminePricing(t *testing.T, m Market, open func(t *testing.T) ports.Pricing) {
	if len(m.Priced) < 2 {
		t.Fatalf("the market has %d trips with a fee, want two at least", len(m.Priced))
	}
	for _, c := range []struct {
		name string
		run  func(p *priced)
	}{
		{"a trip has a fee and a distance, and another trip has another fee", (*priced).fees},
		{"a trip for a person to price has a distance and no fee", (*priced).custom},
		{"a trip with an end that is not served is refused by that end", (*priced).outside},
		{"a price that cannot be had is missing in time, for its own trip alone", (*priced).unpriced},
		{"the same trip costs the same for every business in both environments", (*priced).same},
		{"many at once get the prices they would get alone", (*priced).concurrent},
		{"coordinates that are no numbers have no price", (*priced).noNumbers},
		{"a caller that has gone gets an error or the truth", (*priced).gone},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(&priced{T: t, Pricing: open(t), market: m})
		})
	}
}

type priced struct {
	*testing.T
	ports.Pricing
	market Market
}

// price asks for a price that the market has.
func (p *priced) price(trip domain.Trip) domain.Quote {
	p.Helper()
	quote, err := p.Price(p.Context(), trip)
	if err != nil {
		p.Errorf("%+v: %v", trip, err)
	}
	return quote
}

// complete judges what every quote has, with a fee or without.
func (p *priced) complete(trip domain.Trip, q domain.Quote) {
	p.Helper()
	km := q.Distance.Kilometres
	if q.Currency != p.market.Currency || !(km >= 0) || math.IsInf(km, 0) {
		p.Errorf("%+v: got %+v, want kilometres and %s", trip, q, p.market.Currency)
	}
	if source := q.Distance.Source; source != domain.DistanceRoad && source != domain.DistanceStraightLine {
		p.Errorf("%+v: the distance is from %q", trip, source)
	}
}

func (p *priced) fees() {
	trips := map[int64]domain.Trip{}
	for _, trip := range p.market.Priced {
		q := p.price(trip)
		p.complete(trip, q)
		if q.Fee == nil || q.RequiresCustomQuote || q.Fee.Minor < 0 || q.Fee.Currency != p.market.Currency {
			p.Errorf("%+v: got %+v with fee %+v, want a fee in %s", trip, q, q.Fee, p.market.Currency)
			continue
		}
		if other, taken := trips[q.Fee.Minor]; taken {
			p.Errorf("%+v costs %d, as %+v does", trip, q.Fee.Minor, other)
		}
		trips[q.Fee.Minor] = trip
	}
}

func (p *priced) custom() {
	for _, trip := range p.market.Custom {
		q := p.price(trip)
		p.complete(trip, q)
		if q.Fee != nil || !q.RequiresCustomQuote {
			p.Errorf("%+v: got %+v with fee %+v, want a custom quote", trip, q, q.Fee)
		}
	}
}

func (p *priced) outside() {
	for end, trips := range p.market.Outside {
		for _, trip := range trips {
			q, err := p.Price(p.Context(), trip)
			var outside *ports.OutsideServiceAreaError
			if !errors.As(err, &outside) || outside.End != end || q != (domain.Quote{}) {
				p.Errorf("%+v: got %+v, %v, want the %s outside the area", trip, q, err, end)
			}
			if domain.HasCode(err, domain.CodeQuoteUnavailable) {
				p.Errorf("%+v: %v is a failure too", trip, err)
			}
		}
	}
}

func (p *priced) unpriced() {
	var callers sync.WaitGroup
	for i, trip := range p.market.Unpriced {
		trip.BusinessID = domain.ID("biz_" + strconv.Itoa(i))
		callers.Go(func() {
			began := time.Now()
			q, err := p.Price(p.Context(), trip)
			if !domain.HasCode(err, domain.CodeQuoteUnavailable) || q != (domain.Quote{}) {
				p.Errorf("%+v: got %+v, %v, want %s alone", trip, q, err, domain.CodeQuoteUnavailable)
			}
			if took := time.Since(began); took > answerWithin {
				p.Errorf("%+v: the answer took %v", trip, took)
			}
		})
	}
	p.fees() // while they wait
	callers.Wait()
	p.fees()
}

func (p *priced) same() {
	for _, trip := range p.market.Priced {
		want := p.price(trip)
		for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
			trip.Environment, trip.BusinessID = e, domain.ID("biz_"+e)
			if q := p.price(trip); !equal(q, want) {
				p.Errorf("%+v: got %+v with fee %+v, want %+v with fee %+v", trip, q, q.Fee, want, want.Fee)
			}
		}
	}
}

func (p *priced) concurrent() {
	alone := make([]domain.Quote, len(p.market.Priced))
	for i, trip := range p.market.Priced {
		alone[i] = p.price(trip)
	}
	var callers sync.WaitGroup
	for caller := range 16 {
		callers.Go(func() {
			for step := range alone {
				i := (step + caller) % len(alone)
				if q := p.price(p.market.Priced[i]); !equal(q, alone[i]) {
					p.Errorf("%+v: %+v among many and %+v alone", p.market.Priced[i], q, alone[i])
				}
			}
		})
	}
	callers.Wait()
}

func (p *priced) noNumbers() {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for name, spoil := range map[string]func(*domain.Trip){
			"pickup": func(t *domain.Trip) { t.Pickup.Latitude = bad }, "dropoff": func(t *domain.Trip) { t.Dropoff.Longitude = bad },
		} {
			trip := p.market.Priced[0]
			spoil(&trip)
			if q, err := p.Price(p.Context(), trip); err == nil || q != (domain.Quote{}) {
				p.Errorf("%v as %s: got %+v, %v, want an error alone", bad, name, q, err)
			}
		}
	}
}

func (p *priced) gone() {
	for _, trip := range p.market.Priced {
		want := p.price(trip)
		ctx, leave := context.WithCancel(p.Context())
		leave()
		q, err := p.Price(ctx, trip)
		if err == nil && equal(q, want) || domain.HasCode(err, domain.CodeQuoteUnavailable) && q == (domain.Quote{}) {
			continue
		}
		p.Errorf("%+v: got %+v, %v, want %s or %+v", trip, q, err, domain.CodeQuoteUnavailable, want)
	}
}

// equal compares the fees by what they are, not by where they are kept.
func equal(a, b domain.Quote) bool {
	if (a.Fee == nil) != (b.Fee == nil) || a.Fee != nil && *a.Fee != *b.Fee {
		return false
	}
	a.Fee, b.Fee = nil, nil
	return a == b
}
