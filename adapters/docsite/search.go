package docsite

import (
	"encoding/json"
	"strings"
)

// searchPath is the path of what a search looks through, below the site.
const searchPath = "/search.json"

// found is an entry of the search index: a section of a page.
type found struct {
	Path    string `json:"path"` // with the anchor
	Page    string `json:"page"`
	Heading string `json:"heading,omitempty"` // empty: the beginning of the page
	Words   string `json:"words"`
}

// searchIndex returns all sections of the pages. Browsers search it themselves (assets/site.js).
func searchIndex(root string, pages []*page) *answer {
	var all []found
	for _, p := range pages {
		for i, s := range p.sections {
			words := strings.Join(strings.Fields(strings.TrimPrefix(strings.TrimSpace(s.words.String()), s.Text)), " ")
			entry := found{Path: root + p.Path, Page: p.Title, Heading: s.Text, Words: words}
			if i == 0 {
				entry.Words = strings.TrimSpace(strings.ReplaceAll(p.Summary, "`", "") + " " + words)
			} else {
				entry.Path += "#" + s.ID
			}
			all = append(all, entry)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // texts alone
	}
	return newAnswer("application/json; charset=utf-8", text)
}
