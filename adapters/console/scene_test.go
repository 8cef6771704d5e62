package console_test

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waybill/adapters/console"
	"waybill/adapters/normalizer"
	"waybill/adapters/passkeys"
	"waybill/application/access"
	"waybill/application/audit"
	"waybill/application/people"
	"waybill/application/reports"
	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

const password = "correct horse battery staple"

var operator = domain.AuditActor{Name: "command:test"}

// scene is the console of two processes on one real database, with a customer.
type scene struct {
	*stage.Stage
	directory   *people.Directory
	access      *people.Access
	tenants     *access.Tenants
	audit       *audit.Log
	log         stage.Log
	url, second string // of the processes, with the console's prefix
	portal      string // of the customers

	staff    map[domain.Role]domain.Person
	owner    domain.Person // of the customer
	business domain.Business
	app      domain.Application
	delivery *domain.Delivery
	token    string // of an operator

	services []reports.PriceService // behind prices, of the processes that are served from now on
	refuses  atomic.Bool            // the database counts no work

	providerGone bool // that of the company's accounts

	queue *redis
	hooks *webhooks.Webhooks

	ids     map[string]string // records for the parameters of paths, by the name with its colon
	records []string          // texts that take a session
	mapFile string            // of streets
	tiles   ports.MapTiles    // instead of that file
}

// furnish add to each new scene what pages show: files of tests append to it by init.
var furnish []func(*testing.T, *scene)

// equip give the use cases of a page to each process of a scene.
var equip []func(*testing.T, *scene, *console.UseCases)

// arrange say where a page finds what the console does not have itself.
var arrange []func(*testing.T, *scene, *console.Options)

func newScene(t *testing.T) *scene {
	t.Helper()
	ctx := t.Context()
	s := &scene{Stage: stage.New(t), staff: map[domain.Role]domain.Person{}}
	s.directory = people.NewDirectory(s.Store, s.Clock, s.IDs, false)
	s.tenants = access.NewTenants(s.Store, stage.Digester{}, s.Clock, s.IDs, stage.Unheard{})
	s.access = people.NewAccess(s.Store, stage.PlainHashes{}, stage.Unlimited{}, s.Clock, s.IDs)
	s.audit = audit.New(s.Store, s.Clock, s.IDs)
	for _, role := range domain.Roles(domain.Console) {
		s.staff[role] = s.join(t, "", string(role)+"@waybill.example", "Kofi "+string(role), role).Person
	}
	s.business = must[domain.Business](t)(s.tenants.CreateBusiness(ctx, operator, "Adom Foods", nil))
	s.app = must[domain.Application](t)(s.tenants.CreateApplication(ctx, operator, s.business.ID, "Adom shop"))
	s.owner = s.join(t, s.business.ID, "owner@adom.example", "Adom owner", domain.RoleOwner).Person
	w := sample.BookingWrite(domain.Tenant{BusinessID: s.business.ID, ApplicationID: s.app.ID, Environment: domain.Live},
		func(b *domain.Booking) { b.CreatedAt = s.Clock.Now() })
	if err := s.Store.Book(ctx, w); err != nil {
		t.Fatal(err)
	}
	s.delivery = w.Delivery
	s.token = must[access.IssuedOperatorToken](t)(s.tenants.IssueOperatorToken(ctx, operator, "Dispatch system", domain.OperatorAdmin,
		nil)).Secret
	s.ids = map[string]string{":person": string(s.staff[domain.RoleDispatcher].ID), ":passkey": string(s.IDs.ID(domain.PrefixPasskey)),
		":link": strings.Repeat("x", 43)}
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		return tx.Passkeys.Insert(ctx, domain.Passkey{
			ID: domain.ID(s.ids[":passkey"]), PersonID: s.staff[domain.RoleAdmin].ID, Name: "Old phone", Host: "localhost",
			CredentialID: []byte("credential"), PublicKey: []byte("none"), CreatedAt: s.Clock.Now(),
		})
	})
	s.records = []string{s.business.Name, string(s.business.ID), s.app.Name, string(s.app.ID), s.owner.Name, string(s.owner.Email),
		string(s.delivery.ID), string(s.delivery.Reference)}
	for _, p := range s.staff {
		s.records = append(s.records, p.Name, string(p.Email), string(p.ID))
	}
	for _, add := range furnish {
		add(t, s)
	}
	s.url, s.second = s.serve(t), s.serve(t)
	return s
}

// join makes a person who has signed in once and set a password.
func (s *scene) join(t *testing.T, business domain.ID, email, name string, role domain.Role) people.Entered {
	t.Helper()
	issued := must[people.Issued](t)(s.directory.Invite(t.Context(), operator,
		people.Invitation{BusinessID: business, Email: email, Name: name, Role: string(role)}))
	entered := must[people.Entered](t)(s.access.Enter(t.Context(), people.Browser{}, issued.Secret))
	if err := s.access.SetPassword(t.Context(), entered.Principal, "", password); err != nil {
		t.Fatal(err)
	}
	return entered
}

