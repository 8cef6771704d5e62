package portal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/application/monitoring"
	"waybill/domain"
	"waybill/ports"
)

// readyView shows what one application has done before it goes live.
type readyView struct {
	Steps     []readyStep
	Shown, Of int
	Unread    string // why there are no results; empty: there are
}

// readyStep is a step that the application's traffic ticks.
type readyStep struct {
	Name        string
	Title, Text string
	Done        bool
	At          time.Time
	By          string // what ticked the step
	Href        string // the page of By; empty: it has none
	Call        string
	Guide       pages.Link
}

// readyTexts explains each step: how to do it and where to read more.
var readyTexts = map[domain.ReadinessStep]readyStep{
	domain.ReadyReplayed: {Title: "Retry with the same Idempotency-Key", Text: "Send the same order twice with one key, as after a lost response. " +
		"The second response is the first one, with Idempotent-Replayed: true.",
		Call:  `$CURL $API/deliveries -H "Idempotency-Key: order-1001-first-try" --json @order.json   # twice`,
		Guide: pages.Link{Href: "/idempotency", Text: "Idempotency"}},
	domain.ReadyWaited: {Title: "Wait after a 429", Text: "Call faster than your limit, or force the response in the sandbox. " +
		"Done when the key makes no call for at least a second after a 429 and the next call succeeds.",
		Call:  `$CURL $API/deliveries -H "X-Sandbox-Error: RATE_LIMIT_EXCEEDED"   # then wait Retry-After seconds`,
		Guide: pages.Link{Href: "/limits", Text: "Limits"}},
	domain.ReadyVerified: {Title: "Verify a webhook", Text: "Done when an endpoint answers 2xx to a signed webhook. " +
		"Test yourself that your program refuses a wrong signature.",
		Call: `curl $YOUR_ENDPOINT -H "webhook-id: x" -H "webhook-timestamp: 1" -H "webhook-signature: v1,x" -d '{}'   ` +
			`# must answer 4xx`,
		Guide: pages.Link{Href: "/webhooks", Text: "Webhooks"}},
	domain.ReadyFailure: {Title: "Handle a failed delivery", Text: "Let a sandbox delivery fail. Then read it to see why.",
		Call:  `$CURL $API/deliveries/$ID   # of an order with "sandbox": {"scenario": "failed_at_dropoff"}`,
		Guide: pages.Link{Href: "/sandbox", Text: "Sandbox"}},
	domain.ReadyFeed: {Title: "Read the feed after an outage", Text: "Stop your endpoint, let a delivery move, and start it again. " +
		"Then read what it missed from your last cursor. Done when the endpoint answers again after a failure and you then read " +
		"/events with a cursor.",
		Call:  `$CURL "$API/events?cursor=$LAST_CURSOR"`,
		Guide: pages.Link{Href: "/webhooks", Text: "Events and webhooks"}},
	domain.ReadyScopes: {Title: "Give keys the fewest scopes", Text: "Done when each active live key has used all its scopes within a week. " +
		"Without a live key, this counts for each sandbox key.",
		Guide: pages.Link{Href: "/going-live", Text: "Before going live"}},
}

// readiness returns what an application has shown before it goes live.
func (p *Portal) readiness(c *call, app domain.Application) (*readyView, error) {
	v := &readyView{Unread: "The results are missing, because the request log cannot be read right now."}
	ctx, cancel := context.WithTimeout(c.Ctx(), logTimeout)
	defer cancel()
	shown, unused, err := p.Readiness.Of(ctx, c.Business(), app.ID, monitoring.API{
		ReadFeed: "GET /v1/events", Scopes: p.scopesOf,
	})
	if ports.StorageUnavailable(err) {
		p.noteLog(c, err)
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	keys, err := p.keyNames(c, []domain.Application{app})
	if err != nil {
		return nil, err
	}
	v.Unread = ""
	for _, step := range domain.ReadinessSteps() {
		s := readyTexts[step]
		s.Name, s.Guide.Href = string(step), p.docs(s.Guide.Href)
		s.Call = strings.NewReplacer("$API", p.options.SandboxBaseURL, "$CURL", `curl -H "Authorization: Bearer $WAYBILL_API_KEY"`).
			Replace(s.Call)
		if by, done := shown[step]; done {
			s.Done, s.At = true, by.At
			s.By, s.Href = source(by.Source, app)
			if key, err := domain.ParseID(domain.PrefixAPIKey, string(by.Source)); err == nil {
				if name, known := keys[key]; known {
					s.By = "calls of key " + name.label()
				}
			}
			v.Shown++
		} else if step == domain.ReadyScopes {
			for _, u := range unused {
				s.Text += fmt.Sprintf(" The %s key …%s did not use %s.", u.Key.Environment, u.Key.LastFour, scopeList(u.Scopes))
			}
		}
		v.Steps = append(v.Steps, s)
	}
	v.Of = len(v.Steps)
	return v, nil
}

// source describes what ticked a step, and returns its page.
func source(id domain.ID, app domain.Application) (text, href string) {
	switch text := string(id); {
	case strings.HasPrefix(text, string(domain.PrefixRequest)):
		return "request " + text, "/requests/" + text
	case strings.HasPrefix(text, string(domain.PrefixAPIKey)):
		return "calls of key " + text, "/requests?key=" + text
	case strings.HasPrefix(text, string(domain.PrefixDelivery)):
		return "delivery " + text, "/deliveries/" + text
	case strings.HasPrefix(text, string(domain.PrefixWebhookDelivery)):
		return "webhook " + text, "/search?q=" + text
	}
	return "the calls of the last week", "/usage?period=7d&application=" + string(app.ID)
}

func scopeList(scopes []domain.Scope) string {
	texts := make([]string, len(scopes))
	for i, s := range scopes {
		texts[i] = string(s)
	}
	return strings.Join(texts, ", ")
}

// scopesOf returns the scopes that a route of the API needs.
func (p *Portal) scopesOf(route string) []domain.Scope {
	for _, o := range p.options.Operations() {
		if o.Route == route {
			return o.Scopes
		}
	}
	return nil
}

// nearLimits returns notices about keys near their limit.
func (p *Portal) nearLimits(c *call, apps []domain.Application) (warn []pages.Notice, err error) {
	busiest, err := p.Requests.BusiestMinutes(c.Ctx(), domain.UsageQuery{BusinessID: c.Business()})
	if err != nil {
		return nil, nil //nolint:nilerr // the notice about errors tells that the log cannot be read
	}
	limit := p.options.PerKey
	maps.DeleteFunc(busiest, func(_ domain.ID, u domain.Usage) bool {
		return 100*u.Calls*int64(limit.Window)/int64(time.Minute) < nearLimit*int64(limit.Limit)
	})
	if len(busiest) == 0 {
		return nil, nil
	}
	names, err := p.keyNames(c, apps)
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(busiest)) {
		called := "A key"
		if name, known := names[key]; known {
			called = fmt.Sprintf("The %s key %s of %s", name.Environment, name.label(), name.Application)
		}
		warn = append(warn, pages.Notice{Tone: "warn", Title: "A key is near its limit", Lines: []string{fmt.Sprintf(
			"%s made %d calls in a minute of the last hour; it may make %s.", called, busiest[key].Calls, rate(limit))},
			Link: &pages.Link{Href: "/usage", Text: "See usage"}})
	}
	return warn, nil
}

// nearLimit sets the percentage of the limit from which a key gets a notice.
const nearLimit = 80
