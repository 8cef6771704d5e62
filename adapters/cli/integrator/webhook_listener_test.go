package integrator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

// handout is a sandbox that hands out webhooks as the API does: what is due
// until its result was told, sixteen at a time.
type handout struct {
	mu         sync.Mutex
	due        []waybillapi.FetchedWebhook
	results    map[string]map[string]any // by webhook, the last
	toldAt     map[string]time.Time      // the first
	told       int
	fetches    int
	registered int
	deleted    []string
	ended      bool // the listener has expired
	away       bool // no answer comes
	deaf       bool // results are passed over
	hasty      bool // it does not wait
	most       int  // handed out at a time
	events     string
}

func (h *handout) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.away {
		return nil, syscall.ECONNREFUSED
	}
	switch path := strings.TrimPrefix(r.URL.Path, "/v1"); {
	case path == "/api-key":
		return reply(200, `{"application":{"name":"Demo shop"},"business":{"name":"Adom Foods"}}`), nil
	case path == "/events":
		return reply(200, h.events), nil
	case path == "/webhook-listeners":
		h.registered++
		h.ended = false
		return reply(201, fmt.Sprintf(`{"id":%q,"secret":"whsec_%d"}`, h.id(), h.registered)), nil
	case r.Method == http.MethodDelete:
		h.deleted = append(h.deleted, path)
		return reply(200, `{}`), nil
	case h.ended || path != "/webhook-listeners/"+h.id()+"/fetch":
		return refuse(404, domain.CodeNotFound), nil
	}
	return h.fetch(r)
}

func (h *handout) id() string { return listenerID(h.registered) }

func listenerID(n int) string { return fmt.Sprintf("whe_%032x", n) }

func (h *handout) fetch(r *http.Request) (*http.Response, error) {
	if h.fetches++; h.fetches > mostCalls {
		return refuse(401, "API_KEY_REVOKED"), nil // or it would go on for ever
	}
	body, _ := io.ReadAll(r.Body)
	var sent struct {
		Results     []map[string]any
		WaitSeconds int `json:"wait_seconds"`
	}
	if err := json.Unmarshal(body, &sent); err != nil || len(sent.Results) > mostResults {
		return refuse(422, domain.CodeValidation), nil
	}
	for _, result := range sent.Results {
		if h.told++; h.deaf {
			continue
		}
		id := result["webhook_delivery_id"].(string)
		h.due = slices.DeleteFunc(h.due, func(w waybillapi.FetchedWebhook) bool { return w.WebhookDeliveryID == id })
		if h.results[id] = result; h.toldAt[id].IsZero() {
			h.toldAt[id] = time.Now()
		}
	}
	for end := time.Now().Add(time.Duration(sent.WaitSeconds) * time.Second); len(h.due) == 0 && !h.hasty && time.Now().Before(end); {
		h.mu.Unlock()
		left := sleep(r.Context(), 100*time.Millisecond)
		h.mu.Lock()
		if !left || h.away {
			return nil, syscall.ECONNRESET
		}
	}
	answer, err := json.Marshal(waybillapi.FetchedWebhooks{Webhooks: h.due[:min(len(h.due), h.most)]})
	return reply(200, string(answer)), err
}

// with changes the sandbox while it runs.
func (h *handout) with(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
}

func newHandout(due ...waybillapi.FetchedWebhook) *handout {
	return &handout{due: due, results: map[string]map[string]any{}, toldAt: map[string]time.Time{}, most: 16, events: "[]"}
}

// webhookNo returns the nth event, of a delivery.
func webhookNo(n int, delivery string) waybillapi.FetchedWebhook {
	return waybillapi.FetchedWebhook{
		WebhookDeliveryID: fmt.Sprintf("whd_%032x", n), EventID: fmt.Sprintf("evt_%032x", n), EventType: "delivery.assigned", Attempt: 1,
		Headers: map[string]string{domain.HeaderWebhookID: fmt.Sprintf("evt_%032x", n)},
		Body:    fmt.Sprintf(`{"id":"evt_%032x","type":"delivery.assigned","sequence":%d,"data":{"delivery":{"id":%q}}}`, n, n, delivery),
	}
}

// postings records what is delivered, and how.
type postings struct {
	takes       func(w *incomingWebhook) time.Duration
	mu          sync.Mutex
	order       map[string][]string // by delivery
	under       map[string]int      // way, by delivery
	total, most int
}

func (d *postings) deliver(ctx context.Context, w *incomingWebhook) domain.WebhookResult {
	d.mu.Lock()
	group := deliveryOf(&w.payload)
	if d.under[group]++; d.under[group] > 1 {
		d.order[group] = append(d.order[group], "beside another one")
	}
	d.total++
	d.most = max(d.most, d.total)
	d.order[group] = append(d.order[group], w.EventID)
	takes := d.takes(w)
	d.mu.Unlock()
	begun := time.Now()
	sleep(ctx, takes)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.under[group]--
	d.total--
	return domain.WebhookResult{StatusCode: 200, Duration: time.Since(begun), Excerpt: "thanks"}
}

