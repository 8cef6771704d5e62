package pages

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"waybill/domain"

	"github.com/gin-gonic/gin"
)

// Mount is a part of one site below a path of another: the pages of a business, which the
// console shows to staff. The pages are the same code and the same templates; whose they
// are, which act each of them takes and where their links lead is different.
type Mount struct {
	Path    string   // below the prefix of the site; its parameter business names whose pages they are
	Heads   []string // the first parts of the paths that are mounted, such as apps
	Pages   fs.FS    // the templates, below html
	Routes  []Route
	Records map[string]domain.Prefix
	Done    map[string]string
	People  People
	BaseURL string      // of the portal, where the people of the business sign in
	Bind    func(*Site) // gives the handlers the site that shows their pages

	// Act is the act of this site that one of the mounted pages takes; one that no role has,
	// where staff do not do this.
	Act func(domain.Act) domain.Act
	// Owns answers domain.ErrNotFound where the path names a record of another business.
	Owns func(c *Call) error
	// Over is what stands above each page: whose it is, and what else there is of it.
	Over func(context.Context, domain.ID) (Over, error)

	set *Set
}

// routes are those of the mount, as the site answers them.
func (m *Mount) routes(s *Site) []Route {
	var routes []Route
	for _, r := range append(s.people(Always(domain.ActRead), m.People), m.Routes...) {
		act, handle := r.Act, r.Handle
		r.Path = m.Path + r.Path
		r.mount = m
		r.Act = func(c *Call) domain.Act { return m.Act(act(c)) }
		r.Handle = func(c *Call) error {
			if err := m.Owns(c); err != nil {
				return err
			}
			return handle(c)
		}
		routes = append(routes, r)
	}
	return routes
}

// at is where a path of the mounted pages leads; one that is not mounted is the site's.
func (m *Mount) at(business domain.ID, path string) string {
	head, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	head, _, _ = strings.Cut(head, "?")
	if slices.Contains(m.Heads, strings.TrimSuffix(head, ".csv")) {
		return strings.Replace(m.Path, ":business", string(business), 1) + path
	}
	return path
}

// rooted are links and forms of a page that begin at the root of the listener. Text of other
// people cannot look like one: the template has escaped its quotes.
var (
	rooted = regexp.MustCompile(` (href|action|src)="(/[^"/][^"]*)"`)
	anchor = regexp.MustCompile(`(?s)<a [^>]*href="(/[^"]*)"[^>]*>(.*?)</a>`)
	button = regexp.MustCompile(`^<a [^>]*class="button\b`)
)

// rehome leads links of a mounted page to where they are mounted, or to the site's own page
// of that name with the business as its filter. One that leads nowhere here, or nowhere that
// the reader may go, is shown as its text; a button is left out.
func (c *Call) rehome(body []byte) []byte {
	body = rooted.ReplaceAllFunc(body, func(found []byte) []byte {
		parts := rooted.FindSubmatch(found)
		if bytes.HasPrefix(parts[2], []byte(c.site.o.Prefix+"/")) {
			return found
		}
		path := string(parts[2])
		to := c.At(path)
		if list, query, filtered := strings.Cut(path, "?"); to == c.site.o.Prefix+path && strings.Count(list, "/") == 1 &&
			string(parts[1]) == "href" {
			to = c.At(list) + "?business=" + string(c.Business())
			if filtered {
				to += "&amp;" + query
			}
		}
		return []byte(" " + string(parts[1]) + `="` + to + `"`)
	})
	return anchor.ReplaceAllFunc(body, func(found []byte) []byte {
		parts := anchor.FindSubmatch(found)
		switch {
		case c.leads(string(parts[1])):
			return found
		case button.Match(found):
			return nil
		}
		return slices.Concat([]byte("<span>"), parts[2], []byte("</span>"))
	})
}

// leads reports whether an address of the site is a page that the reader may open.
func (c *Call) leads(to string) bool {
	path, below := strings.CutPrefix(to, c.site.o.Prefix)
	if !below {
		return false
	}
	path, _, _ = strings.Cut(path, "#")
	path, _, _ = strings.Cut(path, "?")
	for _, r := range c.site.routes {
		if params, ok := r.matches(path); ok && r.Method == http.MethodGet {
			there := &Call{Context: &gin.Context{Params: params}, site: c.site, mount: r.mount, Principal: c.Principal}
			return r.Act == nil || domain.May(c.site.o.Site, c.Principal.Role, r.Act(there))
		}
	}
	return false
}

// mountOver puts what stands above mounted pages onto one.
func (c *Call) mountOver(page *Page) error {
	if c.mount == nil {
		return nil
	}
	over, err := c.mount.Over(c.Ctx(), c.Business())
	if err != nil {
		return err
	}
	here := c.Request.URL.Path
	var tabs []Link
	for _, tab := range over.Tabs.Tabs {
		tab.Href = c.At(tab.Href)
		if here == tab.Href {
			tab.Current = "page"
		} else if strings.HasPrefix(here, tab.Href+"/") && tab.Href != c.At(over.Href) {
			tab.Current = "true"
		}
		if c.leads(tab.Href) {
			tabs = append(tabs, tab)
		}
	}
	over.Tabs.Tabs = tabs
	over.Href = c.At(over.Href)
	page.Over = &over
	return nil
}
