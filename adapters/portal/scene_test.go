package portal_test

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
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"waybill/adapters/httpapi"
	"waybill/adapters/pages"
	"waybill/adapters/passkeys"
	"waybill/adapters/portal"
	"waybill/application/access"
	"waybill/application/audit"
	"waybill/application/deliveries"
	"waybill/application/monitoring"
	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

const password = "correct horse battery staple"

var operator = domain.AuditActor{Name: "command:test"}

// guard is a limiter that may refuse everybody, beside passwords that may be busy.
type guard struct {
	stage.Unlimited
	stage.PlainHashes
	limits, hashes atomic.Bool
	pages          atomic.Bool       // refuse those who read pages, whom limits lets in
	counts         ports.RateLimiter // nil: all are let in
}

func (g *guard) Take(ctx context.Context, buckets ...ports.Bucket) (ports.Allowance, error) {
	if g.counts != nil {
		return g.counts.Take(ctx, buckets...)
	}
	refuses := &g.limits
	if buckets[0].Scope == "pages" {
		refuses = &g.pages
	}
	return ports.Allowance{Admitted: !refuses.Load(), RetryAfter: time.Minute}, nil
}

func (g *guard) Verify(ctx context.Context, c ports.Caller, hash, password string) (matches, outdated bool, err error) {
	if g.hashes.Load() {
		return false, false, ports.ErrPasswordsBusy
	}
	return g.PlainHashes.Verify(ctx, c, hash, password)
}

// scene is the portal of two processes on one real database.
type scene struct {
	*stage.Stage
	directory    *people.Directory
	access       *people.Access
	tenants      *access.Tenants
	audit        *audit.Log
	storage      *breakable
	log          stage.Log
	guard        guard
	rates        *counting // of the API
	busy         busyKeys
	url, second  string
	house, other house
	metrics      *prometheus.Registry // of the first process
	endRefusals  func()               // of the first process: those that were handed over are kept then

	processes []process
}

// breakable is a storage that may go away, or its request log alone.
type breakable struct {
	ports.Storage
	mu       sync.Mutex
	gone     bool
	unlogged error // of all that reads the request log; nil: it is there
}

func (b *breakable) breakLog(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unlogged = err
}

// noLog is a request log that cannot be read.
type noLog struct {
	ports.RequestReader // of which no page of the portal uses the rest
	err                 error
}

func (l noLog) List(context.Context, domain.RequestFilter, domain.PageRequest) ([]domain.RequestRecord, error) {
	return nil, l.err
}

func (l noLog) Get(context.Context, domain.ID, domain.ID) (domain.RequestRecord, error) {
	return domain.RequestRecord{}, l.err
}
func (l noLog) Usage(context.Context, domain.UsageQuery) ([]domain.Usage, error) { return nil, l.err }

func (b *breakable) breakDown(gone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone = gone
}

func (b *breakable) broken() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gone
}

// goneSessions are those of a database that is gone.
type goneSessions struct{ ports.SessionReader }

func (goneSessions) FindByDigest(context.Context, [32]byte) (domain.Principal, error) {
	return domain.Principal{}, ports.ErrStorageGone
}

func (b *breakable) Read() ports.Readers {
	r := b.Storage.Read()
	if b.broken() {
		r.Sessions = goneSessions{r.Sessions}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unlogged != nil {
		r.Requests = noLog{err: b.unlogged}
	}
	return r
}

// house is a business with an application, a key in each environment and people.
type house struct {
	business domain.Business
	app      domain.Application
	key      map[domain.Environment]tenancyKey
	people   map[domain.Role]domain.Person
	session  domain.ID // one that the owner keeps elsewhere
	request  domain.ID // one that failed
	delivery domain.ID // that it was about
	passkey  domain.ID // the owner's
	pickup   map[domain.Environment]domain.ID
	endpoint domain.WebhookEndpoint // of the sandbox
	sent     domain.ID              // a webhook for it that has failed
}

type tenancyKey = access.IssuedKey

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{Stage: stage.New(t)}
	s.busy.Bookings = s.Store
	s.storage, s.rates = &breakable{Storage: s.Store}, &counting{now: s.Clock.Now, taken: map[string][]time.Time{}}
	s.directory = people.NewDirectory(s.storage, s.Clock, s.IDs, false)
	s.tenants = access.NewTenants(s.storage, stage.Digester{}, s.Clock, s.IDs, stage.Unheard{})
	s.access = people.NewAccess(s.storage, &s.guard, &s.guard, s.Clock, s.IDs)
	s.audit = audit.New(s.storage, s.Clock, s.IDs)
	s.url, s.second = s.serve(t), s.serve(t)
	s.house, s.other = s.newHouse(t, "Adom Foods", "adom"), s.newHouse(t, "Zongo Traders", "zongo")
	return s
}

