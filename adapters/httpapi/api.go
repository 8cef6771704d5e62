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

// Limits of a connection. A client that is slower is cut off, at no cost to other clients.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	maxHeaderBytes    = 16 << 10

	// readBudget limits the wait for the response to a request that changes nothing, and for
	// any request until its body is read. changeBudget limits all other requests. Neither
	// counts the time that a client takes to send its body. The API promises both: after them
	// the response is 503.
	readBudget   = 3 * time.Second
	changeBudget = 8 * time.Second
	// writeTimeout leaves time to tell a slow client that it was too slow. It also covers a
	// bulk request that waited for its turn and used its whole commit budget, and a listener
	// that waited for webhooks.
	writeTimeout = 85 * time.Second
)

// UseCases holds every use case that the API calls.
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

	// The forms use these two to validate single fields.
	Normalizer  ports.Normalizer
	ServiceArea ports.ServiceArea
	// Identifiers creates request IDs.
	Identifiers ports.Identifiers
}

// Options configures one API.
type Options struct {
	Environment     domain.Environment
	BaseURL         string // the base URL of this API, ends in /v1
	OtherBaseURL    string // the base URL of the other environment's API
	TrackingBaseURL string
	Currency        string         // the currency of goods_value
	CursorKeys      [][32]byte     // the keys of valid cursors; the first one signs
	TrustedProxies  []netip.Prefix // the proxies whose X-Forwarded-For is trusted
	Log             *slog.Logger
	Metrics         *Metrics
	Trace           Trace                           // nil: no tracing
	Beside          []Site                          // other sites on this listener
	Around          func(http.Handler) http.Handler // handles each request first; nil: nothing does
	Connections     server.Options
}

// API serves one environment.
type API struct {
	UseCases
	Options
	cursors web.Cursors
	tags    tagBox
	// The OpenAPI document with the addresses of this API.
	descriptionJSON, descriptionYAML func() []byte

	server  *server.Server
	closing chan struct{} // closed when no new request is accepted any more
}

// New creates the API. Serve starts it.
func New(u UseCases, o Options) *API {
	a := &API{UseCases: u, Options: o, cursors: web.NewCursors(o.CursorKeys...), tags: newTagBox(o.CursorKeys[0]),
		closing: make(chan struct{})}
	a.descriptionJSON = sync.OnceValue(func() []byte { return a.described(OpenAPI.JSON()) })
	a.descriptionYAML = sync.OnceValue(func() []byte { return a.described(OpenAPI.YAML()) })
	handler := a.withSites(a.router())
	if o.Around != nil {
		handler = o.Around(handler)
	}
	a.server = server.New(&http.Server{
		Handler:                      handler,
		ReadHeaderTimeout:            readHeaderTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true, // "OPTIONS *" gets the JSON error envelope too
		ErrorLog:                     slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}, o.Connections)
	a.server.RegisterOnShutdown(sync.OnceFunc(func() { close(a.closing) }))
	return a
}

// Handler returns the HTTP handler of the API, without a listener.
func (a *API) Handler() http.Handler { return a.server.Handler }

// Serve accepts requests on the listener until Shutdown. Then it returns http.ErrServerClosed.
func (a *API) Serve(l net.Listener) error {
	return a.server.Serve(l)
}

// Leave keeps serving, and closes each connection with its next response.
func (a *API) Leave() { a.server.Leave() }

// Shutdown stops accepting requests and waits for those in flight. When ctx ends first, the
// rest is cut off.
func (a *API) Shutdown(ctx context.Context) error { return a.server.Shutdown(ctx) }

func (a *API) router() *gin.Engine {
	router := web.NewRouter(a.TrustedProxies)
	router.Use(a.observe, a.refuseEmptyID)
	for _, r := range routes {
		if r.sandboxOnly && a.Environment != domain.Sandbox {
			continue
		}
		web.Handle(router, r.method, "/v1"+r.ginPath(), a.pipeline(r))
	}
	router.NoRoute(a.unknownRoute(a.noRoute))
	router.NoMethod(a.unknownRoute(noMethod))
	return router
}