// serve is the console of one process, which shares nothing with another one but the
// database.
func (s *scene) serve(t *testing.T) string {
	t.Helper()
	access := people.NewAccess(s.Store, stage.PlainHashes{}, stage.Unlimited{}, s.Clock, s.IDs)
	server, at := atLocalhost()
	party := must[*passkeys.Party](t)(passkeys.New(at))
	u := console.UseCases{Access: access, Directory: s.directory, Audit: s.audit, Passkeys: people.NewPasskeys(access, party, stage.Digester{})}
	for _, add := range equip {
		add(t, s, &u)
	}
	normalizer := must[*normalizer.Normalizer](t)(normalizer.New("GH"))
	o := console.Options{BaseURL: at, Log: slog.New(slog.NewTextHandler(&s.log, nil)), Clock: s.Clock, Identifiers: s.IDs, Mails: true,
		Normalizer: normalizer}
	for _, add := range arrange {
		add(t, s, &o)
	}
	start(t, server, console.New(u, o))
	return at + console.Prefix
}

// atLocalhost is a server that has not started, and its address: browsers refuse passkeys at a number.
func atLocalhost() (server *httptest.Server, at string) {
	server = httptest.NewUnstartedServer(nil)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	return server, "http://localhost:" + port
}

// start lets a server serve a site until the test ends.
func start(t *testing.T, server *httptest.Server, site interface {
	Handler() http.Handler
	EndStreams()
}) {
	t.Helper()
	server.Config.Handler = site.Handler()
	server.Start()
	t.Cleanup(func() {
		site.EndStreams()
		server.CloseClientConnections()
		server.Close()
	})
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// wait lets time go by.
func (s *scene) wait(d time.Duration) { s.Clock.GoOn(d) }

// reader is a browser without scripts. Its paths are those behind the prefix.
type reader struct {
	t      *testing.T
	url    string
	client *http.Client
	bearer string
}

// page is an answer.
type page struct {
	status int
	at     string // its path behind the prefix
	body   string
	header http.Header
}

func (s *scene) reader(t *testing.T) *reader {
	jar, _ := cookiejar.New(nil)
	return &reader{t: t, url: s.url, client: &http.Client{Jar: jar}}
}

// signedIn is the browser of a person of the staff.
func (s *scene) signedIn(t *testing.T, role domain.Role) *reader {
	t.Helper()
	r := s.reader(t)
	if p := r.post("/signin", url.Values{"email": {string(s.staff[role].Email)}, "password": {password}}); p.status != http.StatusOK ||
		p.at != "/" {
		t.Fatalf("sign in as %s: %d at %s\n%s", role, p.status, p.at, p.body)
	}
	return r
}

// withCookie is a browser that brings a cookie.
func (s *scene) withCookie(t *testing.T, name, secret string) *reader {
	t.Helper()
	r := s.reader(t)
	r.client.Jar.SetCookies(must[*url.URL](t)(url.Parse(s.url)), []*http.Cookie{{Name: name, Value: secret, Path: "/"}})
	return r
}

func (r *reader) get(path string) page {
	r.t.Helper()
	return r.send(http.MethodGet, path, http.NoBody)
}

func (r *reader) post(path string, form url.Values) page {
	r.t.Helper()
	return r.send(http.MethodPost, path, strings.NewReader(form.Encode()))
}

func (r *reader) send(method, path string, body io.Reader) page {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin") // as browsers do with links and forms of our pages
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if r.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+r.bearer)
	}
	res, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return page{status: res.StatusCode, at: strings.TrimPrefix(res.Request.URL.Path, console.Prefix), body: string(all), header: res.Header}
}

// ask sends a request and follows nowhere.
func (r *reader) ask(method, path string, form url.Values) page {
	r.t.Helper()
	once, client := *r, *r.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	once.client = &client
	if method == http.MethodPost {
		return once.post(path, form)
	}
	return once.get(path)
}

// form is the form whose button has a text that begins so: where it is sent, behind the
// prefix, and its hidden and filled fields.
func (p page) form(t *testing.T, verb string) (to string, fields url.Values) {
	t.Helper()
	for _, f := range stage.Forms(p.body) {
		if f.Has(verb) {
			return cmp.Or(strings.TrimPrefix(f.Action, console.Prefix), p.at), f.Fields
		}
	}
	t.Fatalf("no form with %q at %s (%d):\n%s", verb, p.at, p.status, p.body)
	return "", nil
}
