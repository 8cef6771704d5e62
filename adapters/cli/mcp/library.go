package mcp

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
)

// library is the documentation of the installation: all pages in one file, cached as long as
// its ETag is valid.
type library struct {
	site func(context.Context) (string, error) // its address

	mu    sync.Mutex
	tag   string
	pages []*page
}

// page is a page of the documentation.
type page struct {
	title, url string
	sections   []section // the first comes before any heading
}

type section struct{ heading, text string }

// mostDocs limits the bytes of all pages.
const mostDocs = 8 << 20

// read returns every page in the current version of the site.
func (l *library) read(ctx context.Context) ([]*page, error) {
	site, err := l.site(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	tag, kept := l.tag, l.pages
	l.mu.Unlock()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, site+"/llms-full.txt", http.NoBody)
	if err != nil {
		return nil, err
	}
	if tag != "" {
		request.Header.Set("If-None-Match", tag)
	}
	answer, err := http.DefaultClient.Do(request) // without the key
	if err != nil {
		return nil, &noDocs{site, err}
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotModified {
		return kept, nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostDocs))
	if err != nil {
		return nil, &noDocs{site, err}
	}
	pages := parsePages(string(text))
	if answer.StatusCode != http.StatusOK || len(pages) == 0 {
		return nil, &noDocs{site, fmt.Errorf("it answers %s, which is no documentation of Waybill", answer.Status)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tag, l.pages = answer.Header.Get("ETag"), pages
	return pages, nil
}

// noDocs reports that the documentation cannot be read.
type noDocs struct {
	site  string
	cause error
}

func (e *noDocs) Error() string {
	return fmt.Sprintf("DOCS_UNREACHABLE: the documentation at %s cannot be read: %v. The other tools do not need it; try again when the "+
		"sandbox answers", e.site, e.cause)
}

// parsePages parses the file of all pages: a title, its address on the next line, and sections
// under their headings. Code between fences is no heading.
func parsePages(text string) []*page {
	var pages []*page
	fence := ""
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch marks := line[:len(line)-len(strings.TrimLeft(line, "`"))]; {
		case fence == "" && len(marks) >= 3:
			fence = marks
		case fence != "" && line == fence:
			fence = ""
		}
		title, isTitle := strings.CutPrefix(line, "# ")
		if fence == "" && isTitle && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "Source: ") {
			url := strings.TrimPrefix(lines[i+1], "Source: ")
			pages = append(pages, &page{title: title, url: url, sections: []section{{}}})
			continue
		}
		if len(pages) == 0 {
			continue
		}
		p := pages[len(pages)-1]
		if heading, ok := headingOf(line); ok && fence == "" {
			p.sections = append(p.sections, section{heading: heading})
			continue
		}
		last := &p.sections[len(p.sections)-1]
		if line == "Source: "+p.url && last.text == "" {
			continue
		}
		last.text += line + "\n"
	}
	return pages
}

func headingOf(line string) (string, bool) {
	rest := strings.TrimLeft(line, "#")
	depth := len(line) - len(rest)
	return strings.TrimSpace(rest), depth >= 2 && depth <= 3 && strings.HasPrefix(rest, " ")
}

// sectionOf returns the text under a heading of a page, or "" without one.
func (p *page) sectionOf(heading string) string {
	for _, s := range p.sections {
		if strings.HasPrefix(s.heading, heading) {
			return strings.TrimSpace(s.text)
		}
	}
	return ""
}

// items returns the entries of a list.
func items(text string) (list []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if item, ok := strings.CutPrefix(line, "- "); ok {
			list = append(list, item)
		} else if len(list) > 0 && strings.TrimSpace(line) != "" {
			list[len(list)-1] += " " + strings.TrimSpace(line)
		}
	}
	return list
}

// hit is a section that answers a question.
type hit struct {
	*page
	section
	score float64
}

var reWord = regexp.MustCompile(`[a-z0-9]+`)

// words returns the words of a text. A plural counts as its singular.
func words(text string) []string {
	all := reWord.FindAllString(strings.ToLower(text), -1)
	for i, word := range all {
		if len(word) > 3 && word[len(word)-2] != 's' {
			all[i] = strings.TrimSuffix(word, "s")
		}
	}
	return all
}

// searched returns the parts of a page that a search may find. A page about a code is one part:
// its sections are short, and a list of operations with that error answers no question.
func (p *page) searched() []section {
	if !p.isAboutCode() {
		return p.sections
	}
	whole := section{text: p.sections[0].text}
	for _, s := range p.sections[1:] {
		if !strings.HasPrefix(s.heading, "Example") && !strings.HasPrefix(s.heading, "Calls") {
			whole.text += "**" + s.heading + "**\n" + s.text
		}
	}
	return []section{whole}
}

// isAboutCode reports whether a page is about an error code.
func (p *page) isAboutCode() bool { return strings.Contains(p.url, "/errors/") }

// find ranks sections by how rare the words are that they share with the question, as BM25
// does. A word in a heading or a title counts more.
func find(pages []*page, question string) []hit {
	type counted struct {
		hit
		count  map[string]float64
		length float64
	}
	var all []counted
	known := map[string]float64{} // how many sections have a word
	total := 0.0
	for _, p := range pages {
		for _, s := range p.searched() {
			c := counted{hit: hit{page: p, section: s}, count: map[string]float64{}}
			for _, word := range words(s.text) {
				c.count[word]++
				c.length++
			}
			for _, word := range words(s.heading) {
				c.count[word] += 4
			}
			for _, word := range words(p.title) {
				c.count[word] += 2
			}
			for word := range c.count {
				known[word]++
			}
			total += c.length
			all = append(all, c)
		}
	}
	asked := words(question)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	var hits []hit
	for _, c := range all {
		for _, word := range asked {
			n := c.count[word]
			rare := math.Log(1 + (float64(len(all))-known[word]+0.5)/(known[word]+0.5))
			c.score += rare * n * 2.2 / (n + 1.2*(0.25+0.75*c.length*float64(len(all))/max(total, 1)))
		}
		if c.score == 0 {
			continue
		}
		if heading := words(c.heading); len(heading) > 0 && !slices.ContainsFunc(heading, func(word string) bool {
			return !slices.Contains(asked, word)
		}) {
			c.score *= 2 // the question names it
		}
		hits = append(hits, c.hit)
	}
	sort.SliceStable(hits, func(i, j int) bool { return hits[i].score > hits[j].score })
	return hits
}
