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

//go:embed layouts
var layoutFiles embed.FS

// missing is the path of the page for paths that do not exist. No request can have this path.
const missing = "missing"

// moved maps former paths of pages to their paths of today.
var moved = map[string]string{"/first-delivery": "/quickstart"}

// builder makes the pages of a site.
type builder struct {
	facts       *facts
	root        string // path of the site for browsers
	operators   bool
	groups      []group
	description []byte // of the API, as JSON
	layouts     *template.Template
	has         map[string]bool // the paths of all pages
}

// page is one page while it is made. Templates read it.
type page struct {
	*guide
	*facts
	Groups        []group
	Operators     bool
	Code          *codePage // of a page about an error code
	Before, After *guide
	Alternate     string // path of its Markdown; empty: it has none
	Body          template.HTML
	Contents      []heading // of the second level

	site     *builder
	markdown string
	sections []*section
}

// render makes every page, by request path.
func (b *builder) render() (map[string]*answer, error) {
	var err error
	b.layouts, err = template.New("").Funcs(template.FuncMap{
		"asset": func(file string) string { return b.root + assetNames()[file] },
		"link":  func(path string) string { return b.root + path },
		"plain": func(s string) string { return strings.ReplaceAll(s, "`", "") },
		"text":  codeSpans,
	}).ParseFS(layoutFiles, "layouts/*.html")
	if err != nil {
		return nil, err
	}
	guides, codes, err := b.pages()
	if err != nil {
		return nil, err
	}
	nowhere := b.page(&guide{Path: missing, Title: "Page not found", Summary: "No page has this address. It may have moved.",
		Source: "Go to the [first page]({{link \"index\"}}), or choose another one:\n\n{{cards}}"})
	all := slices.Concat(guides, codes)
	b.has = map[string]bool{}
	for _, p := range all {
		b.has[p.Path] = true
	}
	answers := map[string]*answer{}
	for _, p := range append(all, nowhere) {
		if err := p.make(); err != nil {
			return nil, fmt.Errorf("%s: %w", p.File, err)
		}
		if err := b.add(answers, p, "page.html"); err != nil {
			return nil, err
		}
		answers[Prefix+p.Path].markdown = textAnswer(mediaMarkdown, p.markdown)
		answers[Prefix+p.Alternate] = answers[Prefix+p.Path].markdown
	}
	answers[missing] = answers[Prefix+missing]
	answers[missing].status, answers[missing].markdown.status = http.StatusNotFound, http.StatusNotFound
	delete(answers, Prefix+missing)
	delete(answers, Prefix+nowhere.Alternate)
	answers[Prefix+searchPath] = searchIndex(b.root, all)
	if b.operators {
		return answers, nil
	}
	for from, to := range moved {
		answers[Prefix+from] = &answer{status: http.StatusMovedPermanently, location: b.root + to, plain: func() []byte { return nil }}
	}
	list := textAnswer("text/plain; charset=utf-8", index(b.facts, guides, codes))
	answers[IndexPath], answers[Prefix+IndexPath] = list, list
	answers[fullPath] = textAnswer("text/plain; charset=utf-8", full(b.facts, all))
	try := b.page(&guide{Path: tryPath, Title: "Try calls", Summary: "Every call of the API with a form that sends it to the sandbox."})
	if err := b.add(answers, try, "try.html"); err != nil {
		return nil, err
	}
	answers[Prefix+tryPath].policy = tryPolicy
	return answers, nil
}

// tryPath is the path of the page that sends calls.
const tryPath = "/try"

// page returns a page that is not made yet.
func (b *builder) page(g *guide) *page {
	return &page{guide: g, facts: b.facts, Groups: b.groups, Operators: b.operators, site: b}
}

// pages returns the guides in reading order, and a page about each error code.
func (b *builder) pages() (guides, codes []*page, err error) {
	for _, group := range b.groups {
		for _, g := range group.Guides {
			p := b.page(g)
			if n := len(guides); n > 0 {
				p.Before, guides[n-1].After = guides[n-1].guide, g
			}
			guides = append(guides, p)
		}
	}
	if b.operators {
		return guides, nil, nil
	}
	const template = "layouts/code.md"
	text, err := layoutFiles.ReadFile(template)
	for i := range b.facts.Codes {
		c := &b.facts.Codes[i]
		p := b.page(&guide{File: template, Path: "/errors/" + c.Name, Title: c.Name, Summary: c.What, Source: string(text)})
		p.Code = c
		codes = append(codes, p)
	}
	return guides, codes, err
}

// make writes the Markdown of the page and renders its body.
func (p *page) make() error {
	p.Alternate = markdownPath(p.Path)
	text, err := p.write(false)
	if err != nil {
		return err
	}
	p.markdown = "# " + p.Title + "\n\n" + p.Summary + "\n\n" + reComment.ReplaceAllString(text, "") + "\n"
	if text, err = p.write(true); err != nil {
		return err
	}
	m := &markdown{page: p}
	body, err := m.toHTML(text)
	p.Body = template.HTML(body) //nolint:gosec // rendered from our own pages
	p.sections = m.sections
	for _, s := range m.sections {
		if s.Level == 2 {
			p.Contents = append(p.Contents, s.heading)
		}
	}
	return err
}

var reComment = regexp.MustCompile(`(?m)^<!--.*-->\n?`)

// add renders the page in a layout.
func (b *builder) add(answers map[string]*answer, p *page, layout string) error {
	var out bytes.Buffer
	if err := b.layouts.ExecuteTemplate(&out, layout, p); err != nil {
		return err
	}
	a := newAnswer("text/html; charset=utf-8", out.Bytes())
	a.policy = strictPolicy
	answers[Prefix+p.Path] = a
	return nil
}

// textAnswer returns a text for agents.
func textAnswer(contentType, text string) *answer {
	a := newAnswer(contentType, []byte(text))
	a.policy = strictPolicy
	return a
}

var reCodeSpan = regexp.MustCompile("`([^`]+)`")

// codeSpans returns a sentence of ours with its code spans as HTML.
func codeSpans(text string) template.HTML {
	return template.HTML(reCodeSpan.ReplaceAllString(html.EscapeString(text), "<code>$1</code>")) //nolint:gosec // escaped
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
