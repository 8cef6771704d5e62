package portal

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/adapters/receivers"
	"waybill/adapters/web"
	"waybill/application/webhooks"
	"waybill/domain"
)

// health describes the state of an endpoint.
type health struct {
	Tag, Tone string
	Since     *time.Time // start of the failures
	Off       *time.Time // disabled then, unless it responds; nil: not soon
	Why       string     // why it gets nothing
	Waiting   string     // such as "14 waiting"; empty: none
	Next      string     // such as "next try in 4 min"; empty: none
	Rate      string
	Share     string
	Last      string // error
	LastAt    time.Time
}

// disabledTexts says why an endpoint gets nothing.
var disabledTexts = map[domain.DisabledReason]string{
	domain.DisabledByCaller: "events are held until it is resumed", domain.DisabledGone: "it answered 410 Gone",
	domain.DisabledFailing: "it failed for days",
}

func healthOf(s webhooks.Shown, now time.Time) health {
	h := health{Tag: "Healthy", Tone: "good"}
	sum := s.Summary
	switch {
	case s.Disabled == domain.DisabledByCaller:
		h.Tag, h.Tone, h.Why = "Paused", "over", disabledTexts[s.Disabled]
	case !s.Enabled:
		h.Tag, h.Tone, h.Why = "Disabled", "bad", disabledTexts[s.Disabled]
	case s.Health.FailingSince != nil:
		h.Tag, h.Tone, h.Since = "Failing", "bad", s.Health.FailingSince
		if now.Sub(*h.Since) >= domain.WarnAfter {
			h.Off = new(s.Health.DisabledFrom())
		}
	case sum.Tried == 0:
		h.Tag, h.Tone = "New", ""
	case sum.Arrived == 0: // no attempt since its URL changed or it was resumed
		h.Tag, h.Tone = "No success yet", ""
	}
	if sum.Waiting > 0 {
		h.Waiting = pages.Count(int64(sum.Waiting)) + " waiting"
		if sum.Waiting == domain.MaxWaitingCounted {
			h.Waiting = "at least " + h.Waiting
		}
		h.Next = "next try " + pages.Until(sum.NextAt.Sub(now))
	}
	if sum.Tried > 0 {
		h.Rate = strconv.Itoa(sum.Arrived) + " of the last " + strconv.Itoa(sum.Tried)
		h.Share = strconv.Itoa(sum.Arrived*100/sum.Tried) + " %"
	}
	if last := sum.LastFailure; last != nil {
		h.Last, h.LastAt = pages.AttemptText(last.Result), last.Result.StartedAt
	}
	return h
}

type endpointView struct {
	ID, URL, Host, Description, Environment, Href string
	Application                                   string // its name, in a list of several
	EventTypes                                    []string
	Enabled                                       bool
	Health                                        health
	CreatedAt, UpdatedAt                          time.Time
	OldUntil                                      *time.Time // the previous secret also signs until then; nil: there is none
	Version                                       string
}

func viewOf(s webhooks.Shown, now time.Time) endpointView {
	v := endpointView{
		ID: string(s.ID), URL: pages.ShownURL(s.URL), Host: s.Host(), Description: s.Description, Environment: string(s.Tenant.Environment),
		Href: "/webhooks/" + string(s.ID), EventTypes: s.EventTypes, Enabled: s.Enabled, Health: healthOf(s, now), CreatedAt: s.CreatedAt,
		UpdatedAt: s.UpdatedAt, Version: domain.FormatTime(s.UpdatedAt),
	}
	if active := s.ActiveSecrets(now); len(active) > 1 {
		v.OldUntil = active[1].ExpiresAt
	}
	return v
}

type endpointsView struct {
	Notice                         *pages.Notice
	Warn                           []pages.Notice
	Switch                         *pages.Switch // for staff, whose frame has none
	ApplicationID, EnvironmentName string
	Endpoints                      []endpointView
	May                            bool
	Bench                          bool // the reader may check a signature; staff may not
	Full                           bool
	DocsURL                        string
}

