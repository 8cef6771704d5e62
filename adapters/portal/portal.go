package portal

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"waybill/adapters/pages"
	"waybill/adapters/web"
	"waybill/adapters/web/connections"
	"waybill/application/admission"
	"waybill/application/audit"
	"waybill/application/deliveries"
	"waybill/application/endpoints"
	"waybill/application/handling"
	"waybill/application/people"
	"waybill/application/pickuplocations"
	"waybill/application/readiness"
	"waybill/application/requestlog"
	"waybill/application/tenancy"
	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
)

// How long a page waits for the database, and a form.
const (
	readTimeout  = 3 * time.Second
	writeTimeout = 8 * time.Second
	maxForm      = 64 << 10
)

//go:embed html
var files embed.FS

// UseCases are what the pages show and do.
type UseCases struct {
	Access          *people.Access
	Passkeys        *people.Passkeys
	Directory       *people.Directory
	Tenants         *tenancy.Tenants
	Audit           *audit.Log
	Handling        *handling.Handling
	Requests        *requestlog.Requests
	PickupLocations *pickuplocations.PickupLocations
	Endpoints       *endpoints.Endpoints
	Readiness       *readiness.Readiness

	// Of the sandbox.
	Deliveries *deliveries.Deliveries `wire:"-"`
	Listeners  *webhooks.Listeners    `wire:"-"`
	Admission  *admission.Admission   `wire:"-"` // AdmitPerson is for both environments
}

// Options are what the portal needs to know about where it is.
type Options struct {
	BaseURL                     string // decides how cookies are protected, and begins links
	LiveBaseURL, SandboxBaseURL string // of the API, as integrators call it
	DocsURL                     string
	TrackingBaseURL             string             // what comes before a reference in the link for the recipient
	Operations                  func() []Operation // of the public API, in the order of its description
	RequestLog                  RequestLog
	ReadOrder                   func(json []byte) (deliveries.Order, error) // of the sandbox API
	ForcedErrors                []string                                    // what X-Sandbox-Error takes
	PerKey, PerBusiness         domain.RateLimit                            // of the public API
	TrustedProxies              []netip.Prefix
	Log                         *slog.Logger
	Clock                       ports.Clock
	Mails                       bool // they are sent, so that a link may be asked for
	Identifiers                 ports.Identifiers
	Normalizer                  ports.Normalizer
	Around                      func(http.Handler) http.Handler // nil: nothing
	Connections                 connections.Options
}

// Portal serves the pages.
type Portal struct {
	UseCases
	options Options
	secure  bool // people come by https
	pages   *pages.Set
	origin  string // of the pages, as browsers write it
	router  *gin.Engine
	server  *connections.Server
	samples *handling.Samples
	inboxes *webhooks.Inboxes
	streams *streams
}

// New makes the portal; Serve answers on a listener.
func New(u UseCases, o Options) *Portal {
	set, err := pages.Parse(files, "html", "/assets")
	if err != nil {
		panic(err) // the pages are part of the program
	}
	base, err := url.Parse(o.BaseURL)
	if err != nil {
		panic(err) // the settings were checked
	}
	p := &Portal{UseCases: u, options: o, pages: set, secure: base.Scheme == "https", origin: domain.WebOrigin(base),
		samples: handling.NewSamples(u.Handling, u.Deliveries), inboxes: webhooks.NewInboxes(u.Listeners, o.Log), streams: newStreams()}
	p.router = p.newRouter()
	// A form that another site sends comes with the cookie where a browser is old or a
	// neighbour's host is the same site.
	// Browsers are compared with the origin of the settings, and not with the Host alone: a
	// proxy may have replaced that.
	protection := http.NewCrossOriginProtection()
	if err := protection.AddTrustedOrigin(p.origin); err != nil {
		panic(err) // the settings were checked
	}
	handler := protection.Handler(p.router)
	if o.Around != nil {
		handler = o.Around(handler)
	}
	p.server = connections.New(&http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 60 * time.Second,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}, o.Connections)
	p.server.RegisterOnShutdown(p.streams.end)
	return p
}

// NotYet is what answers before the database was reached: one page, with 503.
func NotYet() *http.Server {
	set, err := pages.Parse(files, "html", "/assets")
	if err != nil {
		panic(err) // the pages are part of the program
	}
	body, err := set.Render("notice", pages.Page{Title: "Not yet", Site: site, Home: "/", Body: pages.Notice{
		Title: "Not yet", Lines: []string{"The portal is starting and waits for its database. Try again in a few seconds."}}})
	if err != nil {
		panic(err) // the page and its data are ours
	}
	return &http.Server{
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 15 * time.Second, MaxHeaderBytes: 16 << 10,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			protectHeaders(w.Header())
			if name, ok := strings.CutPrefix(r.URL.Path, "/assets/"); ok && pages.ServeAsset(w, r, name) {
				return
			}
			w.Header().Set("Content-Type", html)
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write(body) // a reader who left is no failure
		}),
	}
}

