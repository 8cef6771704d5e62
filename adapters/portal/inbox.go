package portal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"waybill/adapters/pages"
	"waybill/application/webhooks"
	"waybill/domain"
)

// The pace of a stream. It ends after streamLife in any case, and the browser opens
// another one.
const (
	checkEvery     = time.Second // whether the session goes on: a revoked one is out within 2 s
	heartbeat      = 15 * time.Second
	streamWrite    = 10 * time.Second // a reader that takes nothing for so long is gone
	reconnectAfter = 2 * time.Second
	streamLife     = time.Hour
	// resumeOverlap is how far before the last row that a browser has a stream goes on:
	// of two events the later one may come first. Browsers pass over what they have.
	resumeOverlap = 10 * time.Second
)

const eventStream = "text/event-stream"

// inboxView is the inbox beside the sandbox. A reader without JavaScript reloads it.
type inboxView struct {
	Notice *pages.Notice
	Open   bool
	Secret *pages.Code // that signs them; nil: not for this person, or closed
	Stream string      // where a script goes on; empty: there is no application
	Reload string
	First  int // rows of the page as it is loaded
	Most   int // with those that come to it
	Rows   []inboxRow
	Blank  inboxRow // of which a script makes new ones
}

// inboxRow is a webhook of an inbox, as the page and the script show it.
type inboxRow struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Delivery string `json:"delivery"`
	// Reference is that of the delivery, as its event says it.
	Reference string   `json:"reference"`
	At        string   `json:"at"` // RFC 3339
	Headers   string   `json:"headers"`
	Body      string   `json:"body"`
	Checks    []string `json:"checks"`
	Check     string   `json:"-"` // the page that checks it; empty: not for this person
}

// Time is when the webhook was made.
func (r inboxRow) Time() time.Time {
	at, _ := time.Parse(time.RFC3339, r.At) // zero in a blank row
	return at
}

