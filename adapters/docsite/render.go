package docsite

import (
	"bytes"
	"embed"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

//go:embed pages
var pageFiles embed.FS

// missing is the page for paths that do not exist; no request can ask for it.
const missing = "missing"

// guide is a page that is written by hand.
type guide struct {
	File    string // below pages
	Path    string // below the site; empty: the start page
	Name    string // in the navigation
	Title   string
	Summary string
}

// guides are in the order in which they are read.
var guides = []guide{
	{"start", "", "Start", "Deliveries from your backend",
		"Price, book, follow and cancel deliveries with a JSON API. A sandbox plays every ending, webhooks tell you what happens."},
	{"first-delivery", "/first-delivery", "First delivery", "Your first delivery",
		"From a key to a delivered parcel in the sandbox, with commands to paste."},
	{"idempotency", "/idempotency", "Idempotency", "Idempotency and retries",
		"Create once, however often you send: what an Idempotency-Key promises, how to retry, and how an interrupted bulk goes on."},
	{"webhooks", "/webhooks", "Webhooks", "Webhooks",
		"Signed events sent to your server: verify them, answer fast, and catch up after an outage."},
	{"sandbox", "/sandbox", "Sandbox", "The sandbox", "Scenarios that play a delivery's life, helpers that move it by hand, and errors on " +
		"request."},
	{"limits", "/limits", "Lists and limits", "Lists, limits and scopes",
		"Pages and cursors, how much may be sent how fast, and what a key may do."},
	{"errors", "/errors", "Errors", "Errors", "One envelope, stable codes, and which of them to send again."},
	{"going-live", "/going-live", "Going live", "Going live", "What to have in place before the first real rider comes."},
	{"mails", "/mails", "Mails", "Mails, for operators",
		"How mails are set up, who is told what, and what happens while the mail server is away."},
	{"reference", "/reference", "Reference", "API reference", "Every call, field and example, with a console that calls the sandbox."},
}

// view is what a template sees.
type view struct {
	*facts
	Page     guide
	Here     string // path of the page below the site
	Body     template.HTML
	Contents []heading
	Before   *guide
	After    *guide
	Code     *codePage // of a page about a code
}

// heading is one of a page's sections.
type heading struct{ ID, Text string }

// render makes every page, by the path that is asked for.
func render(o Options, root string) (map[string]*answer, error) {
	d, err := readDescription(o.Description())
	if err != nil {
		return nil, err
	}
	f := newFacts(o, d, root)
	t, err := template.New("").Funcs(template.FuncMap{
		"asset": func(file string) string { return root + assetNames()[file] },
		"link":  func(path string) string { return root + path },
		"text":  func(s string) template.HTML { return inline(s, root) },
	}).ParseFS(pageFiles, "pages/*.html")
	if err != nil {
		return nil, err
	}
	pages := map[string]*answer{}
	for i, g := range guides {
		v := view{facts: f, Page: g, Here: g.Path}
		if i > 0 {
			v.Before = &guides[i-1]
		}
		if i+1 < len(guides) {
			v.After = &guides[i+1]
		}
		if err := v.add(t, g.File+".html", pages); err != nil {
			return nil, err
		}
	}
	reference := pages[Prefix+"/reference"]
	reference.policy = referencePolicy
	for i := range f.Codes {
		c := &f.Codes[i]
		v := view{facts: f, Here: "/errors/" + c.Name, Code: c, Page: guide{Path: "/errors", Name: "Errors", Title: c.Name, Summary: c.What}}
		if err := v.add(t, "code.html", pages); err != nil {
			return nil, err
		}
	}
	v := view{facts: f, Here: missing, Page: guide{Path: missing, Title: "This page does not exist"}}
	if err := v.add(t, "missing.html", pages); err != nil {
		return nil, err
	}
	pages[Prefix+missing].status = http.StatusNotFound
	pages[missing] = pages[Prefix+missing]
	delete(pages, Prefix+missing)
	return pages, nil
}

// add puts the page into the layout and among the others.
func (v *view) add(t *template.Template, file string, pages map[string]*answer) error {
	var body bytes.Buffer
	if err := t.ExecuteTemplate(&body, file, v); err != nil {
		return err
	}
	v.Body, v.Contents = finish(body.String())
	layout := "layout.html"
	if file == "reference.html" {
		layout = "bare.html"
	}
	var page bytes.Buffer
	if err := t.ExecuteTemplate(&page, layout, v); err != nil {
		return err
	}
	a := newAnswer("text/html; charset=utf-8", page.Bytes())
	a.policy = strictPolicy
	pages[Prefix+v.Here] = a
	return nil
}

var (
	reHeading = regexp.MustCompile(`<h2 id="([a-z0-9-]+)">([^<]+)</h2>`)
	reTable   = regexp.MustCompile(`<table aria-label="([^"]+)">`)
)

// finish gives sections a link to themselves, and lets the keyboard reach what
// scrolls sideways.
func finish(body string) (template.HTML, []heading) {
	var contents []heading
	for _, h := range reHeading.FindAllStringSubmatch(body, -1) {
		contents = append(contents, heading{ID: h[1], Text: html.UnescapeString(h[2])})
	}
	body = reHeading.ReplaceAllString(body, `<h2 id="$1">$2 <a class="anchor" href="#$1" aria-label="Link to: $2">#</a></h2>`)
	body = reTable.ReplaceAllString(body, `<div class="wide" role="region" tabindex="0" aria-label="$1"><table>`)
	body = strings.ReplaceAll(body, "</table>", "</table></div>")
	body = strings.ReplaceAll(body, "<pre>", `<pre tabindex="0">`)
	return template.HTML(body), contents //nolint:gosec // made by html/template from our own pages
}

var (
	reInlineCode = regexp.MustCompile("`([^`]+)`")
	reInlineLink = regexp.MustCompile(`\[([^\]]+)\]\((/[a-z/#-]+)\)`)
)

// inline is a sentence of ours as HTML: `code`, and [a link](/below-the-site).
func inline(text, root string) template.HTML {
	s := html.EscapeString(text)
	s = reInlineCode.ReplaceAllString(s, "<code>$1</code>")
	s = reInlineLink.ReplaceAllString(s, `<a href="`+html.EscapeString(root)+`$2">$1</a>`)
	return template.HTML(s) //nolint:gosec // escaped above; the texts are ours
}

// current marks the entry of the navigation that leads here.
func (v *view) Current(path string) bool { return v.Page.Path == path }

// Guides are those of the navigation.
func (v *view) Guides() []guide { return guides }

// codePage is a code with what we and the description say about it.
type codePage struct {
	*errorCode
	What   string
	Causes []string
	Todo   []string
	Retry  retry
}

func codePages(d *description) []codePage {
	pages := make([]codePage, 0, len(explanations))
	for _, e := range explanations {
		if c := d.codes[e.code]; c != nil {
			pages = append(pages, codePage{errorCode: c, What: e.what, Causes: e.causes, Todo: e.todo, Retry: e.retry})
		}
	}
	slices.SortStableFunc(pages, func(a, b codePage) int { return a.Status - b.Status })
	return pages
}

// StatusLine is the status with its name, such as 409 Conflict.
func (c codePage) StatusLine() string {
	return fmt.Sprintf("%d %s", c.Status, http.StatusText(c.Status))
}
