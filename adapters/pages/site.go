package pages

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"waybill/adapters/brand"
	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
)

//go:embed html
var files embed.FS

// Words holds the texts that differ between sites.
type Words struct {
	Name    string // next to the logo
	To      string // what people sign in to
	Ask     string // whom to ask for another role
	AskLink string // whom to ask for a new link
	NewLink string // how to get a new link
	Foreign string // why an address may lead to nothing, besides a typing error
	Tell    string // whom to tell about a failure
}

// Options holds the parts of a site.
type Options struct {
	Site      domain.Site
	Prefix    string // of all paths; empty: the site has its own listener
	BaseURL   string // the origin, without Prefix; https makes cookies secure
	Words     Words
	Brand     brand.Brand
	Pages     fs.FS                     // the templates, in the folder html
	Frame     func(*Call) (Page, error) // the menu and everything else around a page
	Routes    []Route                   // in addition to sign-in and account
	Records   map[string]domain.Prefix  // path parameters that are IDs
	Done      map[string]string         // texts for the parameter done
	Mount     *Mount                    // pages of another site; nil: none
	FindsKeys string                    // path of a page that finds a key by its end, and so accepts a whole key; empty: none
	// BusinessName returns the name for invitations and view links. The console has none.
	BusinessName func(context.Context, domain.ID) (string, error)
	Businesses   func(*Call) ([]Business, error) // to choose from; nil: there are none

	People People

	Access         *people.Access
	Directory      *people.Directory
	Passkeys       *people.Passkeys
	Company        *people.Company // nil: no sign-in at an identity provider
	TrustedProxies []netip.Prefix
	Refusals       *people.Refusals // nil: the audit log keeps none
	Metrics        *Metrics         // nil: nothing is counted
	Log            *slog.Logger
	Clock          ports.Clock
	Mails          bool // the site sends emails, so people may request a link
	Identifiers    ports.Identifiers
}

// Site serves the pages.
type Site struct {
	o      Options
	secure bool // people come by HTTPS
	pages  *Set
	origin string // of the pages, as browsers write it
	router *gin.Engine
	// protection refuses forms that another site sends.
	protection *http.CrossOriginProtection
	streams    *streams

	inFlight inFlight          // pages in progress
	uploads  inFlight          // large forms in progress
	heavy    inFlight          // files and previews in progress
	tables   chan struct{}     // one place for each table in progress
	tablesOf inFlight          // the same, per person
	done     map[string]string // texts for the parameter done
	routes   []Route
}

// New creates a site.
func New(o Options) *Site {
	base, err := url.Parse(o.BaseURL)
	if err != nil {
		panic(err) // the settings were checked
	}
	s := &Site{o: o, pages: parse(o.Prefix, ForReader, o.Pages), secure: base.Scheme == "https", origin: domain.WebOrigin(base),
		tables: make(chan struct{}, mostTables), done: maps.Clone(ownTexts)}
	s.streams = newStreams(func(ctx context.Context, sessions []domain.ID) (map[domain.ID]domain.Principal, error) {
		return o.Access.Follow(ctx, o.Site, sessions)
	})
	s.streams.failed = func(ctx context.Context, err error) {
		o.Log.WarnContext(ctx, "open pages come again: whether their sessions go on cannot be found out", "error", err)
	}
	maps.Copy(s.done, o.Done)
	if m := o.Mount; m != nil {
		m.set = parse("", ForStaff, o.Pages, m.Pages) // the link prefix depends on the business
		m.Bind(s)
		maps.Copy(s.done, m.Done)
		s.o.Records = maps.Clone(m.Records)
		maps.Copy(s.o.Records, o.Records)
	}
	s.routes = s.Routes()
	// The browser's origin is compared with the origin of the settings, not only with the Host: a
	// proxy may have replaced the Host.
	s.protection = http.NewCrossOriginProtection()
	if err := s.protection.AddTrustedOrigin(s.origin); err != nil {
		panic(err) // the settings were checked
	}
	s.router = s.newRouter()
	return s
}

// parsed caches the pages of each site. They are the same in all instances, and tests create
// hundreds.
var parsed sync.Map

// source identifies the files that pages are parsed from.
type source struct {
	prefix string
	who    Reader
	own    [2]fs.FS
}

func parse(prefix string, who Reader, own ...fs.FS) *Set {
	from := source{prefix: prefix, who: who}
	copy(from.own[:], own)
	if set, ok := parsed.Load(from); ok {
		return set.(*Set)
	}
	set, err := Parse(prefix, who, append([]fs.FS{files}, own...)...)
	if err != nil {
		panic(err) // the pages are embedded
	}
	first, _ := parsed.LoadOrStore(from, set)
	return first.(*Set)
}

// Handler returns the handler of all paths below the prefix.
func (s *Site) Handler() http.Handler { return s.router }

// EndStreams ends all open streams, for the shutdown of the server.
func (s *Site) EndStreams() { s.streams.end() }

// NotYet serves one page with 503 until the database is reachable.
func NotYet(prefix string, w Words, b brand.Brand) http.Handler {
	body, err := parse(prefix, ForReader, files).Render("notice", Page{Title: "Starting", Site: w.Name, Brand: b, Help: prefix == "", Home: prefix + "/",
		Body: Notice{Title: "Starting", Lines: []string{strings.ToUpper(w.To[:1]) + w.To[1:] +
			" is starting. Try again in a few seconds."}}})
	if err != nil {
		panic(err) // the page and its data are ours
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protectHeaders(w.Header())
		if name, ok := strings.CutPrefix(r.URL.Path, prefix+"/assets/"); ok && (b.Serve(w, r, name) || ServeAsset(w, r, name)) {
			return
		}
		w.Header().Set("Content-Type", html)
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(body) // the client may have disconnected
	})
}
