package httpapi

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"waybill/adapters/web"
	"waybill/adapters/web/server"
	"waybill/application/access"
	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/application/directory"
	"waybill/application/monitoring"
	"waybill/application/sandbox"
	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
)

// Limits of a connection. A client that is slower than these is cut off, at no
// cost to other clients.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	maxHeaderBytes    = 16 << 10

	// readBudget is how long a call that changes nothing waits for its answer, and
	// every call until its body is to be read. changeBudget is that for all other
	// calls. Neither counts the time that a client takes to send its body. Both are
	// promises of the API: past them the answer is 503.
	readBudget   = 3 * time.Second
	changeBudget = 8 * time.Second
	// writeTimeout leaves time to tell a client so that was slow to send, also
	// after a bulk has waited for its turn and its last commit was tried to the end
	// of its own budget, and after a listener has waited for its webhooks.
	writeTimeout = 85 * time.Second
)

// UseCases is all that the API can do.
type UseCases struct {
	Admission       *access.Admission
	Quotes          *deliveries.Quotes
	Recipients      *directory.Recipients
	PickupLocations *directory.PickupLocations
	Deliveries      *deliveries.Deliveries
	Bulk            *bulk.Bulk
	Sandbox         *sandbox.Sandbox
	Webhooks        *webhooks.Webhooks
	Listeners       *webhooks.Listeners
	Feed            *webhooks.Feed
	Recorder        *monitoring.Recorder // nil: requests are not recorded

	// The forms need these two to judge single fields.
	Normalizer  ports.Normalizer
	ServiceArea ports.ServiceArea
	// Identifiers draws request IDs.
	Identifiers ports.Identifiers
}

// Options says how one API presents itself.
type Options struct {
	Environment     domain.Environment
	BaseURL         string // of this API, ends in /v1
	OtherBaseURL    string // of the other environment's
	TrackingBaseURL string
	Currency        string         // of goods_value
	CursorKeys      [][32]byte     // of cursors that are taken; the first one signs
	TrustedProxies  []netip.Prefix // the proxies whose X-Forwarded-For is believed
	Log             *slog.Logger
	Metrics         *Metrics
	Trace           Trace                           // nil: no tracing
	Beside          []Site                          // what else this listener serves
	Around          func(http.Handler) http.Handler // sees each request first; nil: nothing does
	Connections     server.Options
}

// API serves one environment.
type API struct {
	UseCases
	Options
	cursors web.Cursors
	tags    tagBox
	// The description of the API, for its own addresses.
	descriptionJSON, descriptionYAML func() []byte

	server  *server.Server
	closing chan struct{} // closed when no new request is taken any more
}

// New builds the API; Serve starts it.
func New(u UseCases, o Options) *API {
	a := &API{UseCases: u, Options: o, cursors: web.NewCursors(o.CursorKeys...), tags: newTagBox(o.CursorKeys[0]),
		closing: make(chan struct{})}
	a.descriptionJSON = sync.OnceValue(func() []byte { return a.described(OpenAPI.JSON()) })
	a.descriptionYAML = sync.OnceValue(func() []byte { return a.described(OpenAPI.YAML()) })
	handler := a.beside(a.router())
	if o.Around != nil {
		handler = o.Around(handler)
	}
	a.server = server.New(&http.Server{
		Handler:                      handler,
		ReadHeaderTimeout:            readHeaderTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true, // "OPTIONS *" gets our envelope too
		ErrorLog:                     slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}, o.Connections)
	a.server.RegisterOnShutdown(sync.OnceFunc(func() { close(a.closing) }))
	return a
}

// Handler is the API without a listener.
func (a *API) Handler() http.Handler { return a.server.Handler }

// Serve answers on the listener until Shutdown; then it returns http.ErrServerClosed.
func (a *API) Serve(l net.Listener) error {
	return a.server.Serve(l)
}

// Leave serves on, and closes each connection with its next answer.
func (a *API) Leave() { a.server.Leave() }

// Shutdown stops accepting and waits for what is under way. When ctx ends
// first, the rest is cut off.
func (a *API) Shutdown(ctx context.Context) error { return a.server.Shutdown(ctx) }

func (a *API) router() *gin.Engine {
	router := web.NewRouter(a.TrustedProxies)
	router.Use(a.observe)
	for _, r := range routes {
		if r.sandboxOnly && a.Environment != domain.Sandbox {
			continue
		}
		router.Handle(r.method, "/v1"+r.ginPath(), a.pipeline(r))
	}
	router.NoRoute(a.unknownRoute(a.noRoute))
	router.NoMethod(a.unknownRoute(noMethod))
	return router
}
