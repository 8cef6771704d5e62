package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"waybill/adapters/web"
	"waybill/adapters/web/strictjson"
	"waybill/adapters/web/views"
	"waybill/application/webhooks"
	"waybill/domain"
)

var (
	webhookEndpointShape = strictjson.Object{
		"url": strictjson.Leaf, "event_types": strictjson.ArrayOf(strictjson.Leaf),
		"description": strictjson.Leaf, "enabled": strictjson.Leaf,
	}
	rotationShape = strictjson.Object{"overlap_seconds": strictjson.Leaf}
	recoveryShape = strictjson.Object{"since": strictjson.Leaf, "until": strictjson.Leaf, "only": strictjson.Leaf}
)

func (a *API) listWebhookEndpoints(c *call) (reply, error) {
	p, err := a.pageRequest(c, domain.PrefixWebhookEndpoint)
	if err != nil {
		return reply{}, err
	}
	found, err := a.Webhooks.List(c.Request.Context(), c.tenant, p)
	if err != nil {
		return reply{}, err
	}
	found, m := page(a, c, found, p.Limit, func(e domain.WebhookEndpoint) domain.Position {
		return domain.Position{CreatedAt: e.CreatedAt, ID: e.ID}
	})
	return list("Webhook endpoints listed.", web.Each(found, views.NewWebhookEndpoint), m), nil
}

func (a *API) getWebhookEndpoint(c *call) (reply, error) {
	found, err := a.Webhooks.Get(c.Request.Context(), c.tenant, c.id)
	if err != nil {
		return reply{}, err
	}
	return ok("Webhook endpoint found.", views.NewWebhookEndpoint(found)), nil
}

func (a *API) webhookEndpointExists(ctx context.Context, t domain.Tenant, id domain.ID) error {
	_, err := a.Webhooks.Get(ctx, t, id)
	return err
}

func (a *API) createWebhookEndpoint(c *call) (reply, error) {
	return replyOf(a.Webhooks.Create(c.Request.Context(), c.idempotencyRequest(),
		func() (webhooks.Form, error) { return readWebhookEndpoint(c.body) },
		func(e domain.WebhookEndpoint, secret string) domain.Answer {
			return answer(http.StatusCreated, a.BaseURL+"/webhook-endpoints/"+string(e.ID),
				"Webhook endpoint created. Its secret is shown this once.",
				views.WebhookEndpointSecret{WebhookEndpoint: views.NewWebhookEndpoint(e), Secret: secret})
		}))
}

func readWebhookEndpoint(body *strictjson.Value) (webhooks.Form, error) {
	r := strictjson.NewReader(body)
	form := webhooks.Form{EventTypes: eventPatterns(r), Enabled: true}
	form.URL, _ = webhookURL(r, strictjson.Required)
	form.Description, _ = webhookDescription(r)
	if form.EventTypes == nil {
		form.EventTypes = []string{domain.AllEvents}
	}
	if enabled, present := r.Bool("enabled", strictjson.Optional); present {
		form.Enabled = enabled
	}
	return form, web.Problems(r)
}

// webhookURL reads the URL, with its host in ASCII. It checks the length, which counts in bytes. The
// domain checks the rest.
func webhookURL(r *strictjson.Reader, need strictjson.Need) (string, bool) {
	url, ok := r.Text("url", need, strictjson.Length(0, web.MaxBody))
	url = web.ASCIIHost(url)
	code := strictjson.CodeTooShort
	switch {
	case !ok || url != "" && len(url) <= domain.MaxWebhookURL:
		return url, ok
	case url != "":
		code = strictjson.CodeTooLong
	}
	r.Reject("url", code, domain.WebhookURLLength(len(url)))
	return "", false
}

func webhookDescription(r *strictjson.Reader) (string, bool) {
	return web.Text(r, "description", strictjson.Optional, domain.DescriptionRule)
}

// eventPatterns reads the patterns. It returns nil when none were sent.
func eventPatterns(r *strictjson.Reader) []string {
	sent := r.Array("event_types", strictjson.Optional, strictjson.Count(1, domain.MaxEventPatterns))
	var patterns []string
	for i := range sent.Len() {
		pattern, sound := sent.Enum(i, domain.EventPatterns())
		if sound && slices.Contains(patterns, pattern) {
			sent.Reject(i, strictjson.CodeNotAllowed, pattern+" is in the list already")
		}
		patterns = append(patterns, pattern)
	}
	return patterns
}