// serve is the portal of one process, which shares nothing with another one but the
// database.
func (s *scene) serve(t *testing.T) string {
	t.Helper()
	return s.serveAt(t, "localhost") // browsers refuse passkeys at a number
}

func (s *scene) serveAt(t *testing.T, host string) string {
	t.Helper()
	access := people.NewAccess(s.storage, &s.guard, &s.guard, s.Clock, s.IDs)
	server := httptest.NewUnstartedServer(nil)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	at := "http://" + net.JoinHostPort(host, port)
	party := must[*passkeys.Party](t)(passkeys.New(at))
	u := portal.UseCases{Access: access, Passkeys: people.NewPasskeys(access, party, stage.Digester{}), Directory: s.directory,
		Tenants: s.tenants, Audit: s.audit, Requests: monitoring.NewRequests(s.storage, s.Clock),
		Handling:  deliveries.NewHandling(s.storage, s.Clock, s.IDs, stage.Renderer{}),
		Endpoints: s.endpoints(), Readiness: monitoring.NewReadiness(s.storage, s.Clock)}
	s.playground(t, &u)
	refusals, end := people.NewRefusals(s.storage, s.Clock, s.IDs, slog.New(slog.NewTextHandler(&s.log, nil)))
	u.Refusals = refusals
	registry := prometheus.NewRegistry()
	if s.metrics == nil {
		s.metrics, s.endRefusals = registry, sync.OnceFunc(end)
		end = s.endRefusals
	}
	t.Cleanup(end)
	p := portal.New(u, portal.Options{
		ReadOrder: sandboxAPI(t).ReadOrder, ForcedErrors: httpapi.ForcedErrors(),
		BaseURL: at, LiveBaseURL: "http://live.example/v1", SandboxBaseURL: "http://sandbox.example/v1", DocsURL: "http://sandbox.example/docs",
		TrackingBaseURL: "http://live.example/track",
		Normalizer:      numbers{},
		Log:             slog.New(slog.NewTextHandler(&s.log, nil)), Clock: s.Clock, Identifiers: s.IDs, Mails: true, Operations: operations,
		RequestLog: pages.RequestLog{Mode: monitoring.LogAll, Keeping: domain.RequestLogKeeping{Successes: 3 * 24 * time.Hour,
			Failures: 30 * 24 * time.Hour}},
		Metrics: pages.NewMetrics(registry),
		PerKey:  domain.RateLimit{Limit: 600, Window: time.Minute}, PerBusiness: domain.RateLimit{Limit: 1200, Window: time.Minute},
	})
	server.Config.Handler = p.Handler()
	server.Start()
	t.Cleanup(func() {
		_ = p.Shutdown(context.Background()) // ends the streams
		server.CloseClientConnections()
		server.Close()
	})
	s.processes = append(s.processes, process{portal: p, server: server})
	return at
}

