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

// Mount is a part of one site below a path of another: the console shows the pages of a business to
// staff. Code and templates are the same. The owner, the acts and the links differ.
type Mount struct {
	Path    string   // below the site's prefix; its parameter business names the owner
	Heads   []string // the first path segments of mounted pages, such as apps
	Pages   fs.FS    // the templates, in the folder html
	Routes  []Route
	Records map[string]domain.Prefix
	Done    map[string]string
	People  People
	BaseURL string      // of the portal, where the people of the business sign in
	Bind    func(*Site) // sets the site that shows the pages of the handlers

	// Act maps the act of a mounted page to an act of this site. It returns an act that no role has
	// if staff may not do it.
	Act func(domain.Act) domain.Act
	// Owns returns domain.ErrNotFound if the path names a record of another business.
	Owns func(c *Call) error
	// Over returns the heading above each page: the business and its other pages.
	Over func(context.Context, domain.ID) (Over, error)

	set *Set
}

// routes returns the routes of the mount with the acts and checks of the site.
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

// at returns the site path of a mounted page. Other paths stay as they are.
func (m *Mount) at(business domain.ID, path string) string {
	head, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	head, _, _ = strings.Cut(head, "?")
	if slices.Contains(m.Heads, strings.TrimSuffix(head, ".csv")) {
		return strings.Replace(m.Path, ":business", string(business), 1) + path
	}
	return path
}

// rooted finds links and forms that begin at the root of the listener. Text of other people cannot
// match: the template escapes its quotes.
var (
	rooted = regexp.MustCompile(` (href|action|src)="(/[^"/][^"]*)"`)
	anchor = regexp.MustCompile(`(?s)<a [^>]*href="(/[^"]*)"[^>]*>(.*?)</a>`)
	button = regexp.MustCompile(`^<a [^>]*class="button\b`)
)

// rehome rewrites links of a mounted page to the mounted paths, or to the site's page of that name
// with a filter for the business. A link that the reader may not open becomes plain text; a button
// is left out.
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

// leads reports whether an address is a page of the site that the reader may open.
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

// mountOver adds the heading of mounted pages to a page.
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
