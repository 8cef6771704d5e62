package portal_test

import (
	"bufio"
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"waybill/adapters/portal"
	"waybill/domain"
)

// stream is an inbox that is open.
type stream struct {
	t      *testing.T
	events chan sse
	close  func()
	status int
}

// sse is a server-sent event.
type sse struct{ id, event, data string }

// open opens the inbox of an application, as far as the role may, and reads its stream at a
// process.
func (r *reader) open(at string, app domain.ID, last string) *stream {
	r.t.Helper()
	r.post("/sandbox/inbox", url.Values{"application": {string(app)}})
	return r.read(at, app, last)
}

// read reads the stream of an inbox.
func (r *reader) read(at string, app domain.ID, last string) *stream {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/sandbox/inbox?application="+string(app), http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", last)
	// Cookies go to a host at any port, but the jar wants it by name.
	own, _ := url.Parse(r.url)
	for _, c := range r.client.Jar.Cookies(own) {
		req.AddCookie(c)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.t.Fatal(err)
	}
	s := &stream{t: r.t, events: make(chan sse, 10_000), close: cancel, status: res.StatusCode}
	r.t.Cleanup(func() { cancel(); res.Body.Close() })
	go func() {
		defer close(s.events)
		lines, now := bufio.NewScanner(res.Body), sse{}
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				now.id = value
			case "event":
				now.event = value
			case "data":
				now.data = value
			case "":
				if now.event != "" {
					s.events <- now
				}
				now = sse{}
			}
		}
	}()
	return s
}

// next is the next event of a kind; the zero one where the stream has ended.
func (s *stream) next(kind string) sse {
	s.t.Helper()
	patience := time.NewTimer(time.Minute)
	defer patience.Stop()
	for {
		select {
		case e, more := <-s.events:
			if !more || e.event == kind {
				return e
			}
		case <-patience.C:
			s.t.Fatalf("no event %q came", kind)
		}
	}
}

// ended waits until the stream has ended, and is what it said last.
func (s *stream) ended() (last sse) {
	s.t.Helper()
	for late := time.After(time.Minute); ; {
		select {
		case e, more := <-s.events:
			if !more {
				return last
			}
			last = e
		case <-late:
			s.t.Fatal("the stream goes on")
		}
	}
}

func TestAnInboxShowsWebhooksAsTheyComeAndAfterAReload(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	live := r.open(s.url, s.house.app.ID, "")
	if e := live.next("state"); e.data != "open" {
		t.Fatalf("%+v", e)
	}
	want := s.happens(t, s.house, "first")
	e := live.next("webhook")
	var row struct {
		ID, Type, Headers, Body string
		Checks                  []string
	}
	if err := json.Unmarshal([]byte(e.data), &row); err != nil || row.ID != e.id ||
		!strings.Contains(row.Headers, "webhook-id: "+string(want)) ||
		!strings.Contains(row.Headers, "webhook-signature: v1,") || !strings.Contains(row.Body, `"what":"first"`) || len(row.Checks) != 4 {
		t.Fatalf("%v: %+v", err, e)
	}
	p := r.get("/sandbox?application=" + string(s.house.app.ID)) // without a script
	if !strings.Contains(p.body, `data-check href="/webhooks/verify`) {
		t.Error("a webhook does not lead to the check of signatures")
	}
	if !strings.Contains(p.body, `data-id="`+row.ID+`"`) || !strings.Contains(p.body, "&#34;what&#34;:&#34;first&#34;") {
		t.Error("a page that is loaded anew does not have it")
	}
	viewer := s.signedIn(t, s.house, domain.RoleViewer).open(s.url, s.house.app.ID, "")
	if e := viewer.next("webhook"); e.id != row.ID {
		t.Errorf("a viewer reads along: %+v", e)
	}
}

// What the browser has is not sent again, beyond a margin; what came meanwhile is, by
// whichever process the browser comes back to.
func TestAnInboxGoesOnAtAnotherProcess(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	here := r.open(s.url, s.house.app.ID, "")
	here.next("state")
	s.happens(t, s.house, "one")
	one := here.next("webhook")
	if err := s.processes[0].portal.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	here.ended()
	s.happens(t, s.house, "two")
	there := r.open(s.second, s.house.app.ID, one.id)
	for {
		e := there.next("webhook")
		if strings.Contains(e.data, `\"what\":\"two\"`) {
			break
		}
		if e.event == "" {
			t.Fatal("it ended without the second one")
		}
	}
}