func newPostings(takes func(*incomingWebhook) time.Duration) *postings {
	return &postings{takes: takes, order: map[string][]string{}, under: map[string]int{}}
}

func at(d time.Duration) func(*incomingWebhook) time.Duration {
	return func(*incomingWebhook) time.Duration { return d }
}

// listenTo runs a listener on the sandbox until done returns true, or for a minute.
func listenTo(t *testing.T, h *handout, d *postings, done func() bool) *webhookListener {
	t.Helper()
	l := newWebhookListener(clientOf(h.RoundTrip), nil)
	l.deliver = d.deliver
	if _, err := l.register(t.Context(), l.registration()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- l.run(ctx) }()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(10 * time.Millisecond) {
		over := false
		h.with(func() { over = done() })
		if over {
			break
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return l
}

func TestWebhooksOfADeliveryGoInOrderAndOthersBesideThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHandout()
		const count = 120
		want := map[string][]string{}
		for n := range count {
			w := webhookNo(n, fmt.Sprintf("dlv_%d", n%7))
			if n >= 40 {
				w = webhookNo(n, fmt.Sprintf("dlv_%d", n)) // as many deliveries as webhooks
			}
			h.due = append(h.due, w)
			delivery := regexp.MustCompile(`dlv_\d+`).FindString(w.Body)
			want[delivery] = append(want[delivery], w.EventID)
		}
		slow := 30 * time.Millisecond
		d := newPostings(func(w *incomingWebhook) time.Duration { slow = (slow * 7) % (53 * time.Millisecond); return slow })
		listenTo(t, h, d, func() bool { return len(h.results) == count })
		if len(h.results) != count || h.told != count {
			t.Errorf("%d results of %d webhooks, told %d times", len(h.results), count, h.told)
		}
		for group, events := range want {
			if !slices.Equal(d.order[group], events) {
				t.Errorf("%s: %v, want %v", group, d.order[group], events)
			}
		}
		if d.most > forwardsAtOnce || d.most < 10 {
			t.Errorf("%d at once", d.most)
		}
		result := h.results["whd_"+strings.Repeat("0", 32)]
		if result["status_code"] != 200.0 || result["attempt"] != 1.0 || result["response_excerpt"] != "thanks" || result["duration_ms"] == nil {
			t.Errorf("%v", result)
		}
	})
}

// One that hangs delays neither the results of others nor what comes after.
func TestAResultIsToldAtOnceBesideOneThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHandout(webhookNo(1, "dlv_1"), webhookNo(2, "dlv_2"))
		hangs := h.due[0].WebhookDeliveryID
		d := newPostings(func(w *incomingWebhook) time.Duration {
			if w.WebhookDeliveryID == hangs {
				return 15 * time.Second
			}
			return 5 * time.Millisecond
		})
		begun := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			h.with(func() { h.due = append(h.due, webhookNo(3, "dlv_3")) })
		}()
		listenTo(t, h, d, func() bool { return len(h.results) == 3 })
		if len(h.results) != 3 || len(d.order["dlv_1"]) != 1 {
			t.Fatalf("%d results, %v", len(h.results), d.order)
		}
		for n, after := range map[int]time.Duration{1: 15 * time.Second, 2: 0, 3: 3 * time.Second} {
			if late := h.toldAt[fmt.Sprintf("whd_%032x", n)].Sub(begun) - after; late < 0 || late > time.Second {
				t.Errorf("webhook %d was told %s late", n, late)
			}
		}
		if h.fetches > 40 {
			t.Errorf("%d fetches in 15 s", h.fetches)
		}
	})
}

func TestAListenerThatIsIdleAsksThreeTimesAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHandout()
		listenTo(t, h, newPostings(at(0)), func() bool { return false })
		if h.fetches > 4 {
			t.Errorf("%d fetches", h.fetches)
		}
	})
}

func TestAnOutageLosesNoResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHandout(webhookNo(1, "dlv_1"))
		d := newPostings(at(time.Second))
		go func() {
			time.Sleep(500 * time.Millisecond)
			h.with(func() { h.away = true })
			time.Sleep(20 * time.Second)
			h.with(func() { h.away = false; h.due = append(h.due, webhookNo(2, "dlv_1")) })
		}()
		listenTo(t, h, d, func() bool { return len(h.results) == 2 })
		if len(h.results) != 2 || len(d.order["dlv_1"]) != 2 || h.registered != 1 {
			t.Errorf("%d results, %v, %d listeners", len(h.results), d.order, h.registered)
		}
	})
}

