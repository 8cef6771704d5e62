package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"waybill/adapters/web"
	"waybill/adapters/web/strictjson"
	"waybill/adapters/web/views"
	"waybill/application/webhooks"
	"waybill/domain"
)

var (
	listenerShape = strictjson.Object{"event_types": strictjson.ArrayOf(strictjson.Leaf)}
	fetchShape    = strictjson.Object{
		"results": strictjson.ArrayOf(strictjson.Object{
			"webhook_delivery_id": strictjson.Leaf, "attempt": strictjson.Leaf, "status_code": strictjson.Leaf,
			"error_class": strictjson.Leaf, "duration_ms": strictjson.Leaf, "response_excerpt": strictjson.Leaf,
		}),
		"wait_seconds": strictjson.Leaf,
	}
)

const (
	// maxResults is more than one fetch returns.
	maxResults = 32
	// maxWait limits how long a fetch waits. It is the default too.
	maxWait = 20 * time.Second
	// maxAttempt limits the duration that a result may report.
	maxAttempt = 10 * time.Minute
)

func (a *API) createListener(c *call) (reply, error) {
	return replyOf(a.Listeners.Create(c.Request.Context(), c.idempotencyRequest(),
		func() ([]string, error) {
			r := strictjson.NewReader(c.body)
			patterns := eventPatterns(r)
			if patterns == nil {
				patterns = []string{domain.AllEvents}
			}
			return patterns, web.Problems(r)
		},
		func(e domain.WebhookEndpoint, secret string) domain.Answer {
			return answer(http.StatusCreated, a.BaseURL+"/webhook-listeners/"+string(e.ID),
				"Listener created. Its secret stays the same for the application.",
				views.WebhookListenerSecret{WebhookListener: views.NewWebhookListener(e, e.CreatedAt), Secret: secret})
		}))
}

func (a *API) listenerExists(ctx context.Context, t domain.Tenant, id domain.ID) error {
	_, err := a.Listeners.Get(ctx, t, id)
	return err
}

// deleteListener deletes a listener. A replay may find it gone, as in deleteWebhookEndpoint.
func (a *API) deleteListener(c *call) (reply, error) {
	r, err := replyOf(a.Listeners.Delete(c.Request.Context(), c.idempotencyRequest(), c.id, func(e domain.WebhookEndpoint) domain.Answer {
		return answer(http.StatusOK, "", "Listener deleted.", views.NewWebhookListener(e, e.UpdatedAt))
	}))
	if err != nil {
		return reply{}, cmp.Or(a.listenerExists(c.Request.Context(), c.tenant, c.id), err)
	}
	return r, nil
}

func (a *API) fetchWebhooks(c *call) (reply, error) {
	results, wait, err := readFetch(c.body)
	if err != nil {
		return reply{}, err
	}
	e, err := a.Listeners.Report(c.Request.Context(), c.tenant, c.id, results)
	if err != nil {
		return reply{}, err
	}
	c.end() // a waiting listener does not count among the requests in flight
	ctx, stop := a.waitContext(c, wait)
	defer stop()
	fetched, err := a.Listeners.Await(ctx, e)
	if err != nil {
		return reply{}, err
	}
	return ok("Webhooks fetched.", views.FetchedWebhooks{Webhooks: web.Each(fetched, newFetchedWebhook)}), nil
}

// waitContext returns a context that ends after the wait, when the client disconnects, or when
// the server shuts down.
func (a *API) waitContext(c *call, wait time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), wait)
	go func() {
		select {
		case <-ctx.Done():
		case <-c.gone():
		case <-a.closing:
		}
		cancel()
	}()
	return ctx, cancel
}

func readFetch(body *strictjson.Value) ([]webhooks.ListenerResult, time.Duration, error) {
	r := strictjson.NewReader(body)
	wait := maxWait
	if seconds, sent := r.Integer("wait_seconds", strictjson.Optional, strictjson.Between(0, maxWait.Seconds())); sent {
		wait = time.Duration(seconds) * time.Second
	}
	list := r.Array("results", strictjson.Optional, strictjson.Count(0, maxResults))
	results := make([]webhooks.ListenerResult, 0, list.Len())
	for i := range list.Len() {
		results = append(results, readResult(list.Object(i)))
	}
	return results, wait, web.Problems(r)
}

// readResult leaves the delivery empty when the ID is invalid. Such a result is skipped, like
// one of a deleted delivery.
func readResult(r *strictjson.Reader) webhooks.ListenerResult {
	id, _ := r.Text("webhook_delivery_id", strictjson.Required, strictjson.Length(1, domain.MaxTypedID))
	attempt, _ := r.Integer("attempt", strictjson.Optional, strictjson.Between(1, 1_000_000))
	status, answered := r.Integer("status_code", strictjson.Optional, strictjson.Between(200, 599))
	class, failed := r.Enum("error_class", strictjson.Optional, web.Texts(domain.ErrorClasses()))
	took, _ := r.Integer("duration_ms", strictjson.Required, strictjson.Between(0, float64(maxAttempt.Milliseconds())))
	excerpt, _ := r.Text("response_excerpt", strictjson.Optional, strictjson.AnyCharacter(), strictjson.Length(0, domain.MaxExcerpt))
	if !answered && !failed && !r.Has("status_code") && !r.Has("error_class") {
		r.Reject("", strictjson.CodeRequired, "send status_code, or error_class where there was no answer")
	}
	out := webhooks.ListenerResult{Attempt: attempt, Result: domain.WebhookResult{
		StatusCode: status, Error: domain.ErrorClass(class), Duration: time.Duration(took) * time.Millisecond, Excerpt: oneLine(excerpt),
	}}
	out.DeliveryID, _ = domain.ParseID(domain.PrefixWebhookDelivery, id)
	if !failed {
		out.Result.Error = domain.StatusClass(status)
	}
	return out
}

// oneLine returns a text that is safe to show: without control or formatting characters, and of
// limited length.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	for len(text) > domain.MaxExcerpt {
		_, last := utf8.DecodeLastRuneInString(text[:domain.MaxExcerpt+1])
		text = text[:domain.MaxExcerpt+1-last]
	}
	return text
}

func newFetchedWebhook(f webhooks.FetchedWebhook) views.FetchedWebhook {
	return views.FetchedWebhook{
		WebhookDeliveryID: string(f.ID), EventID: string(f.EventID), EventType: string(f.EventType),
		Attempt: f.Attempts + 1, Headers: f.Header, Body: string(f.Body),
	}
}
