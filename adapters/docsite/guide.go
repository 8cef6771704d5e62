package docsite

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"strings"
	"text/template"
)

//go:embed guides operators drawings samples
var sources embed.FS

// guide is a page that is written by hand, as Markdown with the syntax of text/template.
type guide struct {
	File    string // in sources
	Path    string // below the site; empty: the start page
	Title   string // its first heading
	Nav     string // its name in the navigation
	Summary string // its purpose in one sentence, as Markdown
	Source  string // the template
}

// group is a part of the navigation.
type group struct {
	Name   string // empty: before all groups
	Guides []*guide
}

// order lists the files of a site's guides by group, in reading order.
type order []struct {
	name  string
	files []string
}

var customersOrder = order{
	{"", []string{"start"}},
	{"Get started", []string{"quickstart", "authentication", "testing"}},
	{"Deliveries", []string{"quotes", "deliveries", "recipients", "bulk", "idempotency"}},
	{"Events", []string{"webhooks", "events"}},
	{"Sandbox", []string{"sandbox"}},
	{"Reference", []string{"reference", "errors", "limits", "clients", "agents", "changelog"}},
	{"Production", []string{"going-live", "support"}},
}

var operatorsOrder = order{
	{"", []string{"start"}},
	{"Set up", []string{"install", "configure", "load-balancers", "email", "oidc"}},
	{"Databases", []string{"pgbouncer", "redis", "replicas", "citus"}},
	{"Run", []string{"monitoring", "backup", "upgrade", "erasure", "dispatch"}},
	{"Engineers", []string{"architecture"}},
}

// readGuides reads the guides of a folder of sources.
func readGuides(folder string, o order) ([]group, error) {
	var groups []group
	for _, part := range o {
		g := group{Name: part.name}
		for _, name := range part.files {
			read, err := readGuide(path.Join(folder, name+".md"))
			if err != nil {
				return nil, err
			}
			if name != "start" {
				read.Path = "/" + name
			}
			g.Guides = append(g.Guides, read)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// readGuide splits a file into its front matter, which is between two lines of --- and has one
// `name: value` a line, and its body.
func readGuide(file string) (*guide, error) {
	text, err := sources.ReadFile(file)
	if err != nil {
		return nil, err
	}
	head, body, found := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
	g := &guide{File: file, Source: strings.TrimSpace(body)}
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "title":
			g.Title = value
		case "nav":
			g.Nav = value
		case "summary":
			g.Summary = value
		}
	}
	if !found || g.Title == "" || g.Nav == "" || g.Summary == "" {
		return nil, fmt.Errorf("%s: the front matter lacks title, nav or summary", file)
	}
	return g, nil
}

// write executes the template of a page and returns Markdown: for readers, or, with forHTML, the
// form that toHTML reads. They differ where HTML shows more than Markdown can, such as a drawing.
func (p *page) write(forHTML bool) (string, error) {
	t, err := template.New(p.File).Funcs(template.FuncMap{
		// cell returns a text for a cell of a table.
		"cell": inCell,
		// cards lists all guides of the site.
		"cards": func() string { return p.cards(forHTML) },
		// codes returns code spans.
		"codes": func(values []string) string { return "`" + strings.Join(values, "`, `") + "`" },
		// drawing shows the file of a name in drawings.
		"drawing": func(name string) (string, error) { return drawing(name, forHTML) },
		// link returns the address of a guide, for the start page: its own address is not in the
		// folder of the others.
		"link": func(name string) string { return p.site.root + "/" + name + ".md" },
		// reference returns the description of the API.
		"reference": func() (string, error) { return referenceMarkdown(p.site.description, p) },
		// sample shows files in samples; several of them as tabs.
		"sample": p.sample,
		// tabs shows a step of the quickstart in every language.
		"tabs": func(step string) (string, error) {
			return p.sample(step+".sh", step+".php", step+".py", step+".mjs", step+".go.txt")
		},
		// text resolves links to guides, which begin with a slash in texts of this package.
		"text": func(s string) string { return reSlashLink.ReplaceAllString(s, "]("+p.site.root+"$1.md$2)") },
	}).Parse(p.Source)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, p); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// languages maps the extensions of samples to the language of a fence and its name.
var languages = map[string]struct{ fence, name string }{
	".sh": {"sh", "curl"}, ".php": {"php", "PHP"}, ".py": {"python", "Python"},
	".mjs": {"js", "Node"}, ".cjs": {"js", "Node"}, ".go": {"go", "Go"},
}

// sample returns fences with samples. Commands are run by the tests.
func (p *page) sample(files ...string) (string, error) {
	var b strings.Builder
	for _, file := range files {
		text, err := sampleText(file)
		if err != nil {
			return "", err
		}
		file = strings.TrimSuffix(file, ".txt") // keeps Go from building it
		language := languages[path.Ext(file)].fence
		b.WriteString("```" + language)
		switch {
		case language == "sh":
			b.WriteString(" run")
		default:
			b.WriteString(" file=" + file)
		}
		if len(files) > 1 {
			b.WriteString(" tab")
		}
		code := strings.ReplaceAll(strings.TrimSpace(string(text)), sampleAddress, p.Sandbox)
		b.WriteString("\n" + code + "\n```\n\n")
	}
	return strings.TrimSpace(b.String()), nil
}

// sampleAddress is the address of the sandbox in samples.
const sampleAddress = "http://127.0.0.1:8081/v1"

// cards lists the guides with their summaries.
func (p *page) cards(forHTML bool) string {
	if forHTML {
		return "```cards\n```"
	}
	var b strings.Builder
	for _, g := range p.Groups {
		if g.Name == "" {
			continue
		}
		b.WriteString("\n### " + g.Name + "\n\n")
		for _, to := range g.Guides {
			b.WriteString("- [" + to.Title + "](" + p.site.root + to.Path + ".md): " + to.Summary + "\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// drawing returns a fence that toHTML replaces by a drawing, or what the drawing says in words.
func drawing(name string, forHTML bool) (string, error) {
	svg, err := sources.ReadFile("drawings/" + name + ".svg")
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(svg), "<desc")
	_, rest, _ = strings.Cut(rest, ">")
	words, _, found := strings.Cut(rest, "</desc>")
	if !found {
		return "", fmt.Errorf("drawings/%s.svg has no <desc>", name)
	}
	if forHTML {
		return "```drawing\n" + name + "\n```", nil
	}
	return oneLine(words), nil
}

// reSlashLink matches the end of a link to a guide with a path below the site, such as
// (/limits#pages).
var reSlashLink = regexp.MustCompile(`\]\((/[A-Za-z_/-]+)(#[a-z0-9_-]+)?\)`)
