package portal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/application/readiness"
	"waybill/domain"
	"waybill/ports"
)

// readyView tells what one application has shown before it goes live.
type readyView struct {
	Application pages.Field
	Several     bool // there is more than one to choose from
	Name        string
	Steps       []readyStep
	Shown, Of   int
	Unread      string // why this cannot be told; empty: it is
}

// readyStep is a step, ticked by the traffic of the application.
type readyStep struct {
	Name        string
	Title, Text string
	Done        bool
	At          time.Time
	By          string // by what it was ticked
	Href        string // of that; empty: it has no page
	Call        string
	Guide       pages.Link
}

// readyTexts are the steps in words: how each is done, and where that is explained.
var readyTexts = map[domain.ReadinessStep]readyStep{
	domain.ReadyReplayed: {Title: "Replay an Idempotency-Key", Text: "Send the same order twice with one key, as after a lost answer. " +
		"The second answer is the first one, with Idempotent-Replayed: true.",
		Call:  `curl $API/deliveries -H "Idempotency-Key: order-1001-first-try" -d @order.json   # twice`,
		Guide: pages.Link{Href: "/idempotency", Text: "Idempotency"}},
	domain.ReadyWaited: {Title: "Meet a 429 and wait", Text: "Call faster than your limit, or force the answer in the sandbox. " +
		"Ticked when the key makes no call for at least a second after a 429 and the next one succeeds.",
		Call:  `curl $API/deliveries -H "X-Sandbox-Error: RATE_LIMIT_EXCEEDED"   # then wait Retry-After seconds`,
		Guide: pages.Link{Href: "/limits", Text: "Limits"}},
	domain.ReadyVerified: {Title: "Verify a webhook", Text: "Ticked when an endpoint answers 2xx to a signed webhook. " +
		"Only your program knows whether it refuses a wrong signature: send it one yourself.",
		Call: `curl $YOUR_ENDPOINT -H "webhook-id: x" -H "webhook-timestamp: 1" -H "webhook-signature: v1,x" -d '{}'   ` +
			`# has to answer 4xx`,
		Guide: pages.Link{Href: "/webhooks", Text: "Webhooks"}},
	domain.ReadyFailure: {Title: "Handle a failed delivery", Text: "Let a sandbox delivery fail, and read it afterwards to see why.",
		Call:  `curl $API/deliveries/$ID   # of an order with "sandbox": {"scenario": "failed_at_dropoff"}`,
		Guide: pages.Link{Href: "/sandbox", Text: "Sandbox"}},
	domain.ReadyFeed: {Title: "Read the feed after an outage", Text: "Stop your endpoint, let a delivery move, start it again, " +
		"and read from your last cursor what it missed.",
		Call:  `curl "$API/events?cursor=$LAST_CURSOR"`,
		Guide: pages.Link{Href: "/webhooks", Text: "Events and webhooks"}},
	domain.ReadyScopes: {Title: "Give keys the fewest scopes", Text: "Ticked when each usable live key has used all its scopes in a week; " +
		"while there is no live key, each sandbox key.",
		Guide: pages.Link{Href: "/going-live", Text: "Before going live"}},
}

