package gormstore

import (
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"
)

var likeWildcards = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// searched narrows a query to rows whose search_text contains the text.
func searched(db *gorm.DB, text string) *gorm.DB {
	return db.Where(`search_text LIKE ? ESCAPE '\'`, "%"+likeWildcards.Replace(fold(text))+"%")
}

// storable reports whether a text can be in the database at all. Postgres
// takes neither NUL nor invalid UTF-8, not even to compare with: who asks for
// such a text finds nothing, and is not told of a failure.
func storable(texts ...string) bool {
	for _, s := range texts {
		if strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
			return false
		}
	}
	return true
}
