package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"waybill/test/backend"
)

// way is what happens to every delivery of a company.
var way = []string{"booked", "assigned", "picked_up", "in_transit", "delivered"}

// journey is one delivery from its quote to its end, and what each party was
// told, and when.
type journey struct {
	company   *company
	number    int
	kilometre float64 // by road
	dropoff   m

	id, reference string
	recipient     *recipient
	fee           float64
	moved         int // answers that said so; each move has one at most

	reached atomic.Int64 // points of the way, as far as the answers told
	ended   atomic.Bool

	ordered, booked, delivered, told, shown time.Time
}

// patience is how long a part of a journey may take, on a machine that has other
// things to do, with a part of the company dead for a while.
const patience = time.Minute

// Where the roads of the engine lead: from A it is 4 km to D, and on from there
// to the north. Other than in a straight line, and than 1.3 times that, which
// stands in for roads where there is no engine.
const (
	metresToD    = 4000.0
	nearest      = 60.0
	apart        = 1.6 // metres between one drop-off and the next: no two are one to the cache
	mostJourneys = 500 // all before the road bends, and shorter than the stand-in
	earth        = 6378160.0
)

func (c *company) newJourney() *journey {
	n := int(c.ordered.Add(1))
	north := nearest + apart*float64(n%mostJourneys)
	j := &journey{
		company: c, number: n, kilometre: (metresToD + north) / 1000,
		dropoff: m{"latitude": backend.PlaceD.Latitude + north/earth*180/math.Pi, "longitude": backend.PlaceD.Longitude},
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.carried = append(c.carried, j)
	return j
}

// feeFor is the tariff's: so much, and so much for a kilometre, up to the next half.
func feeFor(kilometres, base, perKilometre float64) float64 {
	metres := math.Round(kilometres * 1000)
	return math.Ceil((base+perKilometre*metres/1000)*2-1e-9) / 2
}

// isRoad tells whether a length is that of the road, to some metres.
func (j *journey) isRoad(source string, kilometres float64) bool {
	return source == "road" && math.Abs(kilometres-j.kilometre) < 0.005
}

// begin asks what it costs, orders, and opens the tracking page.
func (j *journey) begin(ctx context.Context, page int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("nothing within %s", patience))
	defer cancel()
	c := j.company
	j.ordered = time.Now()
	// As a car, so that the order has another length to be asked for.
	quoted, err := c.insist(ctx, c.customer, http.MethodPost, "/quotes", "", m{
		"pickup_location_id": c.pickup, "dropoff": j.dropoff, "vehicle_type": "car",
	})
	var quote struct {
		Data struct {
			Kilometres float64 `json:"distance_km"`
			Source     string  `json:"distance_source"`
			Fee        float64
		}
	}
	if err := decode(quoted, err, http.StatusOK, &quote); err != nil {
		return fmt.Errorf("a quote: %w", err)
	}
	if q := quote.Data; !j.isRoad(q.Source, q.Kilometres) || q.Fee != feeFor(q.Kilometres, 15, 3.5) {
		c.accuse("quote %d: %+v, want %.3f km by road and the fee for them", j.number, q, j.kilometre)
	}
	if err := j.book(ctx); err != nil {
		return err
	}
	j.booked = time.Now()
	j.reached.Add(1)
	j.recipient = &recipient{client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	for _, v := range c.servers {
		j.recipient.pages = append(j.recipient.pages, "http://"+v.live+"/track/"+j.reference)
	}
	if err := j.recipient.open(ctx, page); err != nil {
		return err
	}
	if s := j.recipient.latest(); s.status != "booked" || s.sequence != 1 {
		c.accuse("the page shows %+v of a delivery that is booked", s)
	}
	return nil
}

// book creates the delivery. Of each two one has no external_id: nothing but the
// key keeps it from being created twice.
func (j *journey) book(ctx context.Context) error {
	c := j.company
	marker := fmt.Sprintf("live order %d", j.number)
	address := m{"address": "17 Palm Crescent, Labone", "municipality": "Accra", "latitude": j.dropoff["latitude"],
		"longitude": j.dropoff["longitude"]}
	body := m{
		"recipient":          m{"name": "Efua Quartey", "phone_number": fmt.Sprintf("+23324%07d", j.number), "address": address},
		"pickup_location_id": c.pickup, "payment": m{"type": "delivery_only"}, "vehicle_type": "bike", "delivery_instructions": marker,
	}
	if j.number%2 == 0 {
		body["external_id"] = marker
	}
	r, err := c.insist(ctx, c.customer, http.MethodPost, singlePath, marker, body)
	var made struct {
		Data struct {
			ID, Reference, Status string
			TrackingURL           string  `json:"tracking_url"`
			Fee                   float64 `json:"delivery_fee"`
		}
	}
	if err := decode(r, err, http.StatusCreated, &made); err != nil {
		return fmt.Errorf("an order: %w", err)
	}
	d := made.Data
	if d.Status != "booked" || d.TrackingURL != trackingBase+"/"+d.Reference {
		c.accuse("order %d: %+v", j.number, d)
	}
	j.id, j.reference, j.fee = d.ID, d.Reference, d.Fee
	return nil
}

func decode(r reply, err error, status int, into any) error {
	if err != nil {
		return err
	}
	if r.status != status {
		return fmt.Errorf("answered %s", r)
	}
	return json.Unmarshal(r.body, into)
}

// advance moves the delivery as an operator does, until it is moved.
func (j *journey) advance(ctx context.Context, status string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("nothing within %s", patience))
	defer cancel()
	c := j.company
	r, err := c.insist(ctx, c.operators, http.MethodPost, "/deliveries/"+j.id+"/advance", "", m{"status": status})
	if err != nil {
		return err
	}
	if r.status == http.StatusOK {
		c.mu.Lock()
		j.moved++
		c.mu.Unlock()
		return nil
	}
	var refusal struct {
		Error struct {
			Details struct {
				Current string `json:"current_status"`
			}
		}
	}
	if err := json.Unmarshal(r.body, &refusal); err != nil || r.code != "TRANSITION_INVALID" || refusal.Error.Details.Current != status {
		return fmt.Errorf("advance to %s: %s, it is %s", status, r, refusal.Error.Details.Current)
	}
	return nil // it was moved, and the answer lost
}

