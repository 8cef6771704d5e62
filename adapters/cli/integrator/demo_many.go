package integrator

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

// bulksAtOnce is how many requests are in flight at a time: the next one is ready when one
// ends, and the service keeps capacity for others.
const bulksAtOnce = 2

// ManyView is the result of booking many deliveries.
type ManyView struct {
	Deliveries int            `json:"deliveries"` // asked for
	Created    int            `json:"created"`
	Failed     int            `json:"failed"`
	Failures   map[string]int `json:"failures"` // by code
	Requests   int            `json:"requests"` // answered
	Repeated   int64          `json:"repeated"` // sent again
	Seconds    float64        `json:"seconds"`
	PerSecond  float64        `json:"per_second"`         // created
	Prefix     string         `json:"external_id_prefix"` // then -1, -2 and so on
}

// bookMany books deliveries in bulk and reports the result. plan may be nil.
func (p *Commands) bookMany(ctx context.Context, c *apiClient, count int, plan *waybillapi.SandboxRequest) error {
	run := "demo-" + settings.RandomHex()[:12]
	var orders []waybillapi.DeliveryRequest
	for n := range count {
		order := demoOrder(n)
		order.ExternalID, order.Sandbox = run+"-"+strconv.Itoa(n+1), plan
		orders = append(orders, order)
	}
	batches := slices.Collect(slices.Chunk(orders, domain.MaxBulkItems))
	p.showBulk(c, run, len(orders), len(batches), orders[0])
	b := &booking{client: c, run: run, progress: p.Progress("booking", count), why: map[string]string{}, view: ManyView{
		Deliveries: count, Failures: map[string]int{}, Prefix: run,
	}}
	c.notice = b.progress.Note
	begun := time.Now()
	failure := b.bookAll(ctx, batches)
	b.progress.End()
	v := b.view
	took := time.Since(begun).Seconds()
	v.Repeated, v.Seconds, v.PerSecond = c.repeats.Load(), rounded(took, 1000), rounded(float64(v.Created)/took, 10)
	if v.Requests > 0 {
		if err := p.Show(v, v.print); err != nil {
			return err
		}
	}
	switch {
	case failure != nil:
		return interrupted(ctx, failure, "requests that were not answered may have booked deliveries or not")
	case v.Failed > 0:
		return &term.StartError{Code: "NOT_ALL_CREATED", What: fmt.Sprintf("%d of %d deliveries were refused", v.Failed, count), Fix: b.fix()}
	}
	return nil
}

// showBulk shows one of the requests, with one delivery in it.
func (p *Commands) showBulk(c *apiClient, run string, count, requests int, first waybillapi.DeliveryRequest) {
	first.ExternalID = "" // a second one would be refused
	call := post("/deliveries/bulk", run+"-example", waybillapi.BulkRequest{Deliveries: []waybillapi.DeliveryRequest{first}})
	title := fmt.Sprintf("One request like this one, with %d deliveries:", count)
	if requests > 1 {
		title = fmt.Sprintf("%d requests like this one, each under its own Idempotency-Key and with up to %d deliveries:", requests,
			domain.MaxBulkItems)
	}
	p.Say(title)
	if c.preparation != "" {
		p.Say("It can be pasted into a shell, after:  " + c.preparation)
	}
	p.Say("", indented(c.curl(call)), "")
}

// booking is the progress of booking many deliveries.
type booking struct {
	client   *apiClient
	run      string
	progress term.Progress

	mu   sync.Mutex
	view ManyView
	why  map[string]string // a message of each code
}

// bookAll sends the batches, a few at a time. After the first one that is refused as a whole it
// sends no more, and waits for those in flight.
func (b *booking) bookAll(ctx context.Context, batches [][]waybillapi.DeliveryRequest) error {
	sending, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int)
	var working sync.WaitGroup
	for range min(bulksAtOnce, len(batches)) {
		working.Go(func() {
			for n := range next {
				if err := b.book(ctx, n, batches[n]); err != nil {
					stop(err) // the first cause is kept
				}
			}
		})
	}
	for n := range batches {
		select {
		case next <- n:
		case <-sending.Done():
		}
	}
	close(next)
	working.Wait()
	return context.Cause(sending)
}

func (b *booking) book(ctx context.Context, n int, orders []waybillapi.DeliveryRequest) error {
	call := post("/deliveries/bulk", b.run+"-"+strconv.Itoa(n+1), waybillapi.BulkRequest{Deliveries: orders})
	booked, _, err := ask[waybillapi.BulkOutcome](ctx, b.client, call)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.view.Requests++
	b.view.Created += booked.Created
	b.view.Failed += booked.Failed
	for _, result := range booked.Results {
		if refused := result.Error; refused != nil {
			code := string(refused.Code)
			b.view.Failures[code]++
			b.why[code] = term.PlainText(refused.Message)
		}
	}
	b.progress.Add(len(orders))
	return nil
}

// fix says what to do about the refused ones.
func (b *booking) fix() string {
	if b.view.Failures[domain.CodeSimulationLimit] > 0 {
		return fmt.Sprintf("%d simulations may run at a time: leave --scenario out, which books without moving anything, or wait for some to "+
			"end and ask for fewer",
			domain.MaxRunningSimulations)
	}
	for _, code := range slices.Sorted(maps.Keys(b.why)) {
		return code + " says: " + b.why[code]
	}
	return ""
}

func (v ManyView) print(w io.Writer) {
	term.Row(w, "Created", fmt.Sprintf("%d of %d", v.Created, v.Deliveries))
	for _, code := range slices.Sorted(maps.Keys(v.Failures)) {
		term.Row(w, "Refused", strconv.Itoa(v.Failures[code]), code)
	}
	term.Row(w, "Time", fmt.Sprintf("%.1f s", v.Seconds))
	term.Row(w, "Per second", fmt.Sprintf("%.0f", v.PerSecond))
	requests := strconv.Itoa(v.Requests)
	if v.Repeated > 0 {
		requests += fmt.Sprintf(", and %d sent again", v.Repeated)
	}
	term.Row(w, "Requests", requests)
	term.Row(w, "external_id", v.Prefix+"-1 to "+v.Prefix+"-"+strconv.Itoa(v.Deliveries))
}
