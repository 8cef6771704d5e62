package integrator

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"waybill/adapters/cli/settings"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

const (
	// longestWait is how long a fetch may wait for a webhook to be due.
	longestWait = 20 * time.Second
	// forwardsAtOnce is how many webhooks are forwarded at a time.
	forwardsAtOnce = 16
	// mostResults is how many results one fetch may report.
	mostResults = 32
	// gatherFor is how long a result waits for others, so that a burst does not use up the rate
	// limit of the key.
	gatherFor = 100 * time.Millisecond
	// glanceEvery is the polling interval while some are in flight, or when the sandbox did not
	// wait as it was asked to.
	glanceEvery = 500 * time.Millisecond
	// registerEvery limits how often listeners that end at once are registered again.
	registerEvery = 10 * time.Second
	// mostHeld, mostBody and mostRemembered limit what a sandbox makes us store.
	mostHeld       = 64
	mostBody       = 64 << 10
	mostRemembered = 1024
	// farewell limits how long the end of a listener may take. Without it the sandbox ends the
	// listener after a minute.
	farewell = 5 * time.Second
)

// webhookListener fetches the webhooks of an application and delivers them: the same bytes that
// an endpoint gets, to a program that the sandbox cannot reach. Those of one delivery are sent
// in order, each after the previous one has ended.
//
// The sandbox returns a webhook again until its result was reported. One that is in flight or
// already reported is known by its key and not delivered twice.
type webhookListener struct {
	client *apiClient
	types  []string // nil: all
	// deliver makes one attempt. attempted is called after it. Both are called from several
	// goroutines.
	deliver   func(context.Context, *incomingWebhook) domain.WebhookResult
	attempted func(*incomingWebhook, domain.WebhookResult)
	// expired is called when the listener had ended and a new one exists, with another secret.
	expired func()

	permits chan struct{}
	working sync.WaitGroup
	wake    chan struct{} // a result is available

	mu            sync.Mutex
	current       waybillapi.WebhookListenerSecret
	registeredAt  time.Time
	groups        map[string][]*incomingWebhook       // the first of each is in flight
	held          map[string]bool                     // keys of those in the groups
	results       []waybillapi.WebhookResult          // not reported yet
	reported      map[string]waybillapi.WebhookResult // the last reported ones
	reportedOrder []string
}

func newWebhookListener(c *apiClient, types []string) *webhookListener {
	return &webhookListener{
		client: c, types: types, permits: make(chan struct{}, forwardsAtOnce), wake: make(chan struct{}, 1),
		attempted: func(*incomingWebhook, domain.WebhookResult) {}, expired: func() {},
		groups: map[string][]*incomingWebhook{}, reported: map[string]waybillapi.WebhookResult{}, held: map[string]bool{},
	}
}

// registration returns the request that registers a listener.
func (l *webhookListener) registration() apiCall {
	var body waybillapi.WebhookListenerRequest
	for _, pattern := range l.types {
		body.EventTypes = append(body.EventTypes, waybillapi.EventPattern(pattern))
	}
	return post("/webhook-listeners", "listen-"+settings.RandomHex()[:12], body)
}

// register registers a listener. From then on the sandbox stores events for it.
func (l *webhookListener) register(ctx context.Context, call apiCall) (apiAnswer, error) {
	made, answer, err := ask[waybillapi.WebhookListenerSecret](ctx, l.client, call)
	if err != nil {
		return answer, err
	}
	if _, err := domain.ParseID(domain.PrefixWebhookEndpoint, made.ID); err != nil || !isSigningSecret(made.Secret) {
		return answer, errors.New("the answer cannot be read: it has no ID of a listener, or no secret")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current, l.registeredAt = made, time.Now()
	l.results, l.reportedOrder = nil, nil
	clear(l.reported)
	return answer, nil
}

// isSigningSecret reports whether a text looks like a signing secret, and so is safe to show.
func isSigningSecret(s string) bool {
	return len(s) <= 256 && strings.HasPrefix(s, "whsec_") && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// now returns the listener as it is registered.
func (l *webhookListener) now() waybillapi.WebhookListenerSecret {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// end deletes the listener, after run, even when ctx has ended.
func (l *webhookListener) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	_, err := l.client.attempt(ctx, apiCall{Request: waybillapi.Request{Method: http.MethodDelete, Path: "/webhook-listeners/" + l.now().ID}})
	if isGone(err) {
		return nil
	}
	return err
}

func isGone(err error) bool {
	var refused *waybillapi.Error
	return errors.As(err, &refused) && (refused.StatusCode == http.StatusNotFound || refused.StatusCode == http.StatusGone)
}

// run fetches and delivers until ctx ends, which is no error. It continues through outages of
// the service, and after the listener expired.
func (l *webhookListener) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer l.working.Wait()
	defer stop()
	for {
		begun := time.Now()
		results, busy := l.unreported()
		wait := longestWait
		if busy {
			wait = 0 // do not wait while a result may arrive
		}
		fetched, err := l.fetch(ctx, results, wait)
		switch {
		case ctx.Err() != nil:
			return nil
		case isGone(err):
			if err := l.registerAgain(ctx); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		l.settle(results)
		fresh, unconfirmed := l.accept(ctx, fetched)
		l.pause(ctx, fresh || time.Since(begun) >= glanceEvery, unconfirmed)
	}
}

// unreported returns the results to report next. busy says that there will be more.
func (l *webhookListener) unreported() (results []waybillapi.WebhookResult, busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]waybillapi.WebhookResult{}, l.results[:min(len(l.results), mostResults)]...), len(l.groups) > 0
}

