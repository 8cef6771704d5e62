package integrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
	"waybill/ports"
)

// webhookPatience is how long the demo waits at its end for the webhooks of events it has
// already seen.
const webhookPatience = 5 * time.Second

// arrivalView is a webhook that the demo's receiver accepted.
type arrivalView struct {
	EventID        string `json:"event_id"`
	Type           string `json:"type"`
	SignatureValid bool   `json:"signature_valid"`
	DelayMS        int64  `json:"delay_ms"` // after the event
	delivery       string
	shown          bool
}

// receiver accepts webhooks as an integrator's program does. It listens on loopback, which a
// remote sandbox cannot reach. So a listener fetches for it, as waybill listen does, and it
// works with any sandbox.
type receiver struct {
	p        *Commands
	listener *webhookListener
	skew     time.Duration // of the sandbox's clock

	mu       sync.Mutex
	delivery string // whose webhooks are shown; empty: not booked yet
	arrived  []arrivalView
	events   map[string]bool // shown events: their webhooks are shown after them
	seen     map[string]bool // webhooks may arrive twice
	news     chan struct{}
}

// mostArrivals limits what others on this machine make the receiver store.
const mostArrivals = 1000

// receive starts to accept webhooks. With a key that may not have them the demo continues
// without: then the receiver is nil.
func (p *Commands) receive(ctx context.Context, c *apiClient) (*receiver, func(), error) {
	l := newWebhookListener(c, []string{domain.DeliveryEvents})
	call := l.registration()
	p.Say("", "2. Have its webhooks sent to a receiver in this demo, through a listener. A server that can be reached registers itself: "+
		"POST /webhook-endpoints.",
		"", indented(c.curl(call)), "")
	answer, err := l.register(ctx, call)
	var refused *refusal
	switch {
	case errors.As(err, &refused) && ctx.Err() == nil:
		p.Say("  -> " + fmt.Sprint(refused.answer.StatusCode) + ": no webhooks then. " + refused.answer.Message)
		return nil, func() {}, nil
	case err != nil:
		return nil, nil, interrupted(ctx, err, "nothing was booked")
	}
	r := &receiver{p: p, listener: l, skew: skewOf(answer.serverAt), events: map[string]bool{}, seen: map[string]bool{},
		news: make(chan struct{}, 1)}
	stop, err := r.start(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, l.end(ctx))
	}
	p.Say(answered(answer, l.now().ID+" listens for "+domain.DeliveryEvents),
		"  Every webhook is signed; a Standard Webhooks library verifies it with the secret, see "+c.baseURL+"/openapi.yaml")
	return r, stop, nil
}

// start serves on loopback, and makes the listener forward to it.
func (r *receiver) start(ctx context.Context) (stop func(), err error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, &term.StartError{What: "no webhook can be received here", Err: err, UsedFor: "the demo's receiver"}
	}
	server := &http.Server{Handler: r, ReadTimeout: webhookPatience}
	sender, closeSender := r.p.Sender()
	address := "http://" + listener.Addr().String() + "/"
	r.listener.deliver = func(ctx context.Context, w *incomingWebhook) domain.WebhookResult {
		return sender.Send(ctx, ports.WebhookMessage{URL: address, Header: w.header(), Body: []byte(w.Body)})
	}
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() { _ = server.Serve(listener) }) // until it is closed
	working.Go(func() {
		if err := r.listener.run(ctx); err != nil {
			r.p.Say("  no more webhooks: " + term.OneLine(err))
		}
	})
	return func() {
		cancel()
		_ = server.Close()
		working.Wait()
		closeSender()
		_ = r.listener.end(ctx) // it also ends by itself
	}, nil
}

// ServeHTTP does all that a receiver has to do: verify, record what is new, respond 2xx.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, mostBody))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	now := time.Now().Add(r.skew)
	invalid := verify(r.listener.now().Secret, req.Header, body, now)
	var e waybillapi.WebhookEvent
	unread := json.Unmarshal(body, &e)
	if invalid == "" && unread != nil {
		invalid = "the body is no event"
	}
	arrival := arrivalView{
		EventID: term.PlainText(req.Header.Get(domain.HeaderWebhookID)), Type: term.PlainText(string(e.Type)), SignatureValid: invalid == "",
		delivery: deliveryOf(&e),
	}
	if unread == nil {
		arrival.DelayMS = max(now.Sub(e.Timestamp), 0).Milliseconds()
	}
	if invalid != "" {
		r.p.Say("      webhook " + cmp.Or(arrival.Type, arrival.EventID, "without an ID") + ", signature NOT valid: " + invalid)
		http.Error(w, "signature not valid", http.StatusBadRequest)
	}
	r.note(arrival)
}

// verify does the checks that every receiver needs before it trusts a webhook. It returns ""
// for a valid one.
func verify(secret string, header http.Header, body []byte, now time.Time) (invalid string) {
	verifier, err := waybillapi.NewVerifier(secret)
	if err != nil {
		return "the secret cannot be read"
	}
	err = verifier.WithClock(func() time.Time { return now }).Verify(header, body)
	if why, ok := errors.AsType[*waybillapi.WebhookError](err); ok {
		return why.Reason
	}
	return ""
}

// note records a webhook, and shows it if it belongs to the delivery of the demo.
func (r *receiver) note(a arrivalView) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.SignatureValid && r.seen[a.EventID] || len(r.arrived) >= mostArrivals {
		return
	}
	r.seen[a.EventID] = a.SignatureValid
	r.arrived = append(r.arrived, a)
	r.show()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// follow sets the delivery whose webhooks are shown. Those of other deliveries arrive too.
func (r *receiver) follow(delivery string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delivery = delivery
}

// eventShown shows the webhook of an event that was just shown, now or when it arrives: it may
// arrive before the timeline was read.
func (r *receiver) eventShown(event string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[event] = true
	r.show()
}

// show prints what is new. The lock is held.
func (r *receiver) show() {
	for i := range r.arrived {
		if a := &r.arrived[i]; !a.shown && a.SignatureValid && a.delivery == r.delivery && r.events[a.EventID] {
			r.p.Say(fmt.Sprintf("      webhook %s, signature valid, %d ms after the event", a.Type, a.DelayMS))
			a.shown = true
		}
	}
}

// await waits briefly until so many webhooks of the delivery have arrived, and returns them.
func (r *receiver) await(ctx context.Context, count int) []arrivalView {
	if r == nil {
		return []arrivalView{}
	}
	late := time.NewTimer(webhookPatience)
	defer late.Stop()
	for {
		came := r.came()
		if len(came) >= count {
			return came
		}
		select {
		case <-r.news:
		case <-late.C:
			r.p.Say("", fmt.Sprintf("%d of %d webhooks have come so far.", len(came), count))
			return came
		case <-ctx.Done():
			return came
		}
	}
}

// came returns the webhooks of the delivery.
func (r *receiver) came() []arrivalView {
	r.mu.Lock()
	defer r.mu.Unlock()
	came := []arrivalView{}
	for _, a := range r.arrived {
		if a.delivery == r.delivery {
			came = append(came, a)
		}
	}
	return came
}
