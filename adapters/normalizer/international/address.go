package international

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// MatchKey is equal for two address texts exactly when they count as one.
// Taking the key of a key changes nothing.
func (n *Normalizer) MatchKey(address string) string {
	// Folding can leave text that composes again and composing can leave text
	// that folds again; Unicode's compatibility caseless match is two rounds.
	fold := cases.Fold()
	key := norm.NFD.String(address)
	for range 2 {
		key = norm.NFKC.String(fold.String(key))
	}
	return strings.Join(strings.Fields(key), " ")
}