// Handler is the portal without a listener.
func (p *Portal) Handler() http.Handler { return p.server.Handler }

// Serve answers on the listener until Shutdown; then it returns http.ErrServerClosed.
func (p *Portal) Serve(l net.Listener) error { return p.server.Serve(l) }

// Shutdown stops accepting and waits for what is under way. When ctx ends first, the
// rest is cut off.
func (p *Portal) Shutdown(ctx context.Context) error { return p.server.Shutdown(ctx) }

func (p *Portal) newRouter() *gin.Engine {
	router := web.NewRouter(p.options.TrustedProxies)
	router.Use(p.protect)
	for _, r := range routes() {
		router.Handle(r.method, r.path, p.answer(r))
		if r.method == http.MethodGet {
			router.Handle(http.MethodHead, r.path, p.answer(r))
		}
	}
	router.GET("/assets/:name", func(c *gin.Context) {
		if !pages.ServeAsset(c.Writer, c.Request, c.Param("name")) {
			p.fail(p.newCall(c), domain.ErrNotFound)
		}
	})
	router.NoRoute(func(c *gin.Context) { p.fail(p.newCall(c), domain.ErrNotFound) })
	router.NoMethod(func(c *gin.Context) {
		p.notice(p.newCall(c), http.StatusMethodNotAllowed, pages.Notice{Tone: "bad", Title: "This page does not take that",
			Lines: []string{"Open it again from the menu."}})
	})
	return router
}

// protect sets what every answer has, and turns a panic into a page and a line of log.
func (p *Portal) protect(c *gin.Context) {
	h := c.Writer.Header()
	id := web.NameRequest(p.options.Identifiers.ID("req_"), c.Request.Header)
	id.SetHeader(h)
	c.Set(requestIDKey, id.Shown())
	protectHeaders(h)
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(cause)
		}
		p.options.Log.ErrorContext(c.Request.Context(), "panic", "request_id", requestID(c), "route", "portal "+c.FullPath(),
			"cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler)
		}
		p.notice(p.newCall(c), http.StatusInternalServerError, failed(requestID(c)))
	}()
	c.Next()
}