func (a *API) changeWebhookEndpoint(c *call) (reply, error) {
	return replyOf(a.Webhooks.Change(c.Request.Context(), c.idempotencyRequest(), c.id,
		func() (domain.WebhookEndpointChange, error) { return readWebhookEndpointChange(c.body) },
		func(e domain.WebhookEndpoint, enabled bool) domain.Answer {
			message := "Webhook endpoint updated."
			if enabled {
				message = "Webhook endpoint enabled. What was held while it was disabled is sent when you ask for it: POST /webhook-endpoints/" +
					string(e.ID) + `/recover with {"since": a time at most 30 days back, "only": "held"}.`
			}
			return webhookEndpointAnswer(message)(e)
		}))
}

func readWebhookEndpointChange(body *strictjson.Value) (domain.WebhookEndpointChange, error) {
	r := strictjson.NewReader(body)
	web.NeedOne(r, "url", "event_types", "description", "enabled")
	change := domain.WebhookEndpointChange{
		URL:        strictjson.Ptr(webhookURL(r, strictjson.Optional)),
		EventTypes: eventPatterns(r),
	}
	change.Description = strictjson.Ptr(webhookDescription(r))
	change.Enabled = strictjson.Ptr(r.Bool("enabled", strictjson.Optional))
	return change, web.Problems(r)
}

// deleteWebhookEndpoint deletes an endpoint. A replay may find it gone, so its existence is
// checked only when another check fails.
func (a *API) deleteWebhookEndpoint(c *call) (reply, error) {
	r, err := replyOf(a.Webhooks.Delete(c.Request.Context(), c.idempotencyRequest(), c.id, webhookEndpointAnswer("Webhook endpoint deleted.")))
	if err != nil {
		return reply{}, cmp.Or(a.webhookEndpointExists(c.Request.Context(), c.tenant, c.id), err)
	}
	return r, nil
}

// webhookEndpointAnswer responds 200 with the current state of the endpoint.
func webhookEndpointAnswer(message string) func(domain.WebhookEndpoint) domain.Answer {
	return func(e domain.WebhookEndpoint) domain.Answer {
		return answer(http.StatusOK, "", message, views.NewWebhookEndpoint(e))
	}
}

func (a *API) rotateWebhookSecret(c *call) (reply, error) {
	return replyOf(a.Webhooks.Rotate(c.Request.Context(), c.idempotencyRequest(), c.id,
		func() (time.Duration, error) {
			r := strictjson.NewReader(c.body)
			overlap := domain.DefaultSecretOverlap
			most := domain.MaxSecretOverlap / time.Second
			if seconds, sent := r.Integer("overlap_seconds", strictjson.Optional, strictjson.Between(0, float64(most))); sent {
				overlap = time.Duration(seconds) * time.Second
			}
			return overlap, web.Problems(r)
		},
		func(e domain.WebhookEndpoint, secret string) domain.Answer {
			return answer(http.StatusOK, "", "Signing secret rotated. The new one is shown this once.",
				views.WebhookEndpointSecret{WebhookEndpoint: views.NewWebhookEndpoint(e), Secret: secret})
		}))
}

func (a *API) testWebhookEndpoint(c *call) (reply, error) {
	return replyOf(a.Webhooks.Test(c.Request.Context(), c.idempotencyRequest(), c.id, webhookDeliveryAnswer("Test event queued.")))
}

func (a *API) recoverWebhooks(c *call) (reply, error) {
	return replyOf(a.Webhooks.Recover(c.Request.Context(), c.idempotencyRequest(), c.id,
		func() (webhooks.Span, error) { return readSpan(c.body) },
		func(r webhooks.Recovered) domain.Answer {
			return answer(http.StatusAccepted, "", "Recovery queued.", views.WebhookRecovery{Queued: r.Queued, HasMore: r.HasMore})
		}))
}

func readSpan(body *strictjson.Value) (webhooks.Span, error) {
	r := strictjson.NewReader(body)
	var span webhooks.Span
	if since := bodyTime(r, "since", strictjson.Required); since != nil {
		span.Since = *since
	}
	span.Until = bodyTime(r, "until", strictjson.Optional)
	only, _ := r.Enum("only", strictjson.Optional, []string{string(domain.WebhookFailed), string(domain.WebhookHeld)})
	span.Only = domain.WebhookStatus(only)
	return span, web.Problems(r)
}

// bodyTime reads a time. It returns nil when none was sent, or none that can be read.
func bodyTime(r *strictjson.Reader, name string, need strictjson.Need) *time.Time {
	sent, there := r.Text(name, need)
	if !there {
		return nil
	}
	t, sound := web.ParseTime(sent)
	if !sound {
		r.Reject(name, strictjson.CodeInvalidFormat, web.WantedTime+web.ItIs(sent))
		return nil
	}
	return &t
}
