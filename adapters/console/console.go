package console

import (
	"embed"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"

	"waybill/adapters/brand"
	"waybill/adapters/pages"
	"waybill/application/access"
	"waybill/application/audit"
	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/application/monitoring"
	"waybill/application/people"
	"waybill/application/reports"
	"waybill/application/webhooks"
	"waybill/domain"
	"waybill/ports"
)

// Prefix begins the paths of all pages.
const Prefix = "/console"

//go:embed html
var files embed.FS

// UseCases holds the use cases of the pages.
type UseCases struct {
	Access     *people.Access
	Refusals   *people.Refusals
	Directory  *people.Directory
	Audit      *audit.Log
	Moves      *bulk.Moves
	Machinery  *monitoring.Machinery
	Endpoints  *webhooks.Endpoints
	Reports    *reports.Reports
	Map        *reports.Map
	Tenants    *access.Tenants
	Passkeys   *people.Passkeys `wire:"-"` // for the console's host
	Company    *people.Company  `wire:"-"`
	Operations *deliveries.Operations
	Requests   *monitoring.Requests
	Board      *reports.Board
}

// Options holds the settings of the console.
type Options struct {
	BaseURL        string // the listener's, without Prefix: begins links, and https makes cookies secure
	Brand          brand.Brand
	TrustedProxies []netip.Prefix
	Log            *slog.Logger
	Clock          ports.Clock
	Mails          bool // the console sends emails, so people may request a link
	Identifiers    ports.Identifiers
	// Customer holds the pages of a business at BusinessAt, shared with its portal.
	Customer      *pages.Mount
	PortalBaseURL string // begins links to views of the portal
	PerBusiness   domain.RateLimit
	Streets       ports.MapTiles // nil: there is no street map
	Normalizer    ports.Normalizer
	API           pages.API
	Metrics       *pages.Metrics // nil: nothing is counted
}

// Console serves the pages.
type Console struct {
	*pages.Site
	UseCases
	options Options
	boards  boards
	tiles   chan struct{} // one for each tile in progress
}

// call is a request with its person and form.
type call = pages.Call

var words = pages.Words{
	Name: "console", To: "the staff console", Ask: "an admin", AskLink: "an admin",
	NewLink: "You have no password? Ask an admin for a new link. They create it in Staff, next to your name. If there is no admin, the " +
		"command waybill staff link creates one.",
	Tell: "the operator of this server",
}

var staff = pages.People{
	Path: "/staff", Title: "Staff", Lead: "Who may sign in to this console, and what they may do.", Act: domain.ActManageStaff,
	Others: "Admins invite people and change roles.", Losing: "access to this console at once. The audit log keeps what the person did.",
	Roles: map[domain.Role]string{
		domain.RoleAdmin:      "Admin: customers, staff, everything",
		domain.RoleDispatcher: "Dispatcher: moves deliveries",
		domain.RoleSupport:    "Support: reads everything, views as customer",
		domain.RoleViewer:     "Viewer: reads everything except names of recipients",
	},
	First: domain.RoleDispatcher,
}

// New creates the console.
func New(u UseCases, o Options) *Console {
	p := &Console{UseCases: u, options: o, tiles: make(chan struct{}, mostTiles)}
	customer := o.Customer
	if customer != nil {
		customer.Routes = append(slices.Clone(customer.Routes), p.businessRoutes()...)
	}
	p.Site = pages.New(pages.Options{
		Mount: customer,
		Site:  domain.Console, Prefix: Prefix, BaseURL: o.BaseURL, Words: words, Brand: o.Brand, Pages: files, Frame: p.frame, Routes: p.routes(),
		Records: records, Done: done, Access: u.Access, Directory: u.Directory, Passkeys: u.Passkeys, Company: u.Company, People: staff,
		TrustedProxies: o.TrustedProxies, Log: o.Log, Clock: o.Clock,
		Mails: o.Mails, Identifiers: o.Identifiers, Refusals: u.Refusals, Metrics: o.Metrics,
	})
	return p
}

// NotYet returns a handler of one page with 503, for the time before the database is reachable.
func NotYet(b brand.Brand) http.Handler { return pages.NotYet(Prefix, words, b) }

// frame returns the menu and banners of every page.
func (p *Console) frame(c *call) (pages.Page, error) {
	page := pages.Page{Place: "delivery company", Warn: p.pausedBanners(c), Find: searchBox(c)}
	for _, group := range menu {
		shown := pages.MenuGroup{Name: group.name}
		for _, e := range group.entries {
			if c.May(e.act) {
				shown.Links = append(shown.Links, e.Link)
			}
		}
		if len(shown.Links) > 0 {
			page.Menu = append(page.Menu, shown)
		}
	}
	return page, nil
}

// entry is a menu entry for roles that include the act.
type entry struct {
	pages.Link
	act  domain.Act
	what string // for the start page
}
