package normalizer

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// MatchKey is equal for two address texts exactly when they count as one.
// Taking the key of a key changes nothing.
func (n *Normalizer) MatchKey(address string) string {
	return strings.Join(strings.Fields(folded(address)), " ")
}

// folded is Unicode's compatibility caseless match. Folding can leave text that composes again
// and composing can leave text that folds again, so it is two rounds. Of ASCII nothing composes,
// and folding is lower case, at a tenth of the time.
func folded(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.ToLower(text)
	}
	fold := cases.Fold()
	text = norm.NFD.String(text)
	for range 2 {
		text = norm.NFKC.String(fold.String(text))
	}
	return text
}
