package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// docsSite returns the address of the documentation: next to the sandbox, which the description
// of a live API names.
func (s *server) docsSite(ctx context.Context) (string, error) {
	base := s.BaseURL
	if s.Live {
		text, err := s.api.GetOpenAPIJSON(ctx)
		if err != nil {
			return "", err
		}
		var described struct {
			Paths map[string]struct{ Servers []struct{ URL string } }
		}
		if err := json.Unmarshal(text, &described); err != nil {
			return "", fmt.Errorf("the description of the API: %w", err)
		}
		for _, path := range described.Paths {
			if len(path.Servers) > 0 { // operations of the sandbox alone
				base = path.Servers[0].URL
			}
		}
	}
	return strings.TrimSuffix(base, "/v1") + s.Docs, nil
}

const (
	longestQuestion = 500
	mostResults     = 10
	longestExcerpt  = 2500
)

type searchInput struct {
	Query string `json:"query" jsonschema:"what you want to know, in a few words; at most 500 characters"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many sections to return, 1 to 10; 4 if left out"`
}

type searchOutput struct {
	Results []searchResult `json:"results"`
	Note    string         `json:"note,omitempty"`
}

type searchResult struct {
	Page    string `json:"page" jsonschema:"title of the page"`
	Section string `json:"section,omitempty"`
	URL     string `json:"url" jsonschema:"the page; with .md it is Markdown"`
	Text    string `json:"text" jsonschema:"the section as Markdown"`
}

type explainInput struct {
	Code string `json:"code" jsonschema:"error.code of an answer, such as EXTERNAL_ID_CONFLICT"`
}

// explanation is what the documentation says about a code.
type explanation struct {
	Code    string   `json:"code"`
	Status  int      `json:"status" jsonschema:"HTTP status"`
	Meaning string   `json:"meaning"`
	Causes  []string `json:"causes" jsonschema:"likely ones"`
	Todo    []string `json:"what_to_do"`
	Retry   string   `json:"retry" jsonschema:"whether and how to send the request again"`
	Page    string   `json:"page" jsonschema:"address of the page about it"`
}

func (s *server) addDocsTools() {
	add(s, tool{
		name: "search_docs", title: "Search the documentation",
		description: "Search the documentation of this Waybill installation: guides, error codes, and the reference with every call, field " +
			"and schema. Use it before writing code against the API. Returns the best sections as Markdown with the address of their page.",
	}, s.searchDocs)
	add(s, tool{
		name: "explain_error", title: "Explain an error code",
		description: "What an error code of the API means: likely causes, what to do, and whether to send the request again.",
	}, func(ctx context.Context, in explainInput) (explanation, error) { return s.explain(ctx, in.Code) })
}

func (s *server) searchDocs(ctx context.Context, in searchInput) (searchOutput, error) {
	if in.Limit == 0 {
		in.Limit = 4
	}
	if len(in.Query) > longestQuestion || in.Limit < 1 || in.Limit > mostResults {
		return searchOutput{}, fmt.Errorf("the query has %d bytes and limit is %d: at most %d bytes and 1 to %d sections",
			len(in.Query), in.Limit, longestQuestion, mostResults)
	}
	pages, err := s.docs.read(ctx)
	if err != nil {
		return searchOutput{}, err
	}
	out := searchOutput{Results: []searchResult{}}
	for _, h := range find(pages, in.Query) {
		if len(out.Results) == in.Limit {
			break
		}
		text := strings.TrimSpace(h.text)
		if len(text) > longestExcerpt {
			text = strings.ToValidUTF8(text[:longestExcerpt], "") + "\n... (cut; the page has the rest)"
		}
		out.Results = append(out.Results, searchResult{Page: h.title, Section: h.heading, URL: h.url, Text: text})
	}
	if len(out.Results) == 0 {
		out.Note = "Nothing has these words. Try others; there are pages about: " + strings.Join(titles(pages), "; ")
	}
	return out, nil
}

// titles returns the titles of the guides. There are too many codes.
func titles(pages []*page) (all []string) {
	for _, p := range pages {
		if !p.isAboutCode() {
			all = append(all, p.title)
		}
	}
	return all
}

var reStatus = regexp.MustCompile(`\*\*Status\*\*: (\d{3})`)

// explain finds the page about a code.
func (s *server) explain(ctx context.Context, code string) (explanation, error) {
	pages, err := s.docs.read(ctx)
	if err != nil {
		return explanation{}, err
	}
	code = strings.ToUpper(strings.TrimSpace(code))
	var known []string
	for _, p := range pages {
		if !p.isAboutCode() {
			continue
		}
		known = append(known, p.title)
		if p.title == code {
			return p.explanation(), nil
		}
	}
	slices.Sort(known)
	return explanation{}, fmt.Errorf("UNKNOWN_CODE: %.60q is no error code of this installation. Take error.code of the answer's body. "+
		"There are: %s", code, strings.Join(known, ", "))
}

func (p *page) explanation() explanation {
	opening := p.sections[0].text
	e := explanation{Code: p.title, Causes: items(p.sectionOf("Likely causes")), Todo: items(p.sectionOf("What to do")),
		Retry: p.sectionOf("Whether to retry"), Page: p.url}
	if m := reStatus.FindStringSubmatch(opening); m != nil {
		e.Status, _ = strconv.Atoi(m[1]) // digits
	}
	e.Meaning, _, _ = strings.Cut(strings.TrimSpace(opening), "\n\n- **")
	return e
}
