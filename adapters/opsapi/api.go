package opsapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"waybill/adapters/web"
	"waybill/adapters/web/server"
	"waybill/domain"
)

// Limits of a connection. Profiles are recorded while the client waits, so a response may take
// as long as the longest profile.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 2 * time.Minute
	idleTimeout       = 60 * time.Second
	maxHeaderBytes    = 16 << 10
)

// Options configures the listener.
type Options struct {
	Checks  []Check // all must succeed before the process gets traffic
	Metrics prometheus.Gatherer
	Log     *slog.Logger

	TrustedProxies []netip.Prefix                  // the proxies whose X-Forwarded-For is trusted
	Hosts          []string                        // names of this listener, in addition to its addresses and localhost
	Profiles       bool                            // profiles need no token; otherwise an operator's
	Around         func(http.Handler) http.Handler // handles each request first; nil: nothing does

	Management *Management // nil: there is no operations API
	Sites      []Site      // other websites on this listener

	Connections server.Options
}

// Site is a website on this listener.
type Site struct {
	Prefix  string // it serves this path and everything below it
	Handler http.Handler
	End     func() // ends open streams when the listener shuts down; nil: it has none
}

// API is the operators' listener.
type API struct {
	options  Options
	server   *server.Server
	draining atomic.Bool
	name     atomic.Value // of the installation, a string
}

// New builds the API of the listener. Serve starts it.
func New(o Options) *API {
	a := &API{options: o}
	handler := a.withSites(a.router())
	if o.Around != nil {
		handler = o.Around(handler)
	}
	a.server = server.New(&http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}, o.Connections)
	for _, s := range o.Sites {
		if s.End != nil {
			a.server.RegisterOnShutdown(s.End)
		}
	}
	return a
}

// withSites routes each site's paths to it, and everything else to the router. Sites must be
// requested by a name of the listener too: see ownHost.
func (a *API) withSites(router http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, s := range a.options.Sites {
			if r.URL.Path != s.Prefix && !strings.HasPrefix(r.URL.Path, s.Prefix+"/") {
				continue
			}
			if !a.isOwn(r.Host) {
				w.Header().Set("Content-Type", web.JSONType)
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write(web.Failure(http.StatusForbidden, foreignHost(r.Host), "")) //nolint:gosec // JSON, as its type says
				return
			}
			s.Handler.ServeHTTP(w, r)
			return
		}
		router.ServeHTTP(w, r)
	})
}

// Handler returns the HTTP handler of the API, without a listener.
func (a *API) Handler() http.Handler { return a.server.Handler }

// Serve serves on the listener until Shutdown. Then it returns http.ErrServerClosed.
func (a *API) Serve(l net.Listener) error { return a.server.Serve(l) }

// Name makes /healthz report the installation of the process. The name is public: it must have
// nothing to do with a secret.
func (a *API) Name(installation string) { a.name.Store(installation) }

// Drain makes /readyz respond 503 from now on, so that load balancers send traffic elsewhere
// while the process finishes its work.
func (a *API) Drain() {
	a.draining.Store(true)
	a.server.Leave()
}

// Shutdown stops accepting requests and waits for those in flight. When ctx ends first, the
// rest is cut off.
func (a *API) Shutdown(ctx context.Context) error { return a.server.Shutdown(ctx) }

func (a *API) router() *gin.Engine {
	router := web.NewRouter(a.options.TrustedProxies)
	router.Use(func(c *gin.Context) { web.SetPrivate(c.Writer.Header()) })
	nothing := "There is nothing here. There are /healthz, /readyz, /metrics and /debug/pprof/."
	if m := a.options.Management; m != nil {
		router.Use(m.name)
		nothing = "There is nothing here. GET " + base + "/openapi.json lists what there is, beside /healthz, /readyz, /metrics and " +
			"/debug/pprof/."
	}
	router.Use(a.recover)
	web.Handle(router, http.MethodGet, "/healthz", a.alive)
	web.Handle(router, http.MethodGet, "/readyz", a.ready)
	web.Handle(router, http.MethodGet, "/metrics", a.ownHost, gin.WrapH(promhttp.HandlerFor(a.options.Metrics, promhttp.HandlerOpts{})))
	router.GET("/debug/pprof/*profile", a.ownHost, a.mayProfile, profile)
	if a.options.Management != nil {
		for _, r := range routes {
			web.Handle(router, r.method, r.ginPath(), a.pipeline(r))
		}
	}
	router.NoRoute(func(c *gin.Context) {
		fail(c, http.StatusNotFound, &domain.Error{Code: domain.CodeNotFound, Message: nothing})
	})
	router.NoMethod(func(c *gin.Context) {
		fail(c, http.StatusMethodNotAllowed, web.NoMethod(c.Request.Method, c.Writer.Header().Get("Allow")))
	})
	return router
}

// mayProfile lets operators record profiles, which slow the process down and show its command
// line.
func (a *API) mayProfile(g *gin.Context) {
	m := a.options.Management
	switch {
	case a.options.Profiles:
		return
	case m == nil:
		fail(g, http.StatusForbidden, &domain.Error{Code: "PROFILES_OFF",
			Message: "Profiles are off here. Start the process with WAYBILL_PPROF=on."})
		g.Abort()
		return
	}
	c := m.call(g, "/debug/pprof")
	if err := m.identify(c, readers); err != nil {
		a.refuse(c, err)
		g.Abort()
	}
}

func profile(c *gin.Context) {
	switch c.Param("profile") {
	case "/cmdline":
		pprof.Cmdline(c.Writer, c.Request)
	case "/profile":
		pprof.Profile(c.Writer, c.Request)
	case "/symbol":
		pprof.Symbol(c.Writer, c.Request)
	case "/trace":
		pprof.Trace(c.Writer, c.Request)
	default:
		pprof.Index(c.Writer, c.Request)
	}
}

// recover turns a panic into a 500 and a log line.
func (a *API) recover(c *gin.Context) {
	defer func() {
		if p := recover(); p != nil {
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(p)
			}
			a.options.Log.ErrorContext(c.Request.Context(), "operations request panicked", "route", c.FullPath(), "panic", p)
			if !c.Writer.Written() {
				fail(c, http.StatusInternalServerError, &domain.Error{Code: domain.CodeInternal, Message: "Something failed on our side."})
			}
		}
	}()
	c.Next()
}

func succeed(c *gin.Context, message string, data any) {
	c.Data(http.StatusOK, web.JSONType, web.Success(http.StatusOK, message, data))
}

func fail(c *gin.Context, status int, e *domain.Error) {
	c.Data(status, web.JSONType, web.Failure(status, e, ""))
}
