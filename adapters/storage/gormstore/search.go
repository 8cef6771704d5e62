package gormstore

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"

	"waybill/domain"
	"waybill/ports"
)

// A search costs no more than its page where many rows match, nor than its matches
// where few do: the first rows of the list are looked through, and when they do not
// fill the page, an index of trigrams finds the rest.
//
// The database compares with parts of a few characters only. A pattern that is
// compared at each character of a row costs the product of both lengths at worst,
// and folding makes some characters three. The program compares the whole, which it
// does in time linear in the row.

const (
	// searchWindow is how many rows of a list are looked through without an index.
	searchWindow = 250
	// anchorLength is how many characters the parts have that the database compares with.
	anchorLength = 16
	// trigram is the length of an entry of the indexes: they find no shorter text.
	trigram = 3
	// mostCandidates bounds the rows that are read at a time where the database may
	// find more than the program admits.
	mostCandidates = 1000
	// searchTime and searchReads are after how long, and how many candidates, no
	// further ones are read.
	searchTime  = 500 * time.Millisecond
	searchReads = 20_000
)

// search admits rows whose search_text contains one of its texts.
type search []string

// newSearch folds texts as search_text is. Empty ones are left out.
func newSearch(texts ...string) search {
	var s search
	for _, text := range texts {
		if folded := fold(text); folded != "" && !slices.Contains(s, folded) {
			s = append(s, folded)
		}
	}
	return s
}

func (s search) admits(searchText string) bool {
	return slices.ContainsFunc(s, func(text string) bool { return strings.Contains(searchText, text) })
}

// anchors are, of each text, parts of anchorLength characters that cover it: a row
// that contains the text contains them all.
func (s search) anchors() [][]string {
	anchors := make([][]string, len(s))
	for i, text := range s {
		runes := []rune(text)
		for len(runes) > anchorLength {
			anchors[i] = append(anchors[i], string(runes[:anchorLength]))
			runes = runes[min(anchorLength, len(runes)-anchorLength):]
		}
		anchors[i] = append(anchors[i], string(runes))
	}
	return anchors
}

// condition is, of one text at least, one of the dialect's for each anchor.
func (s search) condition(db *gorm.DB, one func(anchor string) (string, any)) *gorm.DB {
	var texts []string
	var values []any
	for _, anchors := range s.anchors() {
		var all []string
		for _, anchor := range anchors {
			condition, value := one(anchor)
			all, values = append(all, condition), append(values, value)
		}
		texts = append(texts, strings.Join(all, " AND "))
	}
	return db.Where("("+strings.Join(texts, " OR ")+")", values...)
}

// near narrows a query of a table to rows that contain the anchors, by comparing.
func (s search) near(db *gorm.DB, e *dialect) *gorm.DB {
	return s.condition(db, func(anchor string) (string, any) { return e.contains, anchor })
}

// indexed is near by the index of the table, where all anchors have a trigram.
func (s search) indexed(db *gorm.DB, e *dialect, table string) *gorm.DB {
	for _, anchors := range s.anchors() {
		if !slices.ContainsFunc(anchors, e.indexable) {
			return s.near(db, e)
		}
	}
	return s.condition(db, func(anchor string) (string, any) { return e.matches(table, anchor) })
}

// searchable is what a search needs to know of a row.
type searchable[R any] interface {
	*R
	TableName() string
	searched() (text string, at domain.Position)
}

// searchPage lists, of the rows of a query, those that the search admits, as page
// would: up to Limit+1 of them.
func searchPage[R any, P searchable[R]](query func() *gorm.DB, e *dialect, s search, p domain.PageRequest, newestFirst bool) ([]R, error) {
	table := P(new(R)).TableName()
	// some reads the first rows of a subquery, and what the search admits of them.
	some := func(limit int, from string, subquery *gorm.DB, narrow func(*gorm.DB) *gorm.DB) (rows, admitted []R, err error) {
		db := narrow(subquery.Session(&gorm.Session{NewDB: true}).Table("("+from+") AS "+table, subquery))
		err = inOrder(db, newestFirst).Limit(limit).Find(&rows).Error
		for i := range rows {
			if text, _ := P(&rows[i]).searched(); s.admits(text) {
				admitted = append(admitted, rows[i])
			}
		}
		return rows, admitted, err
	}

	window := page(query().Model(new(R)), domain.PageRequest{Limit: searchWindow - 1, After: p.After}, newestFirst)
	_, found, err := some(p.Limit+1, "?", window, func(db *gorm.DB) *gorm.DB { return s.near(db, e) })
	if err != nil || len(found) > p.Limit {
		return found, err
	}
	found = nil
	// One statement may take as long as a page; all of them together little more.
	began, read := time.Now(), 0
	for limit := p.Limit + 1; ; limit = min(4*limit, mostCandidates) {
		matches := s.indexed(behind(query().Model(new(R)), p, newestFirst), e, table)
		rows, admitted, err := some(limit, "?"+e.fence, matches, func(db *gorm.DB) *gorm.DB { return db })
		if err != nil {
			return nil, err
		}
		if found = append(found, admitted...); len(found) > p.Limit || len(rows) < limit {
			return found[:min(len(found), p.Limit+1)], nil
		}
		if read += len(rows); read > searchReads || time.Since(began) > searchTime {
			return nil, ports.ErrTookTooLong
		}
		_, at := P(&rows[len(rows)-1]).searched()
		p.After = &at
	}
}

// hasWord tells whether letters or digits stand side by side, as many as make a
// trigram: others are no part of those of Postgres.
func hasWord(text string) bool {
	run := 0
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			run = 0
		} else if run++; run == trigram {
			return true
		}
	}
	return false
}

// trigrams are all of a text, as a query of FTS5 that asks for each of them.
func trigrams(text string) string {
	runes, all := []rune(text), []string{}
	for i := range max(0, len(runes)-trigram+1) {
		one := `"` + strings.ReplaceAll(string(runes[i:i+trigram]), `"`, `""`) + `"`
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return strings.Join(all, " AND ")
}

// storable reports whether a text can be in the database at all. Postgres takes
// neither NUL nor invalid UTF-8, not even to compare with: a search for such a
// text finds nothing, and does not fail.
func storable(texts ...string) bool {
	for _, s := range texts {
		if strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
			return false
		}
	}
	return true
}
