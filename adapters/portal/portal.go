package portal

import (
	"context"
	"embed"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"waybill/adapters/brand"
	"waybill/adapters/pages"
	"waybill/adapters/web/server"
	"waybill/application/access"
	"waybill/application/audit"
	"waybill/application/deliveries"
	"waybill/application/directory"
	"waybill/application/monitoring"
	"waybill/application/people"
	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
)

//go:embed html
var files embed.FS

// UseCases holds the use cases of the pages.
type UseCases struct {
	Access          *people.Access
	Refusals        *people.Refusals
	Passkeys        *people.Passkeys
	Directory       *people.Directory
	Tenants         *access.Tenants
	Audit           *audit.Log
	Handling        *deliveries.Handling
	Requests        *monitoring.Requests
	PickupLocations *directory.PickupLocations
	Endpoints       *webhooks.Endpoints
	Readiness       *monitoring.Readiness

	// For the sandbox.
	Deliveries *deliveries.Deliveries `wire:"-"`
	Listeners  *webhooks.Listeners    `wire:"-"`
	Admission  *access.Admission      `wire:"-"` // AdmitPerson is for both environments
}

// Options holds the settings of the portal.
type Options struct {
	BaseURL                     string // begins links; https makes cookies secure
	Brand                       brand.Brand
	LiveBaseURL, SandboxBaseURL string // of the API, for integrators
	DocsURL                     string
	TrackingBaseURL             string                   // the recipient's link without the reference
	Operations                  func() []pages.Operation // of the public API, in the order of its description
	RequestLog                  pages.RequestLog
	ReadOrder                   func(json []byte) (deliveries.Order, error) // parses orders of the sandbox API
	ForcedErrors                []string                                    // values of X-Sandbox-Error
	PerKey, PerBusiness         domain.RateLimit                            // of the public API
	TrustedProxies              []netip.Prefix
	Log                         *slog.Logger
	Clock                       ports.Clock
	Mails                       bool // the portal sends emails, so people may request a link
	Identifiers                 ports.Identifiers
	Normalizer                  ports.Normalizer
	Around                      func(http.Handler) http.Handler // wraps it; nil: nothing
	Connections                 server.Options
	Metrics                     *pages.Metrics // nil: nothing is counted
}

// Portal serves the pages.
type Portal struct {
	*pages.Site
	UseCases
	options Options
	server  *server.Server
	samples *deliveries.Samples
	inboxes *webhooks.Inboxes
}

var words = pages.Words{
	Name: "developers", To: "the developer portal", Ask: "an owner of your business",
	AskLink: "an owner of your business, or the delivery company,",
	NewLink: "You have no password? Ask an owner of your business for a new link. They create it in People, next to your name. If there is no " +
		"owner, ask the delivery company.",
	Foreign: "belongs to another business, or ", Tell: "the delivery company",
}

var members = pages.People{
	Path: "/people", Title: "People", Lead: "People who can sign in for your business, and their roles.", Act: domain.ActManagePeople,
	Others: "Owners invite people and change roles.",
	Losing: "access to your business at once. Keys that the person created still work.",
	Roles: map[domain.Role]string{
		domain.RoleOwner: "Owner: people, live keys, everything", domain.RoleDeveloper: "Developer: sandbox keys, webhooks, audit log",
		domain.RoleViewer: "Viewer: reads only",
	},
	First: domain.RoleDeveloper,
}

// New creates the portal. Serve starts it on a listener.
func New(u UseCases, o Options) *Portal {
	p := &Portal{UseCases: u, options: o,
		samples: deliveries.NewSamples(u.Handling, u.Deliveries), inboxes: webhooks.NewInboxes(u.Listeners, u.Audit, o.Log)}
	p.Site = pages.New(pages.Options{
		Site: domain.Portal, BaseURL: o.BaseURL, Words: words, Brand: o.Brand, Pages: files, Frame: p.frame, Routes: p.routes(), Records: records, Done: done,
		FindsKeys: searchPath, Businesses: p.businesses, BusinessName: func(ctx context.Context, id domain.ID) (string, error) {
			b, err := u.Tenants.Business(ctx, id)
			return b.Name, err
		}, People: members, Access: u.Access, Directory: u.Directory, Passkeys: u.Passkeys,
		TrustedProxies: o.TrustedProxies, Log: o.Log, Clock: o.Clock,
		Mails: o.Mails, Identifiers: o.Identifiers, Refusals: u.Refusals, Metrics: o.Metrics,
	})
	handler := p.Site.Handler()
	if o.Around != nil {
		handler = o.Around(handler)
	}
	p.server = server.New(&http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}, o.Connections)
	p.server.RegisterOnShutdown(p.EndStreams)
	return p
}

// NotYet returns a server of one page with 503, for the time before the database is reachable.
func NotYet(b brand.Brand) *http.Server {
	return &http.Server{
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 15 * time.Second, MaxHeaderBytes: 16 << 10,
		Handler: pages.NotYet("", words, b),
	}
}

// Handler returns the portal's handler, without a listener.
func (p *Portal) Handler() http.Handler { return p.server.Handler }

// Serve serves on the listener until Shutdown. Then it returns http.ErrServerClosed.
func (p *Portal) Serve(l net.Listener) error { return p.server.Serve(l) }

// Leave keeps serving, but closes each connection after its next response.
func (p *Portal) Leave() { p.server.Leave() }

// Shutdown stops accepting connections and waits for requests in progress. When ctx ends, it cuts
// off the rest.
func (p *Portal) Shutdown(ctx context.Context) error { return p.server.Shutdown(ctx) }
