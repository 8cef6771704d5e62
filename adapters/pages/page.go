package pages

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"

	"waybill/adapters/web"
	"waybill/domain"
)

// Show sends a page with the layout for the signed-in person.
func (s *Site) Show(c *Call, status int, name, title string, body any) error {
	page, err := s.o.Frame(c)
	if err != nil {
		return err
	}
	for _, group := range page.Menu {
		for i, l := range group.Links {
			group.Links[i] = s.entry(c, l)
		}
	}
	page.Wide = page.Wide || c.wide
	if page.Find != nil {
		page.Find.Action = s.o.Prefix + page.Find.Action // never a mounted page
	}
	if err := c.mountOver(&page); err != nil {
		return err
	}
	page.Title, page.Body = title, body
	if page.Over != nil && page.Over.Title != title { // each open window names its owner
		page.Title += " · " + page.Over.Title
	}
	page.Banner = s.banner(c, page.Place)
	page.Who = &Who{Name: c.Principal.Person.Name, Role: string(c.Principal.Role), Place: page.Place, SignOut: c.At("/signout")}
	return s.send(c, status, name, page)
}

// entry adds the prefix to a menu link and marks the current page. Links with a host stay as they
// are.
func (s *Site) entry(c *Call, l Link) Link {
	if !strings.HasPrefix(l.Href, "/") {
		return l
	}
	home := l.Href == "/"
	l.Href = s.o.Prefix + l.Href // never a mounted page
	path := c.Request.URL.Path
	switch {
	case path == l.Href:
		l.Current = "page"
	case !home && strings.HasPrefix(path, l.Href+"/"):
		l.Current = "true"
	}
	return l
}

// ShowPlain sends a page without the menu.
func (s *Site) ShowPlain(c *Call, status int, name, title string, body any) error {
	return s.send(c, status, name, Page{Title: title, Body: body})
}

// Notice sends a page with only a notice. It needs no database.
func (s *Site) Notice(c *Call, status int, n Notice) {
	if err := s.ShowPlain(c, status, "notice", n.Title, n); err != nil {
		panic(err) // the page and its data are ours
	}
}

func (s *Site) send(c *Call, status int, name string, page Page) error {
	page.Site, page.Home, page.Brand, page.Help = s.o.Words.Name, c.At("/"), s.o.Brand, s.o.Site == domain.Portal
	if page.Errors = c.faults; len(page.Errors) > 0 {
		page.Title = "Error: " + page.Title
	}
	if c.Query(secretTaken) != "" {
		page.Warn = append(page.Warn, Notice{Tone: "bad", Title: "Do not paste secrets here", Lines: []string{
			"What you pasted contains a secret: an API key, a token, a sign-in link or a signing secret. It was removed from the address of this " +
				"page. Your browser may still show it in its history. If other people can see that, replace the secret."}})
	}
	set := s.pages
	if c.mount != nil {
		set = c.mount.set
	}
	body, err := set.Render(name, page)
	if err != nil {
		return domain.Internal(err)
	}
	if page.Who != nil && c.Business() != "" {
		body = nameBusiness(body, c.Business())
	}
	if c.mount != nil {
		body = c.rehome(body)
	}
	if mayCompress(c, body) {
		c.Header("Content-Encoding", "gzip")
		body = web.Gzip(body, gzip.BestSpeed)
	}
	c.Header("Content-Length", strconv.Itoa(len(body)))
	c.Data(status, html, body)
	return nil
}

// mayCompress reports whether a page may be sent compressed. The size of a compressed page tells
// what its secrets and a text from the address have in common, so pages with a secret or with the ID
// of a form are sent as they are.
func mayCompress(c *Call, body []byte) bool {
	c.Header("Vary", "Accept-Encoding")
	return c.Request.Method != http.MethodPost && len(body) > 1400 && web.TakesGzip(c.Request.Header) &&
		!bytes.Contains(body, []byte("data-secret")) && !bytes.Contains(body, []byte(`name="once"`)) &&
		!bytes.Contains(body, []byte("/enter/")) && !bytes.Contains(body, []byte(`type="password"`))
}

// ShowPart sends a part of a page, by the name of its template.
func (s *Site) ShowPart(c *Call, page, part string, data any) error {
	body, err := s.pages.RenderPart(page, part, data)
	if err != nil {
		return domain.Internal(err)
	}
	c.Data(http.StatusOK, html, body)
	return nil
}