// referenceIn is the reference of the delivery that a webhook is about, as its body says it,
// or else its ID.
func referenceIn(body []byte, delivery domain.ID) string {
	var event struct {
		Data struct {
			Delivery struct {
				Reference string `json:"reference"`
			} `json:"delivery"`
		} `json:"data"`
	}
	_ = json.Unmarshal(body, &event) // an event of an endpoint has none
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
		Body: string(w.Body),
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

// inboxOf is the inbox of an application of the business. A person whose role may act in the
// sandbox keeps it open by looking; others read along.
func (p *Portal) inboxOf(c *call, t domain.Tenant, reload string) (inboxView, error) {
	v := inboxView{Stream: "/sandbox/inbox?application=" + string(t.ApplicationID), Reload: reload, First: webhooks.FirstInboxRows,
		Most: webhooks.InboxRows}
	// Opening one takes a place among the endpoints, which no other site and no prefetching
	// decides over: browsers say where a visit comes from. HEAD opens nothing.
	came := c.GetHeader("Sec-Fetch-Site")
	asked := c.Request.Method != http.MethodHead && slices.Contains([]string{"", "none", "same-origin"}, came)
	inbox, err := p.inboxes.Look(c.ctx(), t, asked && c.may(domain.ActSimulate))
	if domain.HasCode(err, domain.CodeWebhookEndpointLimit) {
		v.Notice = inboxRefused()
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.Open = inbox.Open
	if inbox.Open && c.may(domain.ActReadWebhookSecrets) {
		v.Secret = &pages.Code{ID: "inbox-secret", Text: inbox.Secret}
	}
	if c.may(domain.ActManageWebhooks) {
		v.Blank.Check = benchOf(t) + "&received=" // and its ID
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
	return &pages.Notice{Tone: "warn", Title: "There is no place for the inbox", Lines: []string{
		"The application has " + strconv.Itoa(domain.MaxWebhookEndpoints) + " webhook endpoints and listeners in the sandbox, the most " +
			"there may be, and the inbox takes one place while it is open. Delete an endpoint that is not used, and load this page again."}}
}

// streamInbox tells of the webhooks of an inbox as they come. What the browser has seen
// stands in Last-Event-ID or, at the first time, in the query. A reader that wants no
// stream is led to the page.
func (p *Portal) streamInbox(c *call) error {
	if c.Query("application") == "" {
		return c.lead("/sandbox")
	}
	app, err := p.Tenants.ApplicationOf(c.ctx(), c.business(), domain.ID(c.Query("application")))
	if err != nil {
		return err
	}
	if c.Request.Method == http.MethodHead { // it ends at once, and takes no place
		c.Header("Content-Type", eventStream+"; charset=utf-8")
		return nil
	}
	if c.GetHeader("Accept") != eventStream {
		return c.lead("/sandbox?application=" + string(app.ID))
	}
	place, err := p.streams.enter(c.principal.Session.ID, c.principal.Person.ID)
	if err != nil {
		c.Header("Retry-After", "30")
		return err
	}
	defer place.leave()
	cookie, err := c.Request.Cookie(p.cookieName())
	if err != nil {
		return domain.SessionEnded()
	}
	watch := p.inboxes.Watch(domain.Tenant{BusinessID: c.business(), ApplicationID: app.ID, Environment: domain.Sandbox},
		c.may(domain.ActSimulate))
	defer watch.Close()
	ctx, cancel := context.WithTimeout(c.open, streamLife)
	defer cancel()
	s := &inboxStream{portal: p, call: c, secret: cookie.Value, watch: watch, place: place,
		control: http.NewResponseController(c.Writer)}
	s.run(ctx)
	// The end is written too, and the last time may have been a while ago.
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWrite))
	return nil
}

// inboxStream is one that is open.
type inboxStream struct {
	portal  *Portal
	call    *call
	secret  string // of the session
	watch   *webhooks.InboxWatch
	place   *stream
	control *http.ResponseController
	sent    map[domain.ID]bool
}

// run ends when the reader, the session or the server does; each of them shows as an error
// of what is done next, and there is no reader to tell.
func (s *inboxStream) run(ctx context.Context) {
	h := s.call.Writer.Header()
	h.Set("Content-Type", eventStream+"; charset=utf-8")
	h.Set("X-Accel-Buffering", "no") // proxies pass it on at once
	if s.write("retry: "+strconv.FormatInt(reconnectAfter.Milliseconds(), 10)+"\n\n") != nil {
		return
	}
	news := make(chan webhooks.InboxNews)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for version := 0; ; {
			next, err := s.watch.Next(ctx, version)
			if err != nil {
				return
			}
			version = next.Version
			select {
			case news <- next:
			case <-ctx.Done():
				return
			}
		}
	}()
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	from := s.seen()
	for {
		var err error
		select {
		case next := <-news:
			err = s.tell(&next, from)
		case <-beat.C:
			err = s.write(": still here\n\n")
		case <-check.C:
			if !s.allowed(ctx) {
				_ = s.write("event: end\ndata: session\n\n") // the reader may have gone
				return
			}
		case <-s.place.displaced:
			_ = s.write("event: end\ndata: displaced\n\n")
			return
		case <-s.portal.streams.closing:
			return // the browser comes again, to another process
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// seen is from when on the browser lacks rows.
func (s *inboxStream) seen() time.Time {
	text := s.call.GetHeader("Last-Event-ID")
	if text == "" {
		text = s.call.Query("seen")
	}
	id, err := domain.ParseID(domain.PrefixWebhookDelivery, text)
	if err != nil {
		return time.Time{}
	}
	return id.MadeAt().Add(-resumeOverlap)
}

// allowed asks whether the session goes on, in the same business. It does not count as
// a sign of life: a page that is left open ends with the session it was opened in.
func (s *inboxStream) allowed(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, checkEvery)
	defer cancel()
	now, err := s.portal.Access.Follow(ctx, domain.Portal, s.secret)
	return err == nil && now.Session.BusinessID == s.call.business() && now.Role == s.call.principal.Role
}

// tell sends what the browser lacks, oldest first.
func (s *inboxStream) tell(n *webhooks.InboxNews, from time.Time) error {
	shown := map[domain.ID]bool{}
	for i := range slices.Backward(n.Webhooks) {
		w := &n.Webhooks[i]
		shown[w.ID] = true
		if s.sent[w.ID] || w.At.Before(from) {
			continue
		}
		data, err := json.Marshal(newInboxRow(w))
		if err != nil {
			return err
		}
		if err := s.write("id: " + string(w.ID) + "\nevent: webhook\ndata: " + string(data) + "\n\n"); err != nil {
			return err
		}
	}
	s.sent = shown // no more than the inbox itself has
	state := "closed"
	switch {
	case domain.HasCode(n.Err, domain.CodeWebhookEndpointLimit):
		state = "full"
	case n.Err != nil:
		state = "waits"
	case n.Open:
		state = "open"
	}
	return s.write("event: state\ndata: " + state + "\n\n")
}

func (s *inboxStream) write(text string) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.call.Writer.WriteString(text); err != nil {
		return err
	}
	return s.control.Flush()
}
