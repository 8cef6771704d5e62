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
	"sort"
	"strings"
)

//go:embed pages
var pageFiles embed.FS

// missing is the page for paths that do not exist. No request can have this path.
const missing = "missing"

// guide is a page that is written by hand.
type guide struct {
	File    string // below pages
	Path    string // below the site; empty: the start page
	Name    string // in the navigation
	Title   string
	Summary string
}

// guides lists the guides in reading order.
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
	{"agents", "/agents", "For agents", "For agents and scripts",
		"Every page as Markdown, an index of them, and `waybill mcp`: tools over this API for agents."},
	{"mails", "/mails", "Mails", "Mails, for operators",
		"How mails are set up, who is told what, and what happens while the mail server is away."},
	{"dispatch", "/dispatch", "Dispatch", "Connect your dispatch, for operators",
		"One feed of the deliveries of all customers, one call that moves many of them, and what to do when an answer is lost."},
	{"reference", "/reference", "Reference", "API reference", "Every call, field and example, with a console that calls the sandbox."},
}

// view holds the data of a template.
type view struct {
	*facts
	Page     guide
	Here     string // path of the page below the site
	Body     template.HTML
	Contents []heading
	Before   *guide
	After    *guide
	Code     *codePage // of a page about a code

	file     string // its template
	markdown string
	summary  string // as Markdown
}

// heading holds a heading of a page.
type heading struct{ ID, Text string }

// render makes every page, by request path.
func render(o Options, root string) (map[string]*answer, error) {
	text := o.Description()
	d, err := readDescription(text)
	if err != nil {
		return nil, err
	}
	f := newFacts(o, d, root)
	t, err := template.New("").Funcs(template.FuncMap{
		"asset":    func(file string) string { return root + assetNames()[file] },
		"guides":   func() []guide { return guides },
		"link":     func(path string) string { return root + path },
		"markdown": markdownPath,
		"text":     func(s string) template.HTML { return inline(s, root) },
	}).ParseFS(pageFiles, "pages/*.html")
	if err != nil {
		return nil, err
	}
	read, codes := f.views()
	nowhere := &view{facts: f, Here: missing, file: missing, Page: guide{Path: missing, Title: "This page does not exist"}}
	all := slices.Concat(read, codes, []*view{nowhere})
	bodies := map[*view]string{}
	for _, v := range all {
		var body bytes.Buffer
		if err := t.ExecuteTemplate(&body, v.file+".html", v); err != nil {
			return nil, err
		}
		bodies[v] = body.String()
		v.Body, v.Contents = finish(body.String())
	}
	anchors := anchorsOf(all)
	pages := map[string]*answer{}
	for _, v := range all {
		if err := v.convert(bodies[v], anchors); err != nil {
			return nil, fmt.Errorf("%s as Markdown: %w", v.Here, err)
		}
		if v.file == "reference" {
			if v.markdown, err = referenceMarkdown(text, v); err != nil {
				return nil, err
			}
		}
		if err := v.add(t, pages); err != nil {
			return nil, err
		}
	}
	pages[Prefix+"/reference"].policy = referencePolicy
	pages[missing] = pages[Prefix+missing]
	pages[missing].status, pages[missing].markdown.status = http.StatusNotFound, http.StatusNotFound
	delete(pages, Prefix+missing)
	delete(pages, Prefix+markdownPath(missing))
	list := textAnswer("text/plain; charset=utf-8", index(f, read, codes))
	pages[IndexPath], pages[Prefix+IndexPath] = list, list
	pages[fullPath] = textAnswer("text/plain; charset=utf-8", full(f, slices.Concat(read, codes)))
	return pages, nil
}

// views returns the guides in reading order, and a page about each code.
func (f *facts) views() (read, codes []*view) {
	for i, g := range guides {
		v := &view{facts: f, Page: g, Here: g.Path, file: g.File}
		if i > 0 {
			v.Before = &guides[i-1]
		}
		if i+1 < len(guides) {
			v.After = &guides[i+1]
		}
		read = append(read, v)
	}
	for i := range f.Codes {
		c := &f.Codes[i]
		codes = append(codes, &view{facts: f, Here: "/errors/" + c.Name, Code: c, file: "code",
			Page: guide{Path: "/errors", Name: "Errors", Title: c.Name, Summary: c.What}})
	}
	return read, codes
}

