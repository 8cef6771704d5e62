package docsite

import (
	"bytes"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// mediaMarkdown is the media type of the Markdown pages.
const mediaMarkdown = "text/markdown; charset=utf-8"

// markdownPath returns the path of a page as Markdown, below the site. The start page has no name
// to which .md could be added.
func markdownPath(here string) string {
	if here == "" {
		return "/index.md"
	}
	return here + ".md"
}

// heading holds a heading of a page.
type heading struct {
	ID, Text string
	Level    int
}

// section is a part of a page that a search finds.
type section struct {
	heading
	words strings.Builder
}

// markdown renders one page. The words after the language of a fence say what it is: run, answer,
// tab, file=NAME.
type markdown struct {
	page     *page
	source   []byte
	sections []*section     // the first one is the text before all headings
	tables   map[string]int // how many have a name
	err      error          // the first link that leads nowhere, or HTML that is not a comment
}

// toHTML renders Markdown.
func (m *markdown) toHTML(source string) (string, error) {
	m.source = []byte(source)
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(m, 100))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(m, 100))),
	)
	var out bytes.Buffer
	err := md.Convert(m.source, &out, parser.WithContext(parser.NewContext(parser.WithIDs(&anchors{}))))
	if err == nil {
		err = m.err
	}
	return out.String(), err
}

// anchors makes the IDs of headings.
type anchors struct{ count map[string]int }

// Generate returns the anchor that GitHub gives a heading.
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	id := slug(string(value))
	if a.count == nil {
		a.count = map[string]int{}
	}
	a.count[id]++
	if n := a.count[id]; n > 1 {
		id += "-" + strconv.Itoa(n-1)
	}
	return []byte(id)
}

// Put does nothing: no heading has an ID of its own.
func (a *anchors) Put([]byte) {}

// slug returns the anchor that Markdown renderers give a heading.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

// Transform resolves links, groups the fences that are tabs, and collects the sections.
func (m *markdown) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	m.sections = []*section{{}}
	var fences []*ast.FencedCodeBlock
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(m.resolve(string(n.Destination)))
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			anchor, _ := id.([]byte)
			m.sections = append(m.sections, &section{heading: heading{ID: string(anchor), Text: m.plain(n), Level: n.Level}})
		case *ast.FencedCodeBlock:
			fences = append(fences, n)
		case *ast.Text, *ast.String:
			m.add(m.plain(n))
		}
		if n.Type() == ast.TypeBlock {
			m.add(" ")
		}
		return ast.WalkContinue, nil
	})
	for _, fence := range fences {
		m.group(fence)
	}
}

// add adds words to the current section.
func (m *markdown) add(words string) {
	last := m.sections[len(m.sections)-1]
	last.words.WriteString(words)
}

// plain returns the text in a node.
func (m *markdown) plain(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Text:
		words := string(n.Segment.Value(m.source))
		if n.SoftLineBreak() {
			words += " "
		}
		return words
	case *ast.String:
		return string(n.Value)
	}
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		b.WriteString(m.plain(child))
	}
	return b.String()
}

// resolve returns the address of a link in HTML. A link to the Markdown of a page becomes one to
// the page.
func (m *markdown) resolve(to string) string {
	here := &url.URL{Path: m.page.site.root + markdownPath(m.page.Path)}
	link, err := here.Parse(to)
	if err != nil {
		m.fail("the link %q: %v", to, err)
		return to
	}
	below, ours := strings.CutPrefix(link.Path, m.page.site.root)
	name, isPage := strings.CutSuffix(below, ".md")
	if link.Host != "" || !ours || !isPage || to == "" || strings.HasPrefix(to, "#") {
		return to
	}
	if name == "/index" {
		name = ""
	}
	if !m.page.site.has[name] {
		m.fail("the link %q leads to no page", to)
	}
	link.Path = m.page.site.root + name
	return link.String()
}

func (m *markdown) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("%s: "+format, append([]any{m.page.File}, args...)...)
	}
}

// tabGroup is a node with fences of which a reader sees one.
type tabGroup struct{ ast.BaseBlock }

var kindTabGroup = ast.NewNodeKind("TabGroup")

// Kind returns the kind of the node.
func (*tabGroup) Kind() ast.NodeKind { return kindTabGroup }

// Dump prints the node.
func (t *tabGroup) Dump(source []byte, level int) { ast.DumpHelper(t, source, level, nil, nil) }

// group moves a fence and the next ones into a node, if they are tabs.
func (m *markdown) group(first *ast.FencedCodeBlock) {
	if first.Parent().Kind() == kindTabGroup || !readInfo(first, m.source).tab {
		return
	}
	tabs := &tabGroup{}
	first.Parent().InsertBefore(first.Parent(), first, tabs)
	var next ast.Node = first
	for {
		fence, ok := next.(*ast.FencedCodeBlock)
		if !ok || !readInfo(fence, m.source).tab {
			return
		}
		next = fence.NextSibling()
		tabs.AppendChild(tabs, fence)
	}
}

// info holds what a fence says about its code.
type info struct {
	language, file   string
	run, answer, tab bool
}