// chosenTenant returns whose endpoints a form is about: what the form names, and otherwise what
// the page shows. All applications are no choice for a form: then it is the first one.
func (p *Portal) chosenTenant(c *call) (domain.Tenant, shown, error) {
	t, v, err := p.askedFor(c)
	if err != nil {
		return t, v, err
	}
	if e := c.Form.Get("environment"); e != "" {
		sound := false
		if t.Environment, sound = domain.ParseEnvironment(e); !sound {
			return t, v, domain.ErrNotFound
		}
	}
	t.ApplicationID = cmp.Or(domain.ID(c.Form.Get("application")), t.ApplicationID)
	if t.ApplicationID == "" && len(v.apps) > 0 {
		t.ApplicationID = v.apps[0].ID
	}
	if t.ApplicationID != "" && !slices.ContainsFunc(v.apps, func(a domain.Application) bool { return a.ID == t.ApplicationID }) {
		err = domain.ErrNotFound
	}
	return t, v, err
}

func (p *Portal) listEndpoints(c *call) error {
	if c.WelcomeBack() != nil {
		return p.askNewEndpoint(c) // what was typed belongs there
	}
	return p.endpointsPage(c, http.StatusOK, c.Told())
}

func (p *Portal) endpointsPage(c *call, status int, n *pages.Notice) error {
	v := endpointsView{Notice: n, May: c.May(domain.ActManageWebhooks), DocsURL: p.options.DocsURL}
	t, choice, err := p.chosenTenant(c)
	if err != nil {
		return err
	}
	v.ApplicationID, v.EnvironmentName = string(t.ApplicationID), string(t.Environment)
	if v.Switch, err = p.switchForStaff(c); err != nil {
		return err
	}
	if v.Warn, err = p.endpointWarnings(c); err != nil {
		return err
	}
	all := choice.Application == "" && c.Form.Get("application") == ""
	for _, app := range choice.apps[:min(len(choice.apps), appsInSwitch)] {
		if !all && app.ID != t.ApplicationID {
			continue
		}
		found, err := p.Endpoints.List(c.Ctx(), domain.Tenant{BusinessID: t.BusinessID, ApplicationID: app.ID, Environment: t.Environment})
		if err != nil {
			return err
		}
		for _, e := range found {
			one := viewOf(e, p.options.Clock.Now())
			if all && len(choice.apps) > 1 {
				one.Application = app.Name
			}
			v.Endpoints = append(v.Endpoints, one)
		}
	}
	v.Full = !all && len(v.Endpoints) >= domain.MaxWebhookEndpoints
	v.Bench = ownPages(c)
	c.Widen()
	return p.Show(c, status, "webhooks", "Webhooks", v)
}

// newEndpointView holds the form for a new endpoint.
type newEndpointView struct {
	Notice                       *pages.Notice
	Environment                  string
	App                          domain.Application // empty: the form asks for it
	Application                  pages.Field
	Once                         string // ID of the endpoint that the form will create
	URL, EventTypes, Description pages.Field
	May                          bool
}

func (p *Portal) askNewEndpoint(c *call) error {
	return p.newEndpointPage(c, http.StatusOK, c.WelcomeBack())
}

func (p *Portal) newEndpointPage(c *call, status int, n *pages.Notice) error {
	t, choice, err := p.chosenTenant(c)
	if err != nil {
		return err
	}
	if t.ApplicationID == "" {
		return c.Lead("/webhooks") // which says that there is no application
	}
	v := newEndpointView{Notice: n, Environment: string(t.Environment), Once: p.OnceShown(c, domain.PrefixWebhookEndpoint, status),
		May: c.May(domain.ActReadWebhookSecrets), App: domain.Application{ID: t.ApplicationID, Name: choice.name(t.ApplicationID)}}
	if choice.Application == "" && len(choice.apps) > 1 {
		v.App, v.Application = domain.Application{}, pages.Field{Name: "application", Label: "Application"}
		for _, app := range choice.apps {
			v.Application.Options = append(v.Application.Options, pages.Option{Value: string(app.ID), Text: app.Name, Chosen: app.ID == t.ApplicationID})
		}
		v.Application = c.Field(v.Application)
	}
	v.URL, v.EventTypes, v.Description = endpointFields(c, domain.WebhookEndpoint{EventTypes: []string{domain.DeliveryEvents}})
	return p.Show(c, status, "webhook_new", "Create a webhook endpoint", v)
}