// add renders the page in its layout and adds it to pages, together with its Markdown.
func (v *view) add(t *template.Template, pages map[string]*answer) error {
	layout := "layout.html"
	if v.file == "reference" {
		layout = "bare.html"
	}
	var page bytes.Buffer
	if err := t.ExecuteTemplate(&page, layout, v); err != nil {
		return err
	}
	a := newAnswer("text/html; charset=utf-8", page.Bytes())
	a.policy = strictPolicy
	a.markdown = textAnswer(mediaMarkdown, v.markdown)
	pages[Prefix+v.Here] = a
	pages[Prefix+markdownPath(v.Here)] = a.markdown
	return nil
}

// textAnswer returns a text for agents.
func textAnswer(contentType, text string) *answer {
	a := newAnswer(contentType, []byte(text))
	a.policy = strictPolicy
	return a
}

// anchorsOf returns the Markdown anchors of the sections, by page and then by ID.
func anchorsOf(pages []*view) map[string]map[string]string {
	anchors := map[string]map[string]string{}
	for _, v := range pages {
		anchors[v.Here] = map[string]string{}
		for _, h := range v.Contents {
			anchors[v.Here][h.ID] = slug(h.Text)
		}
	}
	return anchors
}

// convert converts the page to Markdown. A link to another page leads to its Markdown.
func (v *view) convert(body string, anchors map[string]map[string]string) error {
	c := converter{link: func(href string) string {
		path, id, hasID := strings.Cut(href, "#")
		here := v.Here
		if path != "" {
			below, ours := strings.CutPrefix(path, v.Root)
			if _, isPage := anchors[below]; !ours || !isPage {
				return href
			}
			here, path = below, v.Root+markdownPath(below)
		}
		if hasID {
			path += "#" + anchors[here][id]
		}
		return path
	}}
	var err error
	if v.summary, err = c.convert(string(inline(v.Page.Summary, v.Root))); err != nil {
		return err
	}
	text, err := c.convert(body)
	v.markdown = "# " + v.Page.Title + "\n\n"
	if v.summary != "" {
		v.markdown += v.summary + "\n\n"
	}
	v.markdown += text + "\n"
	return err
}

var (
	reHeading = regexp.MustCompile(`<h2 id="([a-z0-9-]+)">([^<]+)</h2>`)
	reTable   = regexp.MustCompile(`<table aria-label="([^"]+)">`)
)

// finish adds links to the headings, and makes elements that scroll sideways reachable by keyboard.
func finish(body string) (template.HTML, []heading) {
	var contents []heading
	for _, h := range reHeading.FindAllStringSubmatch(body, -1) {
		contents = append(contents, heading{ID: h[1], Text: html.UnescapeString(h[2])})
	}
	body = reHeading.ReplaceAllString(body, `<h2 id="$1">$2 <a class="anchor" href="#$1" aria-label="Link to: $2">#</a></h2>`)
	body = reTable.ReplaceAllString(body, `<div class="wide" role="region" tabindex="0" aria-label="$1"><table>`)
	body = strings.ReplaceAll(body, "</table>", "</table></div>")
	body = strings.ReplaceAll(body, "<pre>", `<pre tabindex="0">`)
	return template.HTML(body), contents //nolint:gosec // made by templates from our own pages
}

var (
	reInlineCode = regexp.MustCompile("`([^`]+)`")
	reInlineLink = regexp.MustCompile(`\[([^\]]+)\]\((/[a-z/#-]+)\)`)
)

// inline returns a sentence of ours as HTML: `code`, and [a link](/below-the-site).
func inline(text, root string) template.HTML {
	s := html.EscapeString(text)
	s = reInlineCode.ReplaceAllString(s, "<code>$1</code>")
	s = reInlineLink.ReplaceAllString(s, `<a href="`+html.EscapeString(root)+`$2">$1</a>`)
	return template.HTML(s) //nolint:gosec // escaped above; the texts are ours
}

// codePage holds a code with what we and the description say about it.
type codePage struct {
	*errorCode
	StatusLine string // the status with its name, such as 409 Conflict
	What       string
	Causes     []string
	Todo       []string
	Retry      retry
}

func codePages(d *description) []codePage {
	pages := make([]codePage, 0, len(explanations))
	for _, e := range explanations {
		if c := d.codes[e.code]; c != nil {
			pages = append(pages, codePage{errorCode: c, What: e.what, Causes: e.causes, Todo: e.todo, Retry: e.retry,
				StatusLine: fmt.Sprintf("%d %s", c.Status, http.StatusText(c.Status))})
		}
	}
	sort.SliceStable(pages, func(i, j int) bool { return pages[i].Status < pages[j].Status })
	return pages
}