func readInfo(n *ast.FencedCodeBlock, source []byte) (i info) {
	if n.Info == nil {
		return i
	}
	for at, word := range strings.Fields(string(n.Info.Segment.Value(source))) {
		file, isFile := strings.CutPrefix(word, "file=")
		switch {
		case at == 0:
			i.language = word
		case isFile:
			i.file = file
		case word == "run":
			i.run = true
		case word == "answer":
			i.answer = true
		case word == "tab":
			i.tab = true
		}
	}
	return i
}

// RegisterFuncs registers what this package renders otherwise than goldmark.
func (m *markdown) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, m.renderHeading)
	r.Register(ast.KindFencedCodeBlock, m.renderFence)
	r.Register(ast.KindHTMLBlock, m.dropComment)
	r.Register(kindTabGroup, wrap(`<div class="tabs">`+"\n", "</div>\n"))
	r.Register(tables.KindTable, m.renderTable)
}

// wrap returns a renderer that puts a node between two texts.
func wrap(before, after string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString(before)
		} else {
			_, _ = w.WriteString(after)
		}
		return ast.WalkContinue, nil
	}
}

func (m *markdown) renderHeading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.Heading)
	value, _ := n.AttributeString("id")
	anchor, _ := value.([]byte)
	id := html.EscapeString(string(anchor))
	if entering {
		fmt.Fprintf(w, `<h%d id="%s">`, n.Level, id)
		return ast.WalkContinue, nil
	}
	if n.Level <= 3 {
		fmt.Fprintf(w, ` <a class="anchor" href="#%s" aria-label="Link to: %s">#</a>`, id, html.EscapeString(m.plain(n)))
	}
	fmt.Fprintf(w, "</h%d>\n", n.Level)
	return ast.WalkContinue, nil
}

// renderTable makes a table that is too wide scroll by itself, also by keyboard. Its name is the
// heading above it.
func (m *markdown) renderTable(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		_, _ = w.WriteString("</table></div>\n")
		return ast.WalkContinue, nil
	}
	name := m.page.Title
	for n := node; n != nil; n = n.PreviousSibling() {
		if h, ok := n.(*ast.Heading); ok {
			name = m.plain(h)
			break
		}
	}
	if m.tables == nil {
		m.tables = map[string]int{}
	}
	if m.tables[name]++; m.tables[name] > 1 { // names of regions differ
		name += ", table " + strconv.Itoa(m.tables[name])
	}
	fmt.Fprintf(w, `<div class="wide" role="region" tabindex="0" aria-label="%s"><table>`+"\n", html.EscapeString(name))
	return ast.WalkContinue, nil
}

func (m *markdown) renderFence(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.FencedCodeBlock)
	var code strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		code.Write(line.Value(m.source))
	}
	i := readInfo(n, m.source)
	switch i.language {
	case "cards":
		return ast.WalkSkipChildren, m.page.site.layouts.ExecuteTemplate(w, "cards.html", m.page)
	case "drawing":
		svg, err := sources.ReadFile("drawings/" + strings.TrimSpace(code.String()) + ".svg")
		fmt.Fprintf(w, "<figure class=\"drawing\" tabindex=\"0\">\n%s</figure>\n", svg)
		return ast.WalkSkipChildren, err
	}
	if i.tab {
		fmt.Fprintf(w, `<section data-language="%s">`+"\n", html.EscapeString(i.name()))
	}
	if caption := i.caption(); caption != "" {
		fmt.Fprintf(w, `<p class="caption">%s</p>`+"\n", caption)
	}
	mark := ""
	switch {
	case i.run:
		mark = " data-run"
	case i.answer:
		mark = " data-answer"
	}
	fmt.Fprintf(w, `<pre tabindex="0"%s><code>%s</code></pre>`+"\n", mark, html.EscapeString(strings.TrimSuffix(code.String(), "\n")))
	if i.tab {
		_, _ = w.WriteString("</section>\n")
	}
	return ast.WalkSkipChildren, nil
}

// name returns the name of the language for readers.
func (i info) name() string {
	for framework, name := range map[string]string{"laravel": "Laravel", "flask": "Flask", "express": "Express"} {
		if strings.Contains(i.file, framework) {
			return name
		}
	}
	for _, l := range languages {
		if l.fence == i.language {
			return l.name
		}
	}
	return i.language
}

// caption returns what stands above the code.
func (i info) caption() string {
	switch {
	case i.file != "":
		return "<code>" + html.EscapeString(i.file) + "</code>"
	case i.tab:
		return html.EscapeString(i.name())
	case i.answer:
		return "Response"
	}
	return ""
}

// dropComment leaves comments out, and refuses other HTML: agents read the Markdown as it is.
func (m *markdown) dropComment(_ util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if n := node.(*ast.HTMLBlock); entering && n.HTMLBlockType != ast.HTMLBlockType2 {
		return ast.WalkStop, fmt.Errorf("%s has HTML: %q", m.page.File, n.Lines().Value(source))
	}
	return ast.WalkSkipChildren, nil
}