// eventTexts says when an event happens, or what a pattern matches.
var eventTexts = map[string]string{
	domain.AllEvents: "every event, also of later versions", domain.DeliveryEvents: "all that happens to deliveries",
	string(domain.EventEndpointTest):     "sent by “Send test event”, whatever you choose here",
	string(domain.EventEndpointDisabled): "another endpoint was disabled",
}

// endpointFields returns the form fields of an endpoint.
func endpointFields(c *call, e domain.WebhookEndpoint) (address, types, description pages.Field) {
	address = c.Field(pages.Field{Name: "url", Label: "URL", Type: "url", Value: e.URL, Required: true, MaxLength: domain.MaxWebhookURL,
		Autocomplete: "off", Hint: "The address of your program. Live endpoints need https."})
	types = pages.Field{Name: "event_types", Label: "Events"}
	for _, pattern := range domain.EventPatterns() {
		types.Options = append(types.Options, pages.Option{Value: pattern, Text: eventTexts[pattern],
			Chosen: slices.Contains(e.EventTypes, pattern)})
	}
	if _, sent := c.Form["url"]; sent && len(c.Form["event_types"]) == 0 {
		for i := range types.Options {
			types.Options[i].Chosen = false
		}
	}
	description = c.Field(pages.Field{Name: "description", Label: "Description", Value: e.Description, MaxLength: domain.DescriptionRule.Most,
		Autocomplete: "off", Hint: "Optional, for your team."})
	return address, c.Field(types), description
}

// endpointForm parses and checks the form.
func endpointForm(c *call) (f webhooks.Form, err error) {
	f = webhooks.Form{URL: web.ASCIIHost(strings.TrimSpace(c.Form.Get("url"))), EventTypes: c.Form["event_types"],
		Description: strings.TrimSpace(c.Form.Get("description")), Enabled: true}
	var wrong []domain.FieldError
	if f.URL == "" {
		wrong = append(wrong, domain.FieldError{Field: "url", Code: domain.FieldRequired,
			Message: "Enter the address, such as https://example.com/hooks."})
	}
	unknown := slices.ContainsFunc(f.EventTypes, func(p string) bool { return !slices.Contains(domain.EventPatterns(), p) })
	if len(f.EventTypes) == 0 || unknown || len(f.EventTypes) > domain.MaxEventPatterns {
		wrong = append(wrong, domain.FieldError{Field: "event_types", Code: domain.FieldRequired, Message: "Choose at least one event."})
	}
	if code, message := domain.DescriptionRule.Judge(f.Description); code != "" {
		wrong = append(wrong, domain.FieldError{Field: "description", Code: code, Message: message})
	}
	if len(wrong) > 0 {
		err = domain.Invalid(wrong...)
	}
	return f, err
}

func (p *Portal) createEndpoint(c *call) error {
	t, _, err := p.chosenTenant(c)
	if err != nil {
		return err
	}
	once, whole := p.WholeOnce(c, domain.PrefixWebhookEndpoint)
	if !whole {
		return p.newEndpointPage(c, http.StatusUnprocessableEntity, &pages.Notice{Tone: "bad", Title: "No endpoint was created",
			Lines: []string{"The form was incomplete. Send it again from here."}})
	}
	form, err := endpointForm(c)
	var made webhooks.Secret
	if err == nil {
		made, err = p.Endpoints.Create(c.Ctx(), c.Actor(), once, t, form)
	}
	switch {
	case domain.HasCode(err, domain.CodeWebhookEndpointLimit):
		return p.newEndpointPage(c, http.StatusConflict, &pages.Notice{Tone: "bad", Title: "No endpoint was created",
			Lines: []string{pages.MessageOf(err)}})
	case c.Wrong(err):
		return p.newEndpointPage(c, http.StatusUnprocessableEntity, nil)
	case domain.HasCode(err, domain.CodeFormAlreadySent):
		return p.newEndpointPage(c, http.StatusConflict, &pages.Notice{Tone: "bad", Title: "No second endpoint was created",
			Lines: []string{pages.MessageOf(err)}})
	case err != nil:
		return err
	}
	return p.showSecret(c, made, false)
}

