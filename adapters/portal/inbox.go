package portal

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/application/webhooks"
	"waybill/domain"
)

// resumeOverlap sets how far before the browser's last row a stream resumes. Of two events the
// later one may arrive first. Browsers skip rows they already have.
const resumeOverlap = 10 * time.Second

// inboxView holds the inbox of the sandbox page. Readers without JavaScript reload it.
type inboxView struct {
	Open   bool
	Secret *pages.Code // the signing secret; nil: closed, or the person may not see it
	Stream string      // address of the event stream; empty: none
	Reload string
	First  int // rows of the page when it loads
	Most   int // rows including later ones
	Rows   []inboxRow
	Blank  inboxRow // template for the script's new rows
}

// inboxRow is a webhook of an inbox, for the page and the script.
type inboxRow struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Delivery string `json:"delivery"`
	// Reference holds the delivery's reference from the event.
	Reference string   `json:"reference"`
	At        string   `json:"at"` // RFC 3339
	Headers   string   `json:"headers"`
	Body      string   `json:"body"`
	Checks    []string `json:"checks"`
	Check     string   `json:"-"` // the page that checks it; empty: the person may not use it

	Time time.Time `json:"-"` // as in At; zero in a blank row
}

// referenceIn returns the delivery reference in the webhook's body, or else the delivery ID.
func referenceIn(body []byte, delivery domain.ID) string {
	var event struct {
		Data struct {
			Delivery struct {
				Reference string `json:"reference"`
			} `json:"delivery"`
		} `json:"data"`
	}
	_ = json.Unmarshal(body, &event) // endpoint events have no delivery
	return cmp.Or(event.Data.Delivery.Reference, string(delivery))
}

func newInboxRow(w *webhooks.ReceivedWebhook) inboxRow {
	id, at, signature := w.Header[domain.HeaderWebhookID], w.Header[domain.HeaderWebhookTimestamp], w.Header[domain.HeaderWebhookSignature]
	headers := "content-type: application/json"
	for _, name := range []string{domain.HeaderWebhookID, domain.HeaderWebhookTimestamp, domain.HeaderWebhookSignature,
		domain.HeaderWebhookAttempt} {
		headers += "\n" + name + ": " + w.Header[name]
	}
	return inboxRow{
		Reference: referenceIn(w.Body, w.DeliveryID),
		ID:        string(w.ID), Type: string(w.EventType), Delivery: string(w.DeliveryID), At: w.At.UTC().Format(time.RFC3339), Headers: headers,
		Body: string(w.Body), Time: w.At,
		Checks: []string{
			"The three headers webhook-id, webhook-timestamp and webhook-signature are there.",
			"The timestamp " + at + " is at most 5 minutes from the clock, when it arrives.",
			"HMAC-SHA256 with the inbox's own signing secret, which stands above the list for developers and owners, " +
				"over “" + id + "." + at + ".” and the " + strconv.Itoa(len(w.Body)) +
				" bytes of the body, in base64, is the signature: " + signature,
			"The webhook-id was not seen before: it is the same when a webhook is sent again.",
		},
	}
}

// openFor opens the inbox of an application, after checking that the business owns it.
func (p *Portal) openFor(c *call, app domain.ID) error {
	if _, err := p.Tenants.ApplicationOf(c.Ctx(), c.Business(), app); err != nil {
		return err
	}
	return p.inboxes.Open(c.Ctx(), c.Actor(), domain.Tenant{BusinessID: c.Business(), ApplicationID: app, Environment: domain.Sandbox})
}

// openInbox opens an inbox, for the button.
func (p *Portal) openInbox(c *call) error {
	app := domain.ID(c.Form.Get("application"))
	err := p.openFor(c, app)
	if domain.HasCode(err, domain.CodeWebhookEndpointLimit) {
		return p.sandboxPage(c, pages.StatusOf(err), inboxRefused())
	}
	if err != nil {
		return err
	}
	q := url.Values{"application": {string(app)}, "done": {"inbox-opened"}}
	if delivery := c.Form.Get("delivery"); delivery != "" {
		q.Set("delivery", delivery)
	}
	return c.Lead("/sandbox?" + q.Encode() + "#inbox")
}

