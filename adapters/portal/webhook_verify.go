package portal

import (
	"encoding/base64"
	"net/http"
	"strings"

	"waybill/adapters/pages"
	"waybill/adapters/receivers"
	"waybill/application/webhooks"
	"waybill/domain"
)

type benchView struct {
	Notice                                 *pages.Notice
	Endpoint, Secret, At                   pages.Field
	Application, Environment               string
	Encoding                               pages.Field
	Headers, Body, HeadersError, BodyError string
	Verdict                                *benchVerdict
}

type benchVerdict struct {
	Verified bool
	Steps    []benchStep
	Problem  string // of the pasted secret
	Mends    []benchMend
	About    string // the step of the samples
}

type benchStep struct{ Name, Outcome, Tone, Text string }

type benchMend struct {
	Language string
	Code     pages.Code
}

var (
	stepNames = map[webhooks.SignatureStep]string{webhooks.StepHeaders: "Headers", webhooks.StepTimestamp: "Timestamp",
		webhooks.StepSecret: "Secret", webhooks.StepBody: "Body"}
	outcomeTones = map[webhooks.StepOutcome]string{webhooks.StepPassed: "good", webhooks.StepFailed: "bad"}
)

func (p *Portal) showBench(c *call) error { return p.benchPage(c, http.StatusOK, nil) }

// benchPage shows the page with the typed values, except the secret.
func (p *Portal) benchPage(c *call, status int, verdict *benchVerdict) error {
	t, _, err := p.chosenTenant(c)
	if err != nil {
		return err
	}
	v := benchView{Notice: c.WelcomeBack(), Application: string(t.ApplicationID), Environment: string(t.Environment), Verdict: verdict,
		Headers: c.Form.Get("headers"), Body: c.Form.Get("body"), HeadersError: c.Fault("headers", "headers", "Headers"), BodyError: c.Fault("body", "body", "Body")}
	var at string // when it arrived, if known
	v.Endpoint = pages.Field{Name: "endpoint", Label: "Endpoint", Hint: "Its secret is used for the check and never shown.", Value: c.Query("endpoint"),
		Options: []pages.Option{{Text: "None, I paste the secret"}}}
	if t.ApplicationID != "" && c.May(domain.ActManageWebhooks) {
		all, err := p.Endpoints.List(c.Ctx(), t)
		if err != nil {
			return err
		}
		for _, e := range all {
			v.Endpoint.Options = append(v.Endpoint.Options, pages.Option{Value: string(e.ID), Text: pages.ShownURL(e.URL),
				Chosen: string(e.ID) == c.Query("endpoint")})
		}
	}
	if t.ApplicationID != "" && t.Environment == domain.Sandbox && c.May(domain.ActManageWebhooks) {
		v.Endpoint.Options = append(v.Endpoint.Options, pages.Option{Value: inboxEndpoint, Text: "The inbox of the sandbox"})
		if at, err = p.fromInbox(c, t, &v); err != nil {
			return err
		}
	}
	v.Endpoint = c.Field(v.Endpoint)
	v.Secret = pages.Field{ID: "secret", Name: "secret", Label: "Signing secret", Type: "password", Autocomplete: "off",
		Error: c.Fault("secret", "secret", "Secret"),
		Hint:  "The one that your program uses. It is used only for this check and not stored.", MaxLength: 200}
	v.At = c.Field(pages.Field{Name: "received_at", Label: "Received at (UTC)", Type: "datetime-local", Value: at,
		Hint: "By the clock of your program. Empty means now."})
	v.Encoding = c.Field(pages.Field{Name: "encoding", Label: "The body is", Options: []pages.Option{
		{Value: "text", Text: "text", Chosen: true}, {Value: "base64", Text: "base64, to the byte"}}})
	return p.Show(c, status, "webhook_verify", "Check a signature", v)
}

// inboxEndpoint stands for the inbox in the list of endpoints.
const inboxEndpoint = "inbox"

// benchOf returns the page that checks webhooks of an application in the sandbox.
func benchOf(t domain.Tenant) string {
	return "/webhooks/verify?environment=sandbox&application=" + string(t.ApplicationID)
}