func protectHeaders(h http.Header) {
	h.Set("Content-Security-Policy", pages.Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with less, browsers do not say where a form comes from
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cache-Control", "no-store")
}

const html = "text/html; charset=utf-8"

// requestID is how the answer calls the request.
func requestID(c *gin.Context) string { return c.GetString(requestIDKey) }

const requestIDKey = "request_id"

// answer runs a route: who is there, may they, and then its handler.
func (p *Portal) answer(r route) gin.HandlerFunc {
	within := readTimeout
	if r.method == http.MethodPost {
		within = writeTimeout
	}
	return func(g *gin.Context) {
		ctx, cancel := context.WithTimeout(g.Request.Context(), within)
		defer cancel()
		open := g.Request.Context()
		g.Request = g.Request.WithContext(ctx)
		c := p.newCall(g)
		c.open = open
		if r.method == http.MethodPost {
			g.Request.Body = http.MaxBytesReader(g.Writer, g.Request.Body, cmp.Or(r.maxForm, maxForm))
			if err := c.readForm(); err != nil || !readable(g.Request.PostForm) {
				p.notice(c, http.StatusBadRequest, pages.Notice{Tone: "bad", Title: "The form could not be read",
					Lines: []string{"Open the page again and send it once more."}})
				return
			}
			c.form = g.Request.PostForm
		}
		err := p.admit(c, r)
		if err == nil {
			err = c.checkIDs()
		}
		if err == nil {
			err = r.handle(p, c)
		}
		if err != nil {
			p.fail(c, err)
		}
	}
}

// readForm reads a form, with the file that it may have.
func (c *call) readForm() error {
	if kind, _, _ := mime.ParseMediaType(c.ContentType()); kind != "multipart/form-data" {
		return c.Request.ParseForm()
	}
	if err := c.Request.ParseMultipartForm(maxImportForm); err != nil { // never into a file: the body has no more
		return err
	}
	for _, sent := range c.Request.MultipartForm.File["file"] {
		file, err := sent.Open()
		if err != nil {
			return err
		}
		if c.file, err = io.ReadAll(file); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}

// readable reports whether a form is text: a browser sends nothing else, and a
// database takes nothing else.
func readable(form url.Values) bool {
	for name, values := range form {
		for _, text := range append(values, name) {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				return false
			}
		}
	}
	return true
}

// admit finds out who is there and whether the role includes the act. A form that
// takes a younger sign-in may bring the password with it.
func (p *Portal) admit(c *call, r route) error {
	if r.act == nil {
		return nil
	}
	if err := p.identify(c); err != nil {
		return err
	}
	if p.refuseOther(c, r) {
		return errAnswered
	}
	act := r.act(c)
	err := c.principal.Allows(act, p.options.Clock.Now())
	if !domain.HasCode(err, domain.CodeSignInTooOld) {
		return err
	}
	if r.asksItself || r.method != http.MethodPost {
		return nil // the form asks, here or when it is sent
	}
	if c.form.Get(confirmField) == "" {
		return p.askAgain(c, http.StatusForbidden, nil)
	}
	err = p.confirm(c)
	if domain.HasCode(err, domain.CodeSignInRefused) || postponed(err) || p.refusedPasskey(c, err) {
		c.retryAfter(err)
		return p.askAgain(c, statusOf(err), err)
	}
	return err
}

// identify fills in the person of the session.
func (p *Portal) identify(c *call) (err error) {
	cookie, err := c.Request.Cookie(p.cookieName())
	if err != nil {
		return domain.SessionEnded()
	}
	c.principal, err = p.Access.Identify(c.ctx(), domain.Portal, cookie.Value)
	return err
}

// postponed reports that a password or passkey was not looked at yet: the form is
// kept for the next attempt.
func postponed(err error) bool {
	return domain.HasCode(err, domain.CodeTooManySignIns) || errors.Is(err, ports.ErrPasswordsBusy)
}

// errAnswered says that the answer is on its way.
var errAnswered = errors.New("answered already")

// fail answers with a page that says what happened and what to do.
func (p *Portal) fail(c *call, err error) {
	var e *domain.Error
	switch {
	case errors.Is(err, errAnswered):
		return
	case domain.HasCode(err, domain.CodeSessionEnded):
		p.askToSignIn(c)
		return
	case ports.StorageUnavailable(err):
		if c.Request.Context().Err() == nil || errors.Is(c.Request.Context().Err(), context.DeadlineExceeded) {
			p.options.Log.WarnContext(c.ctx(), "dependency unavailable", "request_id", requestID(c.Context), "route", "portal "+c.FullPath(),
				"error", err)
		}
		c.Header("Retry-After", "5")
		lines := []string{"The database does not answer at the moment. Nothing is lost; try again in a few seconds."}
		if errors.Is(err, ports.ErrOutcomeUnknown) {
			lines = []string{"The database does not answer at the moment. Whether your change was made will be seen in its list; look there " +
				"before you send it again."}
		}
		p.notice(c, http.StatusServiceUnavailable, pages.Notice{Tone: "bad", Title: "This page is not available right now", Lines: lines})
		return
	case !errors.As(err, &e) || e.Kind == domain.KindInternal:
		p.options.Log.ErrorContext(c.ctx(), "a page of the portal failed", "request_id", requestID(c.Context), "route", "portal "+c.FullPath(),
			"error", err)
		p.notice(c, http.StatusInternalServerError, failed(requestID(c.Context)))
		return
	}
	c.retryAfter(err)
	n := pages.Notice{Tone: "bad", Title: "That did not work", Lines: []string{e.Message},
		Link: &pages.Link{Href: "/", Text: "Go to the start page"}}
	switch {
	case errors.Is(err, domain.ErrNotFound):
		n.Title, n.Lines = "There is nothing here",
			[]string{"The address may be mistyped, or what it led to belongs to another business, or is gone."}
	case domain.HasCode(err, domain.CodeRoleRefused):
		n.Title, n.Lines = "Your role does not include this",
			[]string{"You are " + article(string(c.principal.Role)) + ". Ask an owner of your business to do it, or to change your role."}
	case e.Kind == domain.KindLimited:
		n.Title = "Too many attempts"
	}
	p.notice(c, statusOf(err), n)
}

func failed(requestID string) pages.Notice {
	return pages.Notice{Tone: "bad", Title: "Something failed on our side",
		Lines: []string{"It was noted. If it happens again, tell the delivery company this: " + requestID}}
}

// article puts a or an before a word.
func article(word string) string {
	if strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}

// statuses are those of the kinds of errors.
var statuses = map[domain.Kind]int{
	domain.KindMalformed: http.StatusBadRequest, domain.KindUnauthenticated: http.StatusUnauthorized,
	domain.KindForbidden: http.StatusForbidden,
	domain.KindNotFound:  http.StatusNotFound, domain.KindConflict: http.StatusConflict, domain.KindInvalid: http.StatusUnprocessableEntity,
	domain.KindLimited: http.StatusTooManyRequests, domain.KindGone: http.StatusGone, domain.KindUnavailable: http.StatusServiceUnavailable,
}

func statusOf(err error) int {
	var e *domain.Error
	if errors.As(err, &e) && statuses[e.Kind] != 0 {
		return statuses[e.Kind]
	}
	return http.StatusInternalServerError
}

// messageOf is what a person is told of an error that a form shows.
func messageOf(err error) string {
	var e *domain.Error
	if errors.As(err, &e) && e.Kind != domain.KindInternal {
		return e.Message
	}
	return "Something failed on our side. Try again."
}
