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
// The database looks for the words between, which folding does not change, with the indexes that
// are there. It folds only rows that have all words, and compares those with parts of the folded
// text. So rows of any age are found at once. Columns of folded text were rejected: all rows would
// have to be rewritten beside traffic, and each search would have to look for both forms until that
// has ended. An index on the folding was rejected too: it would be a second one of the same size.

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
	// searchReads limits the candidates of a search.
	searchReads = 20_000
)

// searchTime is the time after which a search reads no further candidates. Tests give it more.
var searchTime = 500 * time.Millisecond

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

// foldedPunctuation lists what a folded text may have between words.
const foldedPunctuation = " '-"

// words returns parts of at most anchorLength characters without punctuation that is folded. A
// search_text that contains the text contains all of them. The longest ones are enough.
func words(text string) (words []string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(foldedPunctuation, r) }) {
		words = append(words, anchors(word)...)
	}
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(utf8.RuneCountInString(b)-utf8.RuneCountInString(a), strings.Compare(a, b))
	})
	words = slices.Compact(words)
	return words[:min(len(words), mostAnchors)]
}

// anchors returns parts of anchorLength characters that cover a text. What contains the text
// contains all of them.
func anchors(text string) (parts []string) {
	runes := []rune(text)
	for len(runes) > anchorLength {
		parts = append(parts, string(runes[:anchorLength]))
		runes = runes[min(anchorLength, len(runes)-anchorLength):]
	}
	return append(parts, string(runes))
}

// condition requires, of at least one text, one of the dialect's conditions for each word, and
// that the folded search_text contains its anchors if it is not a single word.
func (s search) condition(db *gorm.DB, e *dialect, one func(word string) (string, any)) *gorm.DB {
	var texts []string
	var values []any
	for _, text := range s {
		var all []string
		for _, word := range words(text) {
			condition, value := one(word)
			all, values = append(all, condition), append(values, value)
		}
		if strings.ContainsAny(text, foldedPunctuation) {
			for _, anchor := range anchors(text) {
				all, values = append(all, e.containsFolded), append(values, anchor)
			}
		}
		texts = append(texts, strings.Join(all, " AND "))
	}
	return db.Where("("+strings.Join(texts, " OR ")+")", values...)
}

// near limits a query of a table to rows that contain the parts of a text, by comparing.
func (s search) near(db *gorm.DB, e *dialect) *gorm.DB {
	return s.condition(db, e, func(word string) (string, any) { return e.contains, word })
}

// indexed is near with the index of the table, if each text has a word with a trigram.
func (s search) indexed(db *gorm.DB, e *dialect, table string) *gorm.DB {
	for _, text := range s {
		if !slices.ContainsFunc(words(text), e.indexable) {
			return s.near(db, e)
		}
	}
	return s.condition(db, e, func(word string) (string, any) {
		if e.indexable(word) {
			return e.matches(table, word)
		}
		return e.contains, word
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

// foldedOnPostgres returns SQL that folds the punctuation of a column. Two control characters, which
// no text has, stand for each space while runs of them become one.
func foldedOnPostgres(column string) string {
	var from, to strings.Builder
	for r := rune(1); r <= 0xffff; r++ {
		if plain := domain.PlainPunctuation(r); plain != r {
			from.WriteRune(r)
			to.WriteRune(plain)
		}
	}
	plain := "translate(" + column + ", '" + from.String() + "', '" + strings.ReplaceAll(to.String(), "'", "''") + "')"
	return "replace(replace(replace(" + plain + ", ' ', E'\\x01\\x02'), E'\\x02\\x01', ''), E'\\x01\\x02', ' ')"
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
