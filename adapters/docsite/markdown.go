package docsite

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
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

// converter turns the HTML of a page into Markdown, so that everything is written once. It knows
// the elements of our pages, and fails on any other.
type converter struct {
	// link returns the address of a link in Markdown.
	link func(href string) string
}

// element is a part of a page. With an empty tag it is text.
type element struct {
	tag, text string
	attrs     map[string]string
	children  []*element
}

// convert returns the body of a page as Markdown, without a final line end.
func (c *converter) convert(body string) (string, error) {
	root, err := parseElements(body)
	if err != nil {
		return "", err
	}
	return c.blocks(root), nil
}

// elements lists the elements of our pages, with true for an inline one.
var elements = map[string]bool{
	"a": true, "code": true, "strong": true, "em": true, "br": true, "small": true, "span": true,
	"p": false, "div": false, "main": false, "h1": false, "h2": false, "h3": false, "ul": false, "ol": false, "li": false, "pre": false,
	"dl": false, "dt": false, "dd": false, "table": false, "thead": false, "tbody": false, "tr": false, "th": false, "td": false,
}

func parseElements(body string) (*element, error) {
	d := xml.NewDecoder(strings.NewReader("<main>" + body + "</main>"))
	d.Strict, d.AutoClose, d.Entity = false, []string{"br"}, xml.HTMLEntity
	root := &element{}
	open := []*element{root}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		parent := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			if _, known := elements[t.Name.Local]; !known {
				return nil, fmt.Errorf("the element %s has no form in Markdown", t.Name.Local)
			}
			e := &element{tag: t.Name.Local, attrs: map[string]string{}}
			for _, a := range t.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			parent.children = append(parent.children, e)
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			parent.children = append(parent.children, &element{text: string(t)})
		}
	}
}

// isInline reports whether an element is part of a line of text.
func (e *element) isInline() bool { return e.tag == "" || elements[e.tag] }

// blocks returns the paragraphs, lists and tables in an element.
func (c *converter) blocks(e *element) string {
	var blocks []string
	var line element // the current line of text
	end := func() {
		if text := c.inline(&line); text != "" {
			blocks = append(blocks, text)
		}
		line.children = nil
	}
	for _, child := range e.children {
		if child.isInline() {
			line.children = append(line.children, child)
			continue
		}
		end()
		if text := c.block(child); text != "" {
			blocks = append(blocks, text)
		}
	}
	end()
	return strings.Join(blocks, "\n\n")
}

func (c *converter) block(e *element) string {
	switch e.tag {
	case "h1", "h2", "h3":
		return strings.Repeat("#", int(e.tag[1]-'0')) + " " + c.inline(e)
	case "ul", "ol":
		return c.list(e)
	case "dl":
		return c.facts(e)
	case "pre":
		return fenced(e)
	case "table":
		return c.table(e)
	}
	return c.blocks(e)
}

func (c *converter) list(e *element) string {
	var items []string
	for _, item := range e.children {
		if item.tag == "" {
			continue // white space
		}
		bullet := "- "
		if e.tag == "ol" {
			bullet = fmt.Sprintf("%d. ", len(items)+1)
		}
		text := strings.ReplaceAll(c.blocks(item), "\n\n", "\n") // items are short
		items = append(items, bullet+strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(bullet))))
	}
	return strings.Join(items, "\n")
}

// facts returns a list of terms with their explanations.
func (c *converter) facts(e *element) string {
	var b strings.Builder
	for _, child := range e.children {
		switch child.tag {
		case "dt":
			b.WriteString("\n- **" + c.inline(child) + "**: ")
		case "dd":
			b.WriteString(c.inline(child))
		}
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// fenced returns code unchanged. Code that readers can paste is marked as shell.
func fenced(e *element) string {
	code := strings.TrimSuffix(e.plain(), "\n")
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	language := ""
	if _, runs := e.attrs["data-run"]; runs {
		language = "sh"
	}
	return fence + language + "\n" + code + "\n" + fence
}

// plain returns the text of an element and of all in it.
func (e *element) plain() string {
	text := e.text
	for _, child := range e.children {
		text += child.plain()
	}
	return text
}

func (c *converter) table(e *element) string {
	var rows [][]string
	c.rows(e, &rows)
	if len(rows) == 0 {
		return ""
	}
	if len(e.all("thead")) == 0 {
		rows = append([][]string{make([]string, len(rows[0]))}, rows...)
	}
	var b strings.Builder
	for i, cells := range rows {
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (c *converter) rows(e *element, rows *[][]string) {
	for _, row := range e.all("tr") {
		var cells []string
		for _, cell := range row.children {
			if cell.tag == "td" || cell.tag == "th" {
				cells = append(cells, strings.ReplaceAll(c.inline(cell), "|", `\|`))
			}
		}
		*rows = append(*rows, cells)
	}
}

// all returns the elements with a tag, at any depth.
func (e *element) all(tag string) (found []*element) {
	for _, child := range e.children {
		if child.tag == tag {
			found = append(found, child)
		}
		found = append(found, child.all(tag)...)
	}
	return found
}

// inline returns an element as one line of text.
func (c *converter) inline(e *element) string {
	var b strings.Builder
	for _, child := range e.children {
		b.WriteString(c.span(child))
	}
	return strings.TrimSpace(reSpace.ReplaceAllString(b.String(), " "))
}

var (
	reSpace    = regexp.MustCompile(`[ \t\n]+`)
	reMarkedUp = regexp.MustCompile("[\\\\`*<]|\\[|\\]")
)

func (c *converter) span(e *element) string {
	switch e.tag {
	case "":
		return reMarkedUp.ReplaceAllString(e.text, `\$0`)
	case "code":
		return codeSpan(e.plain())
	case "strong":
		return "**" + c.inline(e) + "**"
	case "em":
		return "*" + c.inline(e) + "*"
	case "a":
		return "[" + c.inline(e) + "](" + c.link(e.attrs["href"]) + ")"
	case "br":
		return " "
	case "div", "p":
		return " " + c.inline(e) + " "
	}
	var b strings.Builder // its spaces separate it from its neighbours
	for _, child := range e.children {
		b.WriteString(c.span(child))
	}
	return b.String()
}

func codeSpan(code string) string {
	if strings.Contains(code, "`") {
		return "`` " + code + " ``"
	}
	return "`" + code + "`"
}

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
	}, heading)
}
