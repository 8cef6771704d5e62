package main

import (
	"math/rand/v2"
	"slices"
	"time"

	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

// dayLength is how long a day is for the people in it.
const dayLength = 10 * time.Hour

// act is what happens to a delivery.
type act struct {
	at     time.Duration // since the morning
	status domain.Status // Booked: it is booked; Cancelled without a reason: by its customer
	reason domain.ReasonCode
}

// delivery is one of the day.
type delivery struct {
	of    int // of customers
	order waybillapi.DeliveryRequest
	acts  []act // the first one books it

	id       string // once it is booked
	next     int    // of acts
	takenOut bool   // a person moved it, or its booking was refused
}

// life is how a delivery goes: what follows its booking, each with the least and the most
// minutes that pass before.
type life struct {
	weight int
	cod    bool // only where money is to be collected
	steps  []step
}

type step struct {
	status      domain.Status
	reason      domain.ReasonCode
	least, most int
}

var (
	assigned  = step{domain.Assigned, "", 4, 25}
	pickedUp  = step{domain.PickedUp, "", 8, 30}
	inTransit = step{domain.InTransit, "", 1, 8}
	delivered = step{domain.Delivered, "", 12, 55}
)

func out(ends ...step) []step { return append([]step{assigned, pickedUp, inTransit}, ends...) }

func failed(reason domain.ReasonCode) step { return step{domain.Failed, reason, 15, 70} }

// again is a second attempt: it has been picked up before, and is once more.
func again(first domain.ReasonCode) []step {
	return out(failed(first), step{domain.Assigned, "", 30, 90}, pickedUp, inTransit, delivered)
}

var lives = []life{
	{weight: 54, steps: out(delivered)},
	{weight: 8, steps: out(step{domain.Delivered, "", 120, 260})},
	{weight: 4, steps: again(domain.ReasonRecipientUnreachable)},
	{weight: 2, steps: again(domain.ReasonAddressProblem)},
	{weight: 3, steps: out(failed(domain.ReasonRecipientUnreachable))},
	{weight: 2, steps: out(failed(domain.ReasonRecipientRefused))},
	{weight: 2, steps: out(failed(domain.ReasonAddressProblem))},
	{weight: 3, cod: true, steps: out(failed(domain.ReasonCODRefused))},
	{weight: 3, steps: []step{assigned, {domain.Failed, domain.ReasonPickupUnavailable, 15, 40}}},
	{weight: 1, steps: out(failed(domain.ReasonOther))},
	{weight: 3, steps: []step{{domain.Cancelled, "", 3, 20}}},
	{weight: 2, steps: []step{assigned, {domain.Cancelled, "", 1, 6}}},
	{weight: 2, steps: []step{{domain.Cancelled, domain.ReasonNoRider, 60, 120}}},
	{weight: 4, steps: []step{{domain.Outsourced, "", 10, 40}, {domain.Delivered, "", 60, 180}}},
	{weight: 2, steps: []step{{domain.Outsourced, "", 10, 40}}},
	{weight: 5},
}

// plan makes the day of a seed. run keeps the external IDs of two days apart.
func plan(seed uint64, run string, many int) []*delivery {
	r := rand.New(rand.NewPCG(seed, 20))
	day := make([]*delivery, many)
	for n := range day {
		of := pick(r)
		d := &delivery{of: of, order: order(r, run, n, &customers[of])}
		at := time.Duration(r.Int64N(int64(dayLength * 6 / 10)))
		if r.IntN(100) < 55 {
			at = time.Duration(r.Int64N(int64(dayLength / 20)))
		}
		d.acts = append(d.acts, act{at: at, status: domain.Booked})
		for _, s := range chosen(r, d.order.Payment.Type == waybillapi.PaymentMethodCOD) {
			at += time.Duration(s.least)*time.Minute + time.Duration(r.Int64N(int64(s.most-s.least)*int64(time.Minute)))
			d.acts = append(d.acts, act{at, s.status, s.reason})
		}
		day[n] = d
	}
	return day
}

func chosen(r *rand.Rand, cod bool) []step {
	all := 0
	for _, l := range lives {
		all += l.weight
	}
	for {
		n := r.IntN(all)
		for _, l := range lives {
			if n -= l.weight; n >= 0 {
				continue
			}
			if l.cod && !cod {
				break
			}
			return l.steps
		}
	}
}

// due are the deliveries whose next act is due, the first one due first.
func due(day []*delivery, now time.Duration) (all []*delivery) {
	for _, d := range day {
		if !d.takenOut && d.next < len(d.acts) && d.acts[d.next].at <= now {
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, func(a, b *delivery) int { return int(a.acts[a.next].at - b.acts[b.next].at) })
	return all
}