type newSecretView struct {
	Endpoint endpointView
	Secret   pages.Secret
	Rotated  bool
	Samples  []sample // a whole receiver in each language; empty after a rotation
	DocsURL  string
}

// showSecret sends the only response with the secret.
func (p *Portal) showSecret(c *call, s webhooks.Secret, rotated bool) error {
	title := map[bool]string{false: "The new endpoint", true: "The new secret"}[rotated]
	var programs []sample
	for _, l := range receivers.Languages {
		if !rotated {
			programs = append(programs, sample{"receive-" + strings.ToLower(l.Name), l.Name, receivers.Text(l.File)})
		}
	}
	return p.Show(c, http.StatusOK, "webhook_secret", title, newSecretView{
		Endpoint: viewOf(webhooks.Shown{WebhookEndpoint: s.WebhookEndpoint}, p.options.Clock.Now()), Rotated: rotated, Samples: programs,
		DocsURL: p.options.DocsURL,
		Secret: pages.Secret{Title: "Copy the signing secret now", Note: "It is shown only now. Keep it where your program reads its secrets. " +
			"Your program uses it to check that a webhook comes from us.", Label: "The signing secret", Secret: s.Secret},
	})
}

// endpointWarnings returns notices about endpoints of the business, in any application, that will
// be disabled or were because of their responses.
func (p *Portal) endpointWarnings(c *call) (warnings []pages.Notice, err error) {
	ill, err := p.Endpoints.Unhealthy(c.Ctx(), c.Business())
	for _, e := range ill {
		n := pages.Notice{Tone: "bad", Title: "Webhooks to " + e.Host() + " are disabled",
			Lines: []string{"In " + string(e.Tenant.Environment) + ": " + disabledTexts[e.Disabled] +
				". Events are kept for 30 days. Fix the endpoint, resume it and recover what it missed."},
			Link: &pages.Link{Href: "/webhooks/" + string(e.ID), Text: "Open the endpoint"}}
		if e.Enabled {
			n.Tone, n.Title = "warn", "Webhooks to "+e.Host()+" will be disabled"
			n.Lines = []string{"In " + string(e.Tenant.Environment) + ": nothing has arrived there since " + inUTC(*e.Health.FailingSince) +
				". From " + inUTC(e.Health.DisabledFrom()) + " nothing more is sent, unless the endpoint answers 2xx before."}
		}
		warnings = append(warnings, n)
	}
	return warnings, err
}

func inUTC(t time.Time) string { return t.UTC().Format("2 January, 15:04 UTC") }

// hookTexts maps error codes to texts for people. The API's own messages are for programs.
var hookTexts = map[string]string{
	domain.CodeWebhookEndpointDisabled: "This endpoint gets no webhooks now. Resume it first.",
	domain.CodeRecoveryRunning: "A recovery is running. Wait until all its webhooks were tried, then try again. " +
		"While the endpoint fails, they wait for its next attempt.",
}

// hookRefusal returns a notice if the error is a refusal, not a failure; nil otherwise.
func hookRefusal(err error) *pages.Notice {
	var e *domain.Error
	if !errors.As(err, &e) || e.Kind != domain.KindConflict && e.Kind != domain.KindLimited && e.Kind != domain.KindInvalid {
		return nil
	}
	return &pages.Notice{Tone: "bad", Title: "Nothing was changed", Lines: []string{cmp.Or(hookTexts[e.Code], e.Message)}}
}

// filled returns a path with the parameters that have a value.
func filled(path string, values url.Values) string {
	for name, v := range values {
		if len(v) == 0 || v[0] == "" {
			values.Del(name)
		}
	}
	return pages.AddressOf(path, values)
}