// counted are the metrics of the first process.
func (s *scene) counted(t *testing.T) string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(s.metrics, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	return w.Body.String()
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

func (s *scene) newHouse(t *testing.T, name, word string) house {
	t.Helper()
	ctx := t.Context()
	h := house{key: map[domain.Environment]tenancyKey{}, people: map[domain.Role]domain.Person{}}
	h.business = must[domain.Business](t)(s.tenants.CreateBusiness(ctx, operator, name, nil))
	h.app = must[domain.Application](t)(s.tenants.CreateApplication(ctx, operator, h.business.ID, name+" shop"))
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		h.key[e] = must[tenancyKey](t)(s.tenants.IssueKey(ctx, operator, h.app.ID, e, domain.AllScopes(), nil))
	}
	for _, role := range domain.Roles(domain.Portal) {
		issued := must[people.Issued](t)(s.directory.Invite(ctx, operator, people.Invitation{
			BusinessID: h.business.ID, Email: string(role) + "@" + word + ".example", Name: word + " " + string(role), Role: string(role),
		}))
		h.people[role] = issued.Member.Person
		entered := must[people.Entered](t)(s.access.Enter(ctx, people.Browser{}, issued.Secret))
		if err := s.access.SetPassword(ctx, entered.Principal, "", password); err != nil {
			t.Fatal(err)
		}
		if role == domain.RoleOwner {
			h.session, h.passkey = entered.Session.ID, s.IDs.ID(domain.PrefixPasskey)
			s.Write(t, func(ctx context.Context, tx ports.Stores) error {
				return tx.Passkeys.Insert(ctx, domain.Passkey{
					ID: h.passkey, PersonID: entered.Person.ID, Name: "Old phone", Host: "localhost", CredentialID: []byte(h.passkey),
					PublicKey: []byte("none"), CreatedAt: s.Clock.Now(),
				})
			})
		}
	}
	h.pickup = map[domain.Environment]domain.ID{domain.Live: s.placed(t, h, domain.Live, "Main depot"),
		domain.Sandbox: s.placed(t, h, domain.Sandbox, "Main depot")}
	h.delivery = s.booked(t, h, domain.Sandbox)
	h.endpoint, h.sent = s.newEndpoint(t, h, "https://hooks."+word+".example/in?token="+word+"-s3same")
	h.request = s.called(t, h, sandboxCall, refused, func(r *domain.RequestRecord) { r.DeliveryID = h.delivery })
	return h
}

// reader is a browser without scripts.
type reader struct {
	t      *testing.T
	url    string
	client *http.Client
}

// page is an answer.
type page struct {
	status   int
	at       string // its path
	fragment string // the part of the page that the browser scrolls to
	body     string
	header   http.Header
}

func (s *scene) reader(t *testing.T) *reader {
	jar, _ := cookiejar.New(nil)
	return &reader{t: t, url: s.url, client: &http.Client{Jar: jar}}
}

// signedIn is the browser of a person with a role.
func (s *scene) signedIn(t *testing.T, h house, role domain.Role) *reader {
	t.Helper()
	r := s.reader(t)
	if p := r.post("/signin", url.Values{"email": {string(h.people[role].Email)}, "password": {password}}); p.status != http.StatusOK ||
		p.at != "/" {
		t.Fatalf("sign in as %s: %d at %s\n%s", role, p.status, p.at, p.body)
	}
	return r
}

func (r *reader) get(path string) page {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+path, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.do(req)
}

func (r *reader) post(path string, form url.Values) page {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r.do(req)
}

func (r *reader) do(req *http.Request) page {
	r.t.Helper()
	res, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return page{status: res.StatusCode, at: res.Request.URL.Path, fragment: res.Request.URL.Fragment, body: string(body), header: res.Header}
}

// form is the form whose button has a text that begins so: where it is sent and its
// hidden and filled fields.
func (p page) form(t *testing.T, verb string) (to string, fields url.Values) {
	t.Helper()
	for _, f := range stage.Forms(p.body) {
		if f.Has(verb) {
			return cmp.Or(f.Action, p.at), f.Fields
		}
	}
	t.Fatalf("no form with %q at %s (%d):\n%s", verb, p.at, p.status, p.body)
	return "", nil
}

var secretTag = regexp.MustCompile(`<output[^>]*data-secret[^>]*>([^<]*)</output>`)

// secret is what the page shows once; empty: nothing.
func (p page) secret() string {
	if m := secretTag.FindStringSubmatch(p.body); m != nil {
		return m[1]
	}
	return ""
}

func (h house) keysPath(e domain.Environment) string {
	return "/apps/" + string(h.app.ID) + "/" + string(e) + "/keys"
}

// wait lets time go by.
func (s *scene) wait(d time.Duration) { s.Clock.GoOn(d) }