// hurry advances twice at a time, as an impatient operator does.
func (j *journey) hurry(ctx context.Context, status string) error {
	second := make(chan error, 1)
	go func() { second <- j.advance(ctx, status) }()
	err := j.advance(ctx, status)
	if other := <-second; err == nil {
		err = other
	}
	return err
}

// longestPause is how long an operator waits before a delivery is moved on.
const longestPause = 100 * time.Millisecond

// run is the whole way.
func (j *journey) run(ctx context.Context) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	if err := j.begin(ctx, rand.IntN(2)); err != nil {
		return err
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	defer leave()
	watching.Go(func() { j.recipient.follow(ctx, rand.IntN(2)) })
	for _, status := range way[1:] {
		time.Sleep(rand.N(longestPause)) // on the road
		move := j.advance
		if rand.IntN(4) == 0 {
			move = j.hurry
		}
		if err := move(ctx, status); err != nil {
			return err
		}
		j.reached.Add(1)
	}
	j.delivered = time.Now()
	if err := j.all(ctx, "webhooks", &j.told, func() bool { return j.company.hooks.has(j.id) >= len(way) }); err != nil {
		return err
	}
	return j.all(ctx, "what the stream shows", &j.shown, func() bool {
		return j.recipient.over() && j.recipient.latest().sequence >= len(way)
	})
}

// all waits for what has to follow, and notes when it did.
func (j *journey) all(ctx context.Context, what string, at *time.Time, come func() bool) error {
	for deadline := time.Now().Add(patience); !come(); time.Sleep(5 * time.Millisecond) {
		if ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("journey %d, %s: not all within %s; the page shows %+v", j.number, what, patience, j.recipient.latest())
		}
	}
	*at = time.Now()
	return nil
}

// has is how many webhooks of a delivery were taken.
func (r *receiver) has(delivery string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.parcels {
		if p.delivery == hexOf(delivery) && p.accepted() {
			n++
		}
	}
	return n
}