// fromInbox fills in the inbox webhook that the address names, and returns when it was created. A
// webhook that the inbox no longer has gets a notice.
func (p *Portal) fromInbox(c *call, t domain.Tenant, v *benchView) (at string, err error) {
	asked := c.Query("received")
	if asked == "" || c.Form.Get("headers") != "" {
		return "", nil
	}
	inbox, err := p.inboxes.Look(c.Ctx(), t, false)
	if err != nil {
		return "", err
	}
	for i := range inbox.Webhooks {
		if w := &inbox.Webhooks[i]; string(w.ID) == asked {
			row := newInboxRow(w)
			v.Headers, v.Body = row.Headers, row.Body
			v.Endpoint.Options[len(v.Endpoint.Options)-1].Chosen = true
			return w.At.UTC().Format("2006-01-02T15:04"), nil
		}
	}
	v.Notice = &pages.Notice{Tone: "warn", Title: "The inbox no longer has this webhook",
		Lines: []string{"It keeps the newest ones while it is open. Choose another one in the sandbox."}}
	return "", nil
}

// maxPastedBody exceeds the size of any webhook.
const maxPastedBody = 48 << 10

func (p *Portal) examineWebhook(c *call) error {
	t, _, err := p.chosenTenant(c)
	if err != nil {
		return err
	}
	r := webhooks.Received{BySecrets: c.May(domain.ActManageWebhooks)}
	r.Headers, r.Body, r.At = c.Form.Get("headers"), []byte(c.Form.Get("body")), p.options.Clock.Now()
	if at := pages.MomentOf(c.Form.Get("received_at")); at != nil {
		r.At = *at
	}
	r.Endpoint = domain.ID(c.Form.Get("endpoint"))
	if r.Endpoint != "" && !r.BySecrets {
		return c.Principal.Allows(domain.ActManageWebhooks, p.options.Clock.Now())
	}
	if r.Inbox = r.Endpoint == inboxEndpoint; r.Inbox {
		r.Endpoint = ""
	}
	if r.Endpoint != "" {
		if _, err := p.Endpoints.Get(c.Ctx(), c.Business(), r.Endpoint); err != nil {
			return err
		}
	}
	c.Faults = map[string]string{}
	if strings.TrimSpace(r.Headers) == "" {
		c.Faults["headers"] = "Paste the headers of the webhook."
	}
	if r.Raw = c.Form.Get("encoding") == "base64"; r.Raw {
		if r.Body, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(c.Form.Get("body")), "")); err != nil {
			c.Faults["body"] = "This is not base64."
		}
	}
	if len(r.Body) > maxPastedBody {
		c.Faults["body"] = "A webhook has at most 20 KB, and this has more than 48."
	}
	verdict := &benchVerdict{}
	if typed := c.Form.Get("secret"); typed != "" {
		secret, problem := webhooks.ParseSecret(typed)
		if verdict.Problem = problem; secret == nil {
			c.Faults["secret"] = problem
		}
		r.Secrets = []webhooks.PossibleSecret{{Bytes: secret, Name: "secret that was pasted", Pasted: true}}
	} else if r.Endpoint == "" && !r.Inbox {
		c.Faults["secret"] = "Paste the secret, or choose an endpoint."
	}
	if len(c.Faults) > 0 {
		return p.benchPage(c, http.StatusUnprocessableEntity, nil)
	}
	found, err := p.Endpoints.Examine(c.Ctx(), t, r)
	if err != nil {
		return err
	}
	verdict.Verified = found.Verified
	for _, s := range found.Results {
		verdict.Steps = append(verdict.Steps, benchStep{Name: stepNames[s.Step], Outcome: string(s.Outcome), Tone: outcomeTones[s.Outcome],
			Text: s.Text})
		if s.Outcome != webhooks.StepFailed || verdict.About != "" {
			continue
		}
		verdict.About = stepNames[s.Step]
		for _, l := range receivers.Languages {
			code := pages.Code{ID: "mend-" + strings.ToLower(l.Name), Text: receivers.Part(l.File, string(s.Step))}
			verdict.Mends = append(verdict.Mends, benchMend{l.Name, code})
		}
	}
	return p.benchPage(c, http.StatusOK, verdict)
}
