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
	// longestWait is how long a fetch may wait for something to be due.
	longestWait = 20 * time.Second
	// forwardsAtOnce is how many webhooks are under way at a time.
	forwardsAtOnce = 16
	// mostResults is how many of them one fetch may tell.
	mostResults = 32
	// gatherFor is how long a result waits for others, so that a burst does not
	// use up the rate limit of the key.
	gatherFor = 100 * time.Millisecond
	// glanceEvery is how often is looked for more while some are under way, or
	// when the sandbox did not wait as it was asked to.
	glanceEvery = 500 * time.Millisecond
	// registerEvery keeps apart listeners that end at once.
	registerEvery = 10 * time.Second
	// mostHeld, mostBody and mostRemembered bound what a sandbox makes us keep.
	mostHeld       = 64
	mostBody       = 64 << 10
	mostRemembered = 1024
	// farewell is how long the end of a listener may take; without it the
	// sandbox ends it by itself, after a minute.
	farewell = 5 * time.Second
)

// webhookListener fetches the webhooks of an application and delivers them: the
// same bytes that an endpoint gets, to a program that the sandbox cannot reach.
// Those of one delivery go in order, one after the other has ended.
//
// A webhook is handed out again until its result was told, so one that is
// under way or was told already is known by its key and not delivered twice.
type webhookListener struct {
	client *apiClient
	types  []string // nil: all
	// deliver makes one attempt; attempted hears of it. Both are called from
	// several goroutines.
	deliver   func(context.Context, *incomingWebhook) domain.WebhookResult
	attempted func(*incomingWebhook, domain.WebhookResult)
	// expired hears that the listener had ended and a new one is there, with
	// another secret.
	expired func()

	permits chan struct{}
	working sync.WaitGroup
	wake    chan struct{} // a result is there

	mu           sync.Mutex
	current      waybillapi.WebhookListenerSecret
	registeredAt time.Time
	groups       map[string][]*incomingWebhook       // the first of each is under way
	held         map[string]bool                     // keys of those in the groups
	results      []waybillapi.WebhookResult          // not told yet
	told         map[string]waybillapi.WebhookResult // the last of them
	toldOrder    []string
}

func newWebhookListener(c *apiClient, types []string) *webhookListener {
	return &webhookListener{
		client: c, types: types, permits: make(chan struct{}, forwardsAtOnce), wake: make(chan struct{}, 1),
		attempted: func(*incomingWebhook, domain.WebhookResult) {}, expired: func() {},
		groups: map[string][]*incomingWebhook{}, told: map[string]waybillapi.WebhookResult{}, held: map[string]bool{},
	}
}

// registration is the call that begins a listener.
func (l *webhookListener) registration() apiCall {
	var body waybillapi.WebhookListenerRequest
	for _, pattern := range l.types {
		body.EventTypes = append(body.EventTypes, waybillapi.EventPattern(pattern))
	}
	return post("/webhook-listeners", "listen-"+settings.RandomHex()[:12], body)
}

// register begins a listener; from then on its events are kept for it.
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
	l.results, l.toldOrder = nil, nil
	clear(l.told)
	return answer, nil
}

// isSigningSecret reports whether a text may be shown as one.
func isSigningSecret(s string) bool {
	return len(s) <= 256 && strings.HasPrefix(s, "whsec_") && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// now is the listener as it is registered.
func (l *webhookListener) now() waybillapi.WebhookListenerSecret {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// end deletes the listener, after run; also when ctx has ended.
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

// run fetches and delivers until ctx ends, which is no error. It outlives the
// service, and a listener that has expired.
func (l *webhookListener) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer l.working.Wait()
	defer stop()
	for {
		begun := time.Now()
		results, busy := l.untold()
		wait := longestWait
		if busy {
			wait = 0 // nothing is waited for while a result may come
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
		fresh, unheard := l.accept(ctx, fetched)
		l.pause(ctx, fresh || time.Since(begun) >= glanceEvery, unheard)
	}
}

// untold are the results to tell next; busy: there will be more.
func (l *webhookListener) untold() (results []waybillapi.WebhookResult, busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]waybillapi.WebhookResult{}, l.results[:min(len(l.results), mostResults)]...), len(l.groups) > 0
}

// fetch tells results and gets what is due. After a failure it insists, without
// a wait: that the service is back is to be known at once.
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
	var fetched waybillapi.FetchWebhooksResult
	if err := answer.decode(&fetched); err != nil {
		return nil, err
	}
	return fetched.Webhooks, nil
}

// registerAgain begins a new listener where the one before has ended.
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

// settle notes that results have arrived.
func (l *webhookListener) settle(results []waybillapi.WebhookResult) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.results = l.results[len(results):]
	for _, r := range results {
		key := attemptKey(r.WebhookDeliveryID, r.Attempt)
		if _, again := l.told[key]; !again {
			l.toldOrder = append(l.toldOrder, key)
		}
		l.told[key] = r
	}
	for len(l.toldOrder) > mostRemembered {
		delete(l.told, l.toldOrder[0])
		l.toldOrder = l.toldOrder[1:]
	}
}

// accept puts what is new in its group, and tells a result again that was not
// heard: the clocks of two servers may differ.
func (l *webhookListener) accept(ctx context.Context, fetched []waybillapi.FetchedWebhook) (fresh, unheard bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range fetched {
		w := &incomingWebhook{FetchedWebhook: f, listener: l.current.ID}
		if _, err := domain.ParseID(domain.PrefixWebhookDelivery, f.WebhookDeliveryID); err != nil || f.Attempt < 1 || len(f.Body) > mostBody {
			continue // none of a Waybill
		}
		if len(l.held) >= mostHeld || l.held[w.key()] {
			continue
		}
		if l.isUntold(w) {
			continue
		}
		if r, known := l.told[w.key()]; known {
			l.results, unheard = append(l.results, r), true
			continue
		}
		_ = json.Unmarshal([]byte(f.Body), &w.payload) // what cannot be read is delivered as well
		fresh = true
		l.held[w.key()] = true
		group := w.group()
		l.groups[group] = append(l.groups[group], w)
		if len(l.groups[group]) == 1 {
			l.working.Go(func() { l.drain(ctx, group) })
		}
	}
	return fresh, unheard
}

// isUntold reports whether a result is still to be told. The lock is held.
func (l *webhookListener) isUntold(w *incomingWebhook) bool {
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
			return // broken off by us
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

// next drops the first of a group, whose result is noted, and is the one after
// it; nil: the group is empty.
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

// note keeps a result until it is told, unless its listener has ended.
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

// pause waits until it is worth to fetch again. What is under way is due, and
// a fetch that finds nothing else is answered at once. moved: the fetch before
// brought something, or took its time.
func (l *webhookListener) pause(ctx context.Context, moved, unheard bool) {
	if !l.busy() {
		if !moved && (unheard || l.idle()) {
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

// idle reports whether there is nothing to tell.
func (l *webhookListener) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.results) == 0
}
