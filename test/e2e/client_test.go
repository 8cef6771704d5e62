package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"waybill/test/contract"
)

// client calls one environment of a server with one key.
type client struct {
	t       testing.TB
	s       *server
	env     string
	key     string
	app     string // whose key it is
	address string // the client's address, as a proxy tells it
	http    *http.Client
}

// answer is a response with its body read.
type answer struct {
	t      testing.TB
	what   string // was asked for
	status int
	header http.Header
	body   []byte
	tree   any // of the body, when that is JSON
}

// option changes a request before it is sent.
type option func(*http.Request)

// with sets a header.
func with(name, value string) option {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// idem sets the Idempotency-Key.
func idem(key string) option { return with("Idempotency-Key", key) }

// within gives up on the answer after a time.
func within(ctx context.Context) option {
	return func(r *http.Request) { *r = *r.WithContext(ctx) }
}

// newClient calls with a key that exists already.
func (s *server) newClient(t testing.TB, env, secret string) *client {
	t.Helper()
	return s.clientOf(t, contract.Load(t), env, secret)
}

// clientOf holds every answer against the description of its API.
func (s *server) clientOf(t testing.TB, doc *contract.Document, env, secret string) *client {
	t.Helper()
	return &client{
		t: t, s: s, env: env, key: secret, address: newAddress(),
		http: &http.Client{
			Transport:     doc.Transport(s.connections, func(err error) { t.Error(err) }),
			Timeout:       patience,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// caller is an application of its own in the business of the test, with a key of all
// scopes.
func (s *server) caller(t testing.TB, env string) *client {
	t.Helper()
	return s.appCaller(t, s.commonBusiness(t), env)
}

// loner is a business of its own.
func (s *server) loner(t testing.TB, env string) *client {
	t.Helper()
	return s.appCaller(t, s.newBusiness(t), env)
}

func (s *server) appCaller(t testing.TB, business, env string) *client {
	t.Helper()
	app := s.newApp(t, business)
	c := s.newClient(t, env, s.newKey(t, app, env, "all").secret)
	c.app = app
	return c
}

// in is the same application in the other environment, or with another key.
func (c *client) in(env string) *client {
	c.t.Helper()
	other := c.s.newClient(c.t, env, c.s.newKey(c.t, c.app, env, "all").secret)
	other.app = c.app
	return other
}

// commonBusiness is the one that all parts of a test share. A business has too few
// applications for all tests.
func (s *server) commonBusiness(t testing.TB) string {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	s.making.Lock()
	defer s.making.Unlock()
	if s.businesses[test] == "" {
		s.businesses[test] = s.newBusiness(t)
	}
	return s.businesses[test]
}

// withKey is the same client with another key; empty: none.
func (c *client) withKey(secret string) *client {
	other := *c
	other.key = secret
	return &other
}

// send makes a request. The body is nil, the text of one, or what is to be
// written as JSON.
func (c *client) send(method, path string, body any, options ...option) *answer {
	c.t.Helper()
	a, err := c.try(method, path, body, options...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// try is send for requests that may get no answer. It may be called from
// several goroutines.
func (c *client) try(method, path string, body any, options ...option) (*answer, error) {
	req := c.request(method, path, body, options...)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	a := &answer{t: c.t, what: method + " " + path, status: res.StatusCode, header: res.Header}
	if a.body, err = io.ReadAll(res.Body); err != nil {
		return nil, err
	}
	a.tree = parse(a.body)
	if _, ours := a.lookup("success"); ours { // and not the description of the API
		c.s.hideFields(a.tree)
	}
	return a, nil
}

func (c *client) request(method, path string, body any, options ...option) *http.Request {
	var content []byte
	switch b := body.(type) {
	case nil:
	case string:
		content = []byte(b)
	case []byte:
		content = b
	default:
		var err error
		if content, err = json.Marshal(b); err != nil {
			panic(err)
		}
	}
	req, err := http.NewRequest(method, c.s.base(c.env)+path, bytes.NewReader(content))
	if err != nil {
		panic(err)
	}
	if body == nil {
		req.Body = http.NoBody
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	req.Header.Set("X-Forwarded-For", c.address)
	for _, o := range options {
		o(req)
	}
	c.s.hideFields(parse(content))
	c.s.hide(req.Header.Get("Idempotency-Key"), req.URL.Query().Get("cursor"), req.URL.Query().Get("search"))
	return req
}

func (c *client) get(path string, options ...option) *answer {
	c.t.Helper()
	return c.send(http.MethodGet, path, nil, options...)
}

// post sends with a fresh Idempotency-Key, unless an option sets another.
func (c *client) post(path string, body any, options ...option) *answer {
	c.t.Helper()
	return c.send(http.MethodPost, path, body, append([]option{idem(newKeyText())}, options...)...)
}

func parse(body []byte) any {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var tree any
	if d.Decode(&tree) != nil {
		return nil
	}
	return tree
}

// is checks the status.
func (a *answer) is(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s answered %d, want %d: %s", a.what, a.status, status, a.body)
	}
	return a
}

// refused checks the status and the code of an error.
func (a *answer) refused(status int, code string) *answer {
	a.t.Helper()
	if a.status != status || a.text("error.code") != code {
		a.t.Fatalf("%s answered %d, want %d %s: %s", a.what, a.status, status, code, a.body)
	}
	return a
}

// invalid checks that exactly these fields are refused, each as "field code".
func (a *answer) invalid(want ...string) *answer {
	a.t.Helper()
	a.refused(http.StatusUnprocessableEntity, "VALIDATION_ERROR")
	var got []string
	for i := range a.count("error.details.fields") {
		at := "error.details.fields." + strconv.Itoa(i)
		got = append(got, a.text(at+".field")+" "+a.text(at+".code"))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		a.t.Errorf("%s refused %q, want %q", a.what, got, want)
	}
	return a
}

// replayed checks that the answer is a stored one, or is not.
func (a *answer) replayed(want bool) *answer {
	a.t.Helper()
	if got := a.header.Get("Idempotent-Replayed"); got == "true" != want || got != "" && got != "true" {
		a.t.Errorf("%s: Idempotent-Replayed is %q, want replayed: %t", a.what, got, want)
	}
	return a
}

// lookup finds a value by its path, such as data.0.recipient.id.
func (a *answer) lookup(path string) (any, bool) {
	at := a.tree
	for name := range strings.SplitSeq(path, ".") {
		switch v := at.(type) {
		case m:
			inner, ok := v[name]
			if !ok {
				return nil, false
			}
			at = inner
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// text is a value as text: numbers as they were written, null as "null", and
// "" for what is not there.
func (a *answer) text(path string) string {
	value, ok := a.lookup(path)
	switch v := value.(type) {
	case string:
		return v
	case nil:
		if !ok {
			return ""
		}
		return "null"
	default:
		return fmt.Sprint(v)
	}
}

// has checks values by their paths, given in turn.
func (a *answer) has(pairs ...string) *answer {
	a.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := a.text(pairs[i]); got != pairs[i+1] {
			a.t.Errorf("%s: %s is %q, want %q in %s", a.what, pairs[i], got, pairs[i+1], a.body)
		}
	}
	return a
}

// lacks checks that nothing is there.
func (a *answer) lacks(paths ...string) *answer {
	a.t.Helper()
	for _, path := range paths {
		if _, ok := a.lookup(path); ok {
			a.t.Errorf("%s: %s should not be in %s", a.what, path, a.body)
		}
	}
	return a
}

func (a *answer) count(path string) int {
	value, _ := a.lookup(path)
	list, _ := value.([]any)
	return len(list)
}

// id is the ID of the record in the answer.
func (a *answer) id() string { return a.text("data.id") }

// ids are those of the records of a list.
func (a *answer) ids() []string {
	var ids []string
	for i := range a.count("data") {
		ids = append(ids, a.text("data."+strconv.Itoa(i)+".id"))
	}
	return ids
}

var numbers atomic.Uint32

// newAddress is a client address that no other test has.
func newAddress() string {
	n := numbers.Add(1)
	return fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)
}

// newKeyText is an unused Idempotency-Key.
func newKeyText() string { return fmt.Sprintf("idem-%016x", rand.Uint64()) }

// newPhone is the number of no known recipient.
func newPhone() string { return fmt.Sprintf("+23324%07d", phones.Add(1)%10_000_000) }

// phones are drawn one after the other: of thousands at random two are the same.
var phones = func() *atomic.Int64 {
	first := new(atomic.Int64)
	first.Store(rand.Int64N(10_000_000))
	return first
}()

// newExternalID is an unused order number.
func newExternalID() string { return fmt.Sprintf("order-%012x", rand.Uint64()&0xffffffffffff) }

func escaped(values ...string) string {
	query := url.Values{}
	for i := 0; i < len(values); i += 2 {
		query.Set(values[i], values[i+1])
	}
	return "?" + query.Encode()
}

// hang sends the beginning of a request and keeps it waiting until released.
func (c *client) hang(release <-chan struct{}) {
	base, err := url.Parse(c.s.base(c.env))
	if err != nil {
		c.t.Error(err)
		return
	}
	conn, err := net.Dial("tcp", base.Host)
	if err != nil {
		c.t.Error(err)
		return
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "POST /v1/quotes HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{",
		base.Host, c.key); err != nil {
		c.t.Error(err)
	}
	<-release
}