// fetch reports results and gets due webhooks. After a failure it retries without a wait, to
// notice at once that the service is back.
func (l *webhookListener) fetch(ctx context.Context, results []waybillapi.WebhookResult, wait time.Duration) ([]waybillapi.FetchedWebhook,
	error) {
	call := func(wait time.Duration) apiCall {
		seconds := int(wait.Seconds())
		return post("/webhook-listeners/"+l.now().ID+"/fetch", "", waybillapi.WebhookFetchRequest{Results: results, WaitSeconds: &seconds})
	}
	answer, err := l.client.attempt(ctx, call(wait))
	if err != nil && ctx.Err() == nil && !isGone(err) {
		answer, err = l.client.send(ctx, call(0).tirelessly())
	}
	if err != nil {
		return nil, err
	}
	var fetched waybillapi.FetchedWebhooks
	if err := answer.decode(&fetched); err != nil {
		return nil, err
	}
	return fetched.Webhooks, nil
}

// registerAgain registers a new listener when the previous one has ended.
func (l *webhookListener) registerAgain(ctx context.Context) error {
	if since := time.Since(l.registeredAt); since < registerEvery && !sleep(ctx, registerEvery-since) {
		return nil
	}
	if _, err := l.register(ctx, l.registration().tirelessly()); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	l.expired()
	return nil
}

// settle records that results have arrived.
func (l *webhookListener) settle(results []waybillapi.WebhookResult) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.results = l.results[len(results):]
	for _, r := range results {
		key := attemptKey(r.WebhookDeliveryID, r.Attempt)
		if _, repeated := l.reported[key]; !repeated {
			l.reportedOrder = append(l.reportedOrder, key)
		}
		l.reported[key] = r
	}
	for len(l.reportedOrder) > mostRemembered {
		delete(l.reported, l.reportedOrder[0])
		l.reportedOrder = l.reportedOrder[1:]
	}
}

// accept puts new webhooks in their groups. It reports a result again that the server did not
// get: the clocks of two servers may differ.
func (l *webhookListener) accept(ctx context.Context, fetched []waybillapi.FetchedWebhook) (fresh, unconfirmed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range fetched {
		w := &incomingWebhook{FetchedWebhook: f, listener: l.current.ID}
		if _, err := domain.ParseID(domain.PrefixWebhookDelivery, f.WebhookDeliveryID); err != nil || f.Attempt < 1 || len(f.Body) > mostBody {
			continue // not from a Waybill
		}
		if len(l.held) >= mostHeld || l.held[w.key()] {
			continue
		}
		if l.isUnreported(w) {
			continue
		}
		if r, known := l.reported[w.key()]; known {
			l.results, unconfirmed = append(l.results, r), true
			continue
		}
		_ = json.Unmarshal([]byte(f.Body), &w.payload) // an invalid one is delivered as well
		fresh = true
		l.held[w.key()] = true
		group := w.group()
		l.groups[group] = append(l.groups[group], w)
		if len(l.groups[group]) == 1 {
			l.working.Go(func() { l.drain(ctx, group) })
		}
	}
	return fresh, unconfirmed
}

// isUnreported reports whether a result is still to be reported. The lock is held.
func (l *webhookListener) isUnreported(w *incomingWebhook) bool {
	for _, r := range l.results {
		if r.WebhookDeliveryID == w.WebhookDeliveryID && r.Attempt == w.Attempt {
			return true
		}
	}
	return false
}

// drain delivers what is in a group, in order.
func (l *webhookListener) drain(ctx context.Context, group string) {
	for w := l.first(group); w != nil; w = l.next(group) {
		select {
		case l.permits <- struct{}{}:
		case <-ctx.Done():
			return
		}
		result := l.deliver(ctx, w)
		<-l.permits
		if ctx.Err() != nil {
			return // cancelled by us
		}
		l.attempted(w, result)
		l.note(w, result)
	}
}

func (l *webhookListener) first(group string) *incomingWebhook {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.groups[group][0]
}

// next drops the first of a group, whose result is recorded, and returns the one after it, or
// nil when the group is empty.
func (l *webhookListener) next(group string) *incomingWebhook {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}()
	delete(l.held, l.groups[group][0].key())
	l.groups[group] = l.groups[group][1:]
	if len(l.groups[group]) == 0 {
		delete(l.groups, group)
		return nil
	}
	return l.groups[group][0]
}

// note keeps a result until it is reported, unless its listener has ended.
func (l *webhookListener) note(w *incomingWebhook, r domain.WebhookResult) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.listener != l.current.ID {
		return
	}
	l.results = append(l.results, waybillapi.WebhookResult{
		WebhookDeliveryID: w.WebhookDeliveryID, Attempt: w.Attempt, StatusCode: r.StatusCode, ErrorClass: waybillapi.WebhookErrorClass(r.Error),
		DurationMs: int(r.Duration.Milliseconds()), ResponseExcerpt: r.Excerpt,
	})
}

// pause waits until another fetch makes sense. Webhooks in flight are still due, so a fetch
// that finds nothing else returns at once. moved says that the last fetch brought something, or
// took its time.
func (l *webhookListener) pause(ctx context.Context, moved, unconfirmed bool) {
	if !l.busy() {
		if !moved && (unconfirmed || l.idle()) {
			sleep(ctx, glanceEvery)
		}
		return
	}
	glance := time.NewTimer(glanceEvery)
	defer glance.Stop()
	select {
	case <-l.wake:
	case <-glance.C:
		return
	case <-ctx.Done():
		return
	}
	gather := time.NewTimer(gatherFor)
	defer gather.Stop()
	for l.busy() {
		select {
		case <-l.wake:
		case <-gather.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (l *webhookListener) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.groups) > 0
}

// idle reports whether there is nothing to report.
func (l *webhookListener) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.results) == 0
}