func TestAnInboxHasNoEventOfAnotherBusiness(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	mine, theirs := s.signedIn(t, s.house, domain.RoleOwner), s.signedIn(t, s.other, domain.RoleOwner)
	open, other := mine.open(s.url, s.house.app.ID, ""), theirs.open(s.url, s.other.app.ID, "")
	open.next("state")
	other.next("state")
	for range 3 {
		s.happens(t, s.other, "theirs")
		s.happens(t, s.house, "mine")
	}
	for range 3 {
		if e := other.next("webhook"); strings.Contains(e.data, string(s.house.business.ID)) {
			t.Errorf("the inbox of another business has %s", e.data)
		}
		if e := open.next("webhook"); strings.Contains(e.data, string(s.other.business.ID)) {
			t.Errorf("the inbox has an event of another business: %s", e.data)
		}
	}
	if foreign := mine.open(s.url, s.other.app.ID, ""); foreign.status != http.StatusNotFound {
		t.Errorf("the inbox of another business answers %d", foreign.status)
	}
}

func TestAnInboxEndsWithItsSession(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	open := r.open(s.second, s.house.app.ID, "") // another process than the one that ends it
	open.next("state")
	r.post("/signout", nil)
	if last := open.ended(); last.event != "end" || last.data != "session" {
		t.Errorf("it ends with %+v", last)
	}
}

var inboxSecret = regexp.MustCompile(`id="inbox-secret"[^>]*>(whsec_[^<]+)<`)

// The secret that the page shows is the one that has signed, and the checker knows it.
func TestAWebhookOfTheInboxIsVerifiedWithTheSecretThatThePageShows(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	page := "/sandbox?application=" + string(s.house.app.ID)
	r.post("/sandbox/inbox", s.ofApp())
	s.happens(t, s.house, "to be checked")
	p := r.get(page)
	shown := inboxSecret.FindStringSubmatch(p.body)
	check := regexp.MustCompile(`data-check href="([^"]+_[^"]+)"`).FindStringSubmatch(p.body)
	if shown == nil || check == nil || strings.Contains(check[1], "whsec_") || strings.Contains(p.body, "secret of the endpoint") {
		t.Fatalf("no secret, or no link without one: %q, %q", shown, check)
	}
	s.wait(10 * time.Minute) // the row is judged by when it came
	p = r.get(html.UnescapeString(check[1]))
	if !strings.Contains(p.body, "to be checked") || strings.Contains(p.body, "whsec_") {
		t.Fatalf("the checker is not filled in, or has the secret: %d\n%s", p.status, p.body)
	}
	action, form := p.form(t, "Check signature")
	if !strings.Contains(p.body, `<option value="inbox" selected>`) {
		t.Error("the inbox is not chosen")
	}
	form.Set("endpoint", "inbox")
	for _, area := range regexp.MustCompile(`<textarea id="(headers|body)"[^>]*>\n([^<]*)</textarea>`).FindAllStringSubmatch(p.body, -1) {
		form.Set(area[1], html.UnescapeString(area[2]))
	}
	if p = r.post(action, form); !strings.Contains(p.body, "The signature verifies") ||
		!strings.Contains(p.body, "The secret of the inbox and other listeners in the sandbox has signed it.") {
		t.Errorf("with the inbox chosen: %d\n%s", p.status, p.body)
	}
	form.Del("endpoint")
	form.Set("secret", html.UnescapeString(shown[1]))
	if p = r.post(action, form); !strings.Contains(p.body, "The signature verifies") {
		t.Errorf("with the secret pasted: %d\n%s", p.status, p.body)
	}
	form.Set("secret", domain.FormatSigningSecret(make([]byte, domain.SigningSecretBytes)))
	if p = r.post(action, form); !strings.Contains(p.body, "Wrong secret: this was signed with the secret of the inbox") {
		t.Errorf("another secret: %d\n%s", p.status, p.body)
	}
	p = s.signedIn(t, s.house, domain.RoleViewer).get(page)
	if strings.Contains(p.body, "whsec_") || strings.Contains(p.body, "Check this one") || !strings.Contains(p.body, "to be checked") {
		t.Error("a viewer sees the secret, or is offered a check, or sees no webhook")
	}
}

func TestARowOfTheInboxIsCalledByTheReferenceOfItsDelivery(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"id":"evt_1","data":{"delivery":{"id":"dlv_1","reference":"7K3M-QX8P-2VTD"}}}`: "7K3M-QX8P-2VTD", `{"id":"evt_1"}`: "dlv_1", "": "dlv_1",
	} {
		if got := portal.ReferenceIn([]byte(body), "dlv_1"); got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
}
