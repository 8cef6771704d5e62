package gormstore

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"

	"waybill/domain"
	"waybill/ports"
)

// A search costs no more than its page where many rows match, nor than its matches where few do. It
// looks through the first rows of the list. If they do not fill the page, an index of trigrams
// finds the rest.
//
// The database compares only with parts of a few characters. A pattern that is compared at each
// character of a row costs the product of both lengths at worst, and folding turns some characters
// into three. The program compares the whole, in time linear in the row.
//
// A search folds punctuation (domain.FoldPunctuation), but search_text keeps it as it was typed.
// The database looks for the words between, which folding does not change, and the program compares
// the folded texts. So rows of any age are found at once, with the indexes that are there. The
// price is that the database also finds rows that have the words elsewhere, which the program
// passes over. Columns of folded text were rejected: all rows would have to be rewritten beside
// traffic, and each search would have to look for both forms until that has ended. So was folding
// in the expression of an index, since neither database has a function for it.

const (
	// searchWindow limits how many rows of a list are looked through without an index.
	searchWindow = 250
	// anchorLength is the length of the parts, in characters, that the database compares with.
	anchorLength = 16
	// mostAnchors limits the parts, so that a text of many words does not cost more than a long one.
	mostAnchors = domain.MaxSearch / anchorLength
	// trigram is the length of an entry of the indexes: they find no shorter text.
	trigram = 3
	// mostCandidates limits the rows that are read at a time where the database may find more than
	// the program admits.
	mostCandidates = 1000
	// searchTime and searchReads limit the time, and the candidates, after which no more are read.
	searchTime  = 500 * time.Millisecond
	searchReads = 20_000
)

// search admits rows whose search_text contains one of its texts.
type search []string

// newSearch folds texts as search_text is folded, and their punctuation. It leaves out empty ones.
func newSearch(texts ...string) search {
	var s search
	for _, text := range texts {
		if folded := domain.FoldPunctuation(fold(text)); folded != "" && !slices.Contains(s, folded) {
			s = append(s, folded)
		}
	}
	return s
}

// admits compares with each part of search_text. Only the first line break in it is between parts:
// a name has none, and an address may.
func (s search) admits(searchText string) bool {
	name, rest, _ := strings.Cut(searchText, "\n")
	name, rest = domain.FoldPunctuation(name), domain.FoldPunctuation(rest)
	return slices.ContainsFunc(s, func(text string) bool { return strings.Contains(name, text) || strings.Contains(rest, text) })
}

// anchors returns, for each text, parts of at most anchorLength characters without white space and
// punctuation that is folded. A row that contains the text contains all of them. The longest ones
// are enough; a text that has none may be in any row.
func (s search) anchors() [][]string {
	anchors := make([][]string, len(s))
	for i, text := range s {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" '-", r) }) {
			runes := []rune(word)
			for len(runes) > anchorLength {
				anchors[i] = append(anchors[i], string(runes[:anchorLength]))
				runes = runes[min(anchorLength, len(runes)-anchorLength):]
			}
			anchors[i] = append(anchors[i], string(runes))
		}
		slices.SortFunc(anchors[i], func(a, b string) int {
			return cmp.Or(utf8.RuneCountInString(b)-utf8.RuneCountInString(a), strings.Compare(a, b))
		})
		anchors[i] = slices.Compact(anchors[i])
		anchors[i] = anchors[i][:min(len(anchors[i]), mostAnchors)]
	}
	return anchors
}

// condition requires, of at least one text, one of the dialect's conditions for each anchor.
func (s search) condition(db *gorm.DB, one func(anchor string) (string, any)) *gorm.DB {
	var texts []string
	var values []any
	for _, anchors := range s.anchors() {
		if len(anchors) == 0 {
			return db
		}
		var all []string
		for _, anchor := range anchors {
			condition, value := one(anchor)
			all, values = append(all, condition), append(values, value)
		}
		texts = append(texts, strings.Join(all, " AND "))
	}
	return db.Where("("+strings.Join(texts, " OR ")+")", values...)
}

// near limits a query of a table to rows that contain the anchors, by comparing.
func (s search) near(db *gorm.DB, e *dialect) *gorm.DB {
	return s.condition(db, func(anchor string) (string, any) { return e.contains, anchor })
}

// indexed is near with the index of the table, if each text has an anchor with a trigram.
func (s search) indexed(db *gorm.DB, e *dialect, table string) *gorm.DB {
	for _, anchors := range s.anchors() {
		if !slices.ContainsFunc(anchors, e.indexable) {
			return s.near(db, e)
		}
	}
	return s.condition(db, func(anchor string) (string, any) {
		if e.indexable(anchor) {
			return e.matches(table, anchor)
		}
		return e.contains, anchor
	})
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
	// some reads the first rows of a subquery, and also returns those that the search admits.
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
	// One statement may take as long as a page; all of them together take little more.
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

// hasWord reports whether letters or digits are side by side, as many as make a trigram. Other
// characters are in no trigram of Postgres.
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

// trigrams returns a query of FTS5 for each trigram of a text.
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

// storable reports whether a text can be in the database at all. Postgres accepts neither NUL nor
// invalid UTF-8, not even to compare with. A search for such a text finds nothing, and does not
// fail.
func storable(texts ...string) bool {
	for _, s := range texts {
		if strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
			return false
		}
	}
	return true
}