// readiness is what the application of the address has shown; the first one that is not
// disabled where the address names none.
func (p *Portal) readiness(c *call, apps []domain.Application, logged bool) (*readyView, error) {
	if len(apps) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to tell of
	}
	app := apps[0]
	if i := slices.IndexFunc(apps, func(a domain.Application) bool { return !a.Disabled }); i >= 0 {
		app = apps[i]
	}
	if asked := domain.ID(c.Query("application")); asked != "" {
		if i := slices.IndexFunc(apps, func(a domain.Application) bool { return a.ID == asked }); i >= 0 {
			app = apps[i]
		}
	}
	v := &readyView{Name: app.Name, Several: len(apps) > 1, Application: pages.Field{ID: "application", Name: "application",
		Label: "Application"}}
	for _, a := range apps {
		v.Application.Options = append(v.Application.Options, pages.Option{Value: string(a.ID), Text: a.Name, Chosen: a.ID == app.ID})
	}
	v.Unread = "While the request log cannot be read, this does not tell what your program has shown."
	if !logged {
		return v, nil
	}
	ctx, cancel := context.WithTimeout(c.ctx(), logTimeout)
	defer cancel()
	shown, unused, err := p.Readiness.Of(ctx, c.business(), app.ID, readiness.API{
		ReadDelivery: []string{"GET /v1/deliveries/{delivery_id}", "GET /v1/deliveries/{delivery_id}/events"}, ReadFeed: "GET /v1/events",
		Scopes: p.scopesOf,
	})
	if ports.StorageUnavailable(err) {
		p.noteLog(c, err)
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	v.Unread = ""
	for _, step := range domain.ReadinessSteps() {
		s := readyTexts[step]
		s.Name, s.Guide.Href = string(step), p.docs(s.Guide.Href)
		s.Call = strings.ReplaceAll(s.Call, "$API", p.options.SandboxBaseURL)
		if by, done := shown[step]; done {
			s.Done, s.At = true, by.At
			s.By, s.Href = source(by.Source, app)
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

// source is what ticked a step, in words, and its page.
func source(id domain.ID, app domain.Application) (text, href string) {
	switch text := string(id); {
	case strings.HasPrefix(text, string(domain.PrefixRequest)):
		return "request " + text, "/requests/" + text
	case strings.HasPrefix(text, string(domain.PrefixAPIKey)):
		return "calls of key " + text, "/requests?key=" + text
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

// scopesOf are those that a route of the API needs.
func (p *Portal) scopesOf(route string) []domain.Scope {
	for _, o := range p.options.Operations() {
		if o.Route == route {
			return o.Scopes
		}
	}
	return nil
}

// attention is what somebody should look at now: endpoints that fail and keys near their
// limit.
func (p *Portal) attention(c *call, apps []domain.Application, logged bool) (warn []pages.Notice, err error) {
	troubled, err := p.Readiness.Troubled(c.ctx(), c.business(), apps)
	if err != nil {
		return nil, err
	}
	for i := range troubled {
		e := &troubled[i]
		link := &pages.Link{Href: "/webhooks/" + string(e.ID), Text: "See the endpoint"}
		n := pages.Notice{Tone: "bad", Title: "A webhook endpoint is disabled", Link: link, Lines: []string{"Nothing is sent to " + e.Host() +
			" (" + string(e.Tenant.Environment) + ") any more. What came up meanwhile is held, and can be recovered."}}
		if e.Status() == domain.EndpointFailing {
			n.Tone, n.Title = "warn", "A webhook endpoint fails"
			const at = "2 January, 15:04 UTC"
			n.Lines = []string{fmt.Sprintf("%s (%s) fails since %s. From %s on it is disabled, unless it answers before.", e.Host(),
				e.Tenant.Environment, e.Health.FailingSince.UTC().Format(at), e.Health.DisabledFrom().UTC().Format(at))}
			if p.options.Clock.Now().Sub(*e.Health.FailingSince) >= domain.WarnAfter {
				n.Tone, n.Title = "bad", "A webhook endpoint is about to be disabled"
			}
		}
		warn = append(warn, n)
	}
	if !logged {
		return warn, nil
	}
	busiest, err := p.Requests.BusiestMinutes(c.ctx(), domain.UsageQuery{BusinessID: c.business()})
	if err != nil {
		return warn, nil //nolint:nilerr // the notice about errors tells that the log cannot be read
	}
	limit := p.options.PerKey
	for key, u := range busiest {
		perWindow := u.Calls * int64(limit.Window) / int64(time.Minute)
		if 100*perWindow < nearLimit*int64(limit.Limit) {
			continue
		}
		warn = append(warn, pages.Notice{Tone: "warn", Title: "A key is near its limit", Lines: []string{fmt.Sprintf(
			"%s made %d calls in a minute of the last hour; it may make %s.", key, u.Calls, rate(limit))},
			Link: &pages.Link{Href: "/usage", Text: "See usage"}})
	}
	return warn, nil
}

// nearLimit is from how many hundredths of its limit on a key is told of.
const nearLimit = 80
