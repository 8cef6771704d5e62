package pages

import (
	"cmp"
	"fmt"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"

	"waybill/application/deliveries"
	"waybill/domain"
)

// Step is a line of a delivery's timeline.
type Step struct {
	At                time.Time
	Kind, Title, Tone string
	Lines             []string
	ID, Href          string
	order             int // of steps at the same moment
}

// Timeline holds the history of a delivery. By returns the person behind an event, or nothing.
// OfRequest and OfWebhook return the link of a line; empty: none.
type Timeline struct {
	Events    []domain.Event
	Webhooks  []deliveries.SentWebhook
	Requests  []domain.RequestRecord
	By        func(domain.Event) string
	OfRequest func(domain.RequestRecord) string
	OfWebhook func(deliveries.SentWebhook) string
}

// Steps returns the whole history in order.
func (t Timeline) Steps() (steps []Step) {
	for _, r := range t.Requests {
		shown := Step{At: r.ID.MadeAt(), Kind: "request", Title: r.Route, ID: string(r.ID), Href: t.OfRequest(r), order: 0,
			Lines: []string{strconv.Itoa(r.Status) + " after " + Took(r.Took)}}
		if r.Failed() {
			shown.Tone, shown.Lines[0] = "bad", strconv.Itoa(r.Status)+" "+r.Code
		}
		if r.Replayed {
			shown.Lines = append(shown.Lines, "the answer of before, by its Idempotency-Key")
		}
		steps = append(steps, shown)
	}
	for _, e := range t.Events {
		shown := Step{At: e.OccurredAt, Kind: "event", Title: Spaced(string(e.Status)), Tone: StatusTones[e.Status], ID: string(e.ID), order: 1,
			Lines: []string{string(e.Type) + ", number " + strconv.Itoa(e.Sequence)}}
		if e.Reason != "" {
			shown.Lines = append(shown.Lines, "reason: "+Spaced(string(e.Reason)))
		}
		if who := t.By(e); who != "" {
			shown.Lines = append(shown.Lines, who)
		}
		steps = append(steps, shown)
	}
	for _, w := range t.Webhooks {
		steps = append(steps, t.sent(w)...)
	}
	sort.SliceStable(steps, func(i, j int) bool {
		return cmp.Or(steps[i].At.Compare(steps[j].At), cmp.Compare(steps[i].order, steps[j].order)) < 0
	})
	return steps
}

// sent returns the attempts of a webhook, or one step if there was none yet.
func (t Timeline) sent(w deliveries.SentWebhook) (steps []Step) {
	host := w.URL
	if u, err := url.Parse(w.URL); err == nil {
		host = u.Host
	}
	href := t.OfWebhook(w)
	for _, a := range w.Attempts {
		shown := Step{At: a.Result.StartedAt, Kind: "webhook", Title: string(w.EventType) + " sent to " + host,
			ID: string(a.ID), Href: href, order: 2}
		switch {
		case a.Result.Succeeded():
			shown.Tone = "good"
			shown.Lines = []string{"answered " + strconv.Itoa(a.Result.StatusCode) + " after " + Took(a.Result.Duration)}
		case a.Result.StatusCode != 0:
			shown.Tone, shown.Lines = "bad", []string{"answered " + strconv.Itoa(a.Result.StatusCode)}
		default:
			shown.Tone, shown.Lines = "bad", []string{"no answer: " + Spaced(string(a.Result.Error))}
		}
		if a.NextAt != nil {
			shown.Lines = append(shown.Lines, "next try at "+a.NextAt.UTC().Format("15:04:05 UTC"))
		}
		steps = append(steps, shown)
	}
	if len(w.Attempts) == 0 {
		shown := Step{At: w.CreatedAt, Kind: "webhook", Title: string(w.EventType) + " to " + host, Lines: []string{Spaced(string(w.Status))},
			Href: href, order: 2}
		steps = append(steps, shown)
	}
	return steps
}

// StatusTones maps statuses to the classes of their colours: the same in tags, board, map and
// charts.
var StatusTones = map[domain.Status]string{
	domain.Booked: "s-booked", domain.Assigned: "s-assigned", domain.PickedUp: "s-picked-up", domain.InTransit: "s-in-transit",
	domain.Delivered: "s-delivered", domain.Failed: "s-failed", domain.Cancelled: "s-cancelled", domain.Outsourced: "s-outsourced",
}

// Simulated holds the simulation of a delivery, for pages.
type Simulated struct {
	*domain.Simulation
	Plays      string // the scenario, as text
	StepsTotal int
}

// NewSimulated returns the simulation of a delivery; nil: it has none now.
func NewSimulated(d *domain.Delivery) *Simulated {
	if !d.Simulating() {
		return nil
	}
	s := d.Simulation()
	return &Simulated{Simulation: s, Plays: Spaced(string(s.Scenario)), StepsTotal: s.StepsTotal()}
}

// Spaced formats a constant for people: picked up, cash on delivery refused.
func Spaced(constant string) string {
	text := strings.ReplaceAll(constant, "_", " ")
	if text == "cod" || strings.HasPrefix(text, "cod ") {
		text = "cash on delivery" + text[len("cod"):]
	}
	return text
}

// Took formats a short time for people.
func Took(d time.Duration) string {
	switch {
	case d < 50*time.Microsecond: // includes zero, measured in whole milliseconds
		return "less than 1 ms"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
	case d < 10*time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}

// FeeOf returns the fee of a delivery; empty: the price is to be agreed.
func FeeOf(q domain.Quote) string {
	if q.Fee == nil {
		return ""
	}
	return AmountOf(*q.Fee)
}

// AmountOf formats an amount with its currency.
func AmountOf(m domain.Money) string {
	return fmt.Sprintf("%d.%02d %s", m.Minor/100, m.Minor%100, m.Currency)
}

// DistanceOf formats the distance of a delivery.
func DistanceOf(d domain.Distance) string {
	return fmt.Sprintf("%.2f km, %s", d.Kilometres, Spaced(string(d.Source)))
}

// PaymentOf describes what the rider collects.
func PaymentOf(p domain.Payment) string {
	if p.GoodsValue == nil {
		return Spaced(string(p.Type))
	}
	return Spaced(string(p.Type)) + ", " + AmountOf(*p.GoodsValue) + " to collect for the goods"
}