// inboxOf returns the inbox of an application. It keeps the inbox open if the person's role may act
// in the sandbox. Others only read.
func (p *Portal) inboxOf(c *call, t domain.Tenant, reload string) (inboxView, error) {
	v := inboxView{Reload: reload, First: webhooks.FirstInboxRows, Most: webhooks.InboxRows}
	if c.Principal.View == nil {
		v.Stream = "/sandbox/inbox?application=" + string(t.ApplicationID)
	}
	inbox, err := p.inboxes.Look(c.Ctx(), t, c.May(domain.ActSimulate))
	if err != nil {
		return v, err
	}
	v.Open = inbox.Open
	if inbox.Open && c.May(domain.ActReadWebhookSecrets) {
		v.Secret = &pages.Code{ID: "inbox-secret", Text: inbox.Secret}
	}
	if c.May(domain.ActManageWebhooks) {
		v.Blank.Check = benchOf(t) + "&received=" // the ID follows
	}
	for i := range inbox.Webhooks {
		row := newInboxRow(&inbox.Webhooks[i])
		if v.Blank.Check != "" {
			row.Check = v.Blank.Check + row.ID
		}
		v.Rows = append(v.Rows, row)
	}
	return v, nil
}

func inboxRefused() *pages.Notice {
	return &pages.Notice{Tone: "warn", Title: "The inbox cannot open", Lines: []string{
		"The application has " + strconv.Itoa(domain.MaxWebhookEndpoints) + " webhook endpoints and listeners in the sandbox, the most " +
			"there may be, and the inbox takes one place while it is open. Delete an endpoint that is not used, then open the inbox again."}}
}

// streamInbox streams the webhooks of an inbox as they arrive. Last-Event-ID, or the query the
// first time, names the last webhook that the browser has. Clients that want no stream are
// redirected to the page.
func (p *Portal) streamInbox(c *call) error {
	if c.Query("application") == "" || c.Principal.View != nil { // views reload the page instead
		return c.Lead("/sandbox")
	}
	app, err := p.Tenants.ApplicationOf(c.Ctx(), c.Business(), domain.ID(c.Query("application")))
	if err != nil {
		return err
	}
	if !c.WantsStream("/sandbox?application=" + string(app.ID)) {
		return nil
	}
	watch := p.inboxes.Watch(domain.Tenant{BusinessID: c.Business(), ApplicationID: app.ID, Environment: domain.Sandbox},
		c.May(domain.ActSimulate))
	defer watch.Close()
	s := &inboxStream{watch: watch, from: seenInbox(c)}
	return p.Stream(c, s.next)
}

// inboxStream is an open stream.
type inboxStream struct {
	watch   *webhooks.InboxWatch
	version int
	from    time.Time // the browser may lack rows from then on
	sent    map[domain.ID]bool
}

// next waits for new webhooks and returns them with the state of the inbox.
func (s *inboxStream) next(ctx context.Context) (string, error) {
	news, err := s.watch.Next(ctx, s.version)
	if err != nil {
		return "", err
	}
	s.version = news.Version
	return s.tell(&news)
}

// seenInbox returns the time from which the browser may lack rows.
func seenInbox(c *call) time.Time {
	text := c.GetHeader("Last-Event-ID")
	if text == "" {
		text = c.Query("seen")
	}
	id, err := domain.ParseID(domain.PrefixWebhookDelivery, text)
	if err != nil {
		return time.Time{}
	}
	return id.MadeAt().Add(-resumeOverlap)
}

// tell returns the events that the browser lacks, oldest first.
func (s *inboxStream) tell(n *webhooks.InboxNews) (string, error) {
	var events strings.Builder
	shown := map[domain.ID]bool{}
	for i := range slices.Backward(n.Webhooks) {
		w := &n.Webhooks[i]
		shown[w.ID] = true
		if s.sent[w.ID] || w.At.Before(s.from) {
			continue
		}
		data, err := json.Marshal(newInboxRow(w))
		if err != nil {
			return "", err
		}
		events.WriteString("id: " + string(w.ID) + "\nevent: webhook\ndata: " + string(data) + "\n\n")
	}
	s.sent = shown // no larger than the inbox
	state := "closed"
	switch {
	case n.Err != nil:
		state = "waits"
	case n.Open:
		state = "open"
	}
	events.WriteString("event: state\ndata: " + state + "\n\n")
	return events.String(), nil
}
