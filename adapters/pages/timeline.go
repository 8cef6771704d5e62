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

// Step is a line of the timeline of a delivery.
type Step struct {
	At                time.Time
	Kind, Title, Tone string
	Lines             []string
	ID, Href          string
	order             int // of those at one moment
}

// Timeline is what became of a delivery. By names the person behind an event, or is
// empty; the other two say where a line leads, and empty means nowhere.
type Timeline struct {
	Events    []domain.Event
	Webhooks  []deliveries.SentWebhook
	Requests  []domain.RequestRecord
	By        func(domain.Event) string
	OfRequest func(domain.RequestRecord) string
	OfWebhook func(deliveries.SentWebhook) string
}

// Steps are all of it in order.
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

// sent are the attempts of a webhook, or that none was made yet.
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

// StatusTones are the colours of statuses that are more than under way.
var StatusTones = map[domain.Status]string{domain.Delivered: "good", domain.Failed: "bad", domain.Cancelled: "over"}

// Simulated is the simulation that moves a delivery, as pages tell of it.
type Simulated struct {
	*domain.Simulation
	Plays      string // its scenario, in words
	StepsTotal int
}

// NewSimulated is nil where none moves the delivery.
func NewSimulated(d *domain.Delivery) *Simulated {
	if !d.Simulating() {
		return nil
	}
	s := d.Simulation()
	return &Simulated{Simulation: s, Plays: Spaced(string(s.Scenario)), StepsTotal: s.StepsTotal()}
}

// Spaced is a constant in words: picked up, cash on delivery refused.
func Spaced(constant string) string {
	text := strings.ReplaceAll(constant, "_", " ")
	if text == "cod" || strings.HasPrefix(text, "cod ") {
		text = "cash on delivery" + text[len("cod"):]
	}
	return text
}

// Took is a short time as people read it.
func Took(d time.Duration) string {
	switch {
	case d < 50*time.Microsecond: // of what is measured in whole milliseconds, too
		return "less than 1 ms"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
	case d < 10*time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}

// FeeOf is what the delivery costs; empty: a price was to be agreed.
func FeeOf(q domain.Quote) string {
	if q.Fee == nil {
		return ""
	}
	return AmountOf(*q.Fee)
}

// AmountOf is an amount with its currency.
func AmountOf(m domain.Money) string {
	return fmt.Sprintf("%d.%02d %s", m.Minor/100, m.Minor%100, m.Currency)
}

// DistanceOf is how far a delivery goes.
func DistanceOf(d domain.Distance) string {
	return fmt.Sprintf("%.2f km, %s", d.Kilometres, Spaced(string(d.Source)))
}

// PaymentOf is what the rider collects.
func PaymentOf(p domain.Payment) string {
	if p.GoodsValue == nil {
		return Spaced(string(p.Type))
	}
	return Spaced(string(p.Type)) + ", " + AmountOf(*p.GoodsValue) + " to collect for the goods"
}
