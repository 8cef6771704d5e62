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

	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
)

//go:embed html
var files embed.FS

// Words are what the sites say differently.
type Words struct {
	Name    string // beside the logo
	To      string // where one signs in
	Ask     string // whom one asks for another role
	AskLink string // whom one asks for a new link
	NewLink string // how to get one
	Foreign string // why an address leads to nothing, beside being mistyped
	Tell    string // to whom a failure is told
}

// Options are what a site is made of.
type Options struct {
	Site      domain.Site
	Prefix    string // of the paths of all its pages; empty: the site has its listener to itself
	BaseURL   string // of the origin, without Prefix: decides how cookies are protected
	Words     Words
	Pages     fs.FS                     // the templates of the site, below html
	Frame     func(*Call) (Page, error) // the menu, and what else is around each page
	Routes    []Route                   // beside those for signing in and the account
	Records   map[string]domain.Prefix  // the parameters of paths that are IDs
	Done      map[string]string         // texts for the parameter done
	Mount     *Mount                    // of the pages of another site; nil: none
	FindsKeys string                    // the path of a page that finds a key by its end, and so takes a whole one; empty: none does
	// BusinessName is for the page of a link to a view; the console has none.
	BusinessName func(context.Context, domain.ID) (string, error)
	Businesses   func(*Call) ([]Business, error) // among which a person chooses; nil: there are none

	People People

	Access         *people.Access
	Directory      *people.Directory
	Passkeys       *people.Passkeys
	Company        *people.Company // nil: no one signs in at an identity provider
	TrustedProxies []netip.Prefix
	Refusals       *people.Refusals // nil: none are kept in the audit log
	Metrics        *Metrics         // nil: nothing is counted
	Log            *slog.Logger
	Clock          ports.Clock
	Mails          bool // they are sent, so that a link may be asked for
	Identifiers    ports.Identifiers
}

// Site serves the pages.
type Site struct {
	o      Options
	secure bool // people come by https
	pages  *Set
	origin string // of the pages, as browsers write it
	router *gin.Engine
	// protection refuses forms that another site sends.
	protection *http.CrossOriginProtection
	streams    *streams

	inFlight inFlight          // pages that are being made
	uploads  inFlight          // large forms that are being read and answered
	heavy    inFlight          // files and previews that are being made
	tables   chan struct{}     // a place for each table that is being sent
	tablesOf inFlight          // the same, of each person
	done     map[string]string // texts for the parameter of the same name
	routes   []Route
}

// New makes a site.
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
		m.set = parse("", ForStaff, o.Pages, m.Pages) // where links lead is known with the business
		m.Bind(s)
		maps.Copy(s.done, m.Done)
		s.o.Records = maps.Clone(m.Records)
		maps.Copy(s.o.Records, o.Records)
	}
	s.routes = s.Routes()
	// Browsers are compared with the origin of the settings, and not with the Host alone: a
	// proxy may have replaced that.
	s.protection = http.NewCrossOriginProtection()
	if err := s.protection.AddTrustedOrigin(s.origin); err != nil {
		panic(err) // the settings were checked
	}
	s.router = s.newRouter()
	return s
}

// parsed are the pages of each site of the program: they are the same in all sites that are
// made, and tests make hundreds.
var parsed sync.Map

// source is what pages are parsed of.
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
		panic(err) // the pages are part of the program
	}
	first, _ := parsed.LoadOrStore(from, set)
	return first.(*Set)
}

// Handler answers for all paths below the prefix.
func (s *Site) Handler() http.Handler { return s.router }

// EndStreams ends those that are open, as the server is to end.
func (s *Site) EndStreams() { s.streams.end() }

// NotYet is what answers before the database was reached: one page, with 503.
func NotYet(prefix string, w Words) http.Handler {
	body, err := parse(prefix, ForReader, files).Render("notice", Page{Title: "Not yet", Site: w.Name, Home: prefix + "/",
		Body: Notice{Title: "Not yet", Lines: []string{strings.ToUpper(w.To[:1]) + w.To[1:] +
			" is starting and waits for its database. Try again in a few seconds."}}})
	if err != nil {
		panic(err) // the page and its data are ours
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protectHeaders(w.Header())
		if name, ok := strings.CutPrefix(r.URL.Path, prefix+"/assets/"); ok && ServeAsset(w, r, name) {
			return
		}
		w.Header().Set("Content-Type", html)
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(body) // a reader who left is no failure
	})
}