func TestAListenerThatHasExpiredIsRegisteredAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHandout()
		go func() {
			time.Sleep(30 * time.Second)
			h.with(func() { h.ended = true })
			time.Sleep(11 * time.Second)
			h.with(func() { h.due = append(h.due, webhookNo(1, "dlv_1")) })
		}()
		l := listenTo(t, h, newPostings(at(0)), func() bool { return len(h.results) == 1 })
		if h.registered != 2 || len(h.results) != 1 || l.now().ID != listenerID(2) || l.now().Secret != "whsec_2" {
			t.Errorf("%d listeners, %d results, %+v", h.registered, len(h.results), l.now())
		}
	})
}

// Whatever a sandbox answers, the client does not run wild, nor post anything
// but what is signed.
func TestWhatAHostileSandboxCausesIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hostile    func(h *handout)
		deliveries int
		fetches    int
	}{
		"never waits":     {func(h *handout) { h.hasty = true }, 0, 125},
		"never hears":     {func(h *handout) { h.deaf, h.due = true, []waybillapi.FetchedWebhook{webhookNo(1, "dlv_1")} }, 1, 125},
		"ends every time": {func(h *handout) { h.hasty = true; go endAlways(h) }, 0, 125},
		"no IDs": {func(h *handout) {
			h.hasty = true
			h.due = []waybillapi.FetchedWebhook{{WebhookDeliveryID: "../../x", Attempt: 1}}
		}, 0, 125},
		"no attempts": {func(h *handout) { w := webhookNo(1, "dlv_1"); w.Attempt = 0; h.due = []waybillapi.FetchedWebhook{w} }, 0, 125},
		"too large": {func(h *handout) {
			w := webhookNo(1, "dlv_1")
			w.Body = strings.Repeat("x", mostBody+1)
			h.due = []waybillapi.FetchedWebhook{w}
		}, 0, 125},
		"a body of no JSON": {func(h *handout) { w := webhookNo(1, "dlv_1"); w.Body = "{"; h.due = []waybillapi.FetchedWebhook{w} }, 1, 5},
		"a thousand at once": {func(h *handout) {
			for n := range 1000 {
				h.due = append(h.due, webhookNo(n, "dlv_1"))
			}
			h.deaf, h.most = true, 1000
		}, 1000, 800},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHandout()
				c.hostile(h)
				d := newPostings(at(0))
				l := listenTo(t, h, d, func() bool { return false })
				delivered := 0
				for _, events := range d.order {
					delivered += len(events)
				}
				if len(l.held) > mostHeld || len(l.reported) > mostRemembered {
					t.Errorf("it holds %d and remembers %d", len(l.held), len(l.reported))
				}
				if delivered != c.deliveries || h.fetches > c.fetches || h.registered > 7 {
					t.Errorf("%d deliveries, %d fetches, %d listeners in a minute", delivered, h.fetches, h.registered)
				}
			})
		})
	}
}

func TestWhatIsKeptForAProgramThatHangsIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHandout()
		for n := range 1000 {
			h.due = append(h.due, webhookNo(n, fmt.Sprintf("dlv_%d", n)))
		}
		h.most = 1000
		d := newPostings(at(time.Hour))
		if l := listenTo(t, h, d, func() bool { return false }); len(l.held) != mostHeld || d.most != forwardsAtOnce {
			t.Errorf("%d are kept, %d under way", len(l.held), d.most)
		}
	})
}

func endAlways(h *handout) {
	for range 60 {
		time.Sleep(time.Second)
		h.with(func() { h.ended = true })
	}
}

func TestAListenerIsNotBegunWithWhatCannotBeOne(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`{}`, `{"id":"whe_../../x","secret":"whsec_x"}`, `{"id":"` + listenerID(1) + `","secret":"whsec_\u001b[2J"}`,
		`{"id":"` + listenerID(1) + `","secret":""}`, `7`} {
		answers, _ := script(func() *http.Response { return reply(201, data) })
		l := newWebhookListener(clientOf(answers), nil)
		if _, err := l.register(t.Context(), l.registration()); err == nil {
			t.Errorf("%s was taken", data)
		}
	}
}

func TestOnlyWhatIsSignedIsPassedOn(t *testing.T) {
	t.Parallel()
	w := incomingWebhook{FetchedWebhook: waybillapi.FetchedWebhook{Headers: map[string]string{
		domain.HeaderWebhookID: "evt_1", domain.HeaderWebhookTimestamp: "1", domain.HeaderWebhookSignature: "v1,x",
		domain.HeaderWebhookAttempt: "2",
		"Cookie":                    "admin=1", "Host": "internal", "Authorization": "Bearer x",
	}}}
	if h := w.header(); len(h) != 4 || h[domain.HeaderWebhookSignature] != "v1,x" || h[domain.HeaderWebhookAttempt] != "2" {
		t.Errorf("%v", h)
	}
}
