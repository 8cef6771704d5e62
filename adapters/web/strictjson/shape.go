package strictjson

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Shape declares which names a body may use. Build one from Object, ArrayOf
// and Leaf, once, in a package variable; it is only read afterwards.
type Shape interface{ shape() }

// Object declares the names an object may have and the shape of each.
type Object map[string]Shape

type leaf struct{}

type arrayOf struct{ item Shape }

func (Object) shape()  {}
func (leaf) shape()    {}
func (arrayOf) shape() {}

// Leaf declares a value without names of its own. Nothing below it is looked
// at.
var Leaf Shape = leaf{}

// ArrayOf declares an array whose items all have one shape.
func ArrayOf(item Shape) Shape { return arrayOf{item} }

// unknown makes the error for a name that is not in the object.
func (s Object) unknown(name string, at *path) *SyntaxError {
	prefix := at.String()
	e := &SyntaxError{Field: joinField(prefix, cleanName(name))}
	e.Message = "Unknown field " + e.Field + "."
	if near := s.nearest(name); near != "" {
		e.Suggestion = joinField(prefix, near)
		e.Message += " Did you mean " + e.Suggestion + "?"
	}
	const mostListed = 12 // of more a reader finds nothing
	takes := "This call takes "
	if prefix != "" {
		takes = prefix + " takes "
	}
	switch names := slices.Sorted(maps.Keys(s)); {
	case len(names) == 0:
		e.Message += " " + takes + "none."
	case len(names) <= mostListed:
		e.Message += " " + takes + strings.Join(names, ", ") + "."
	}
	return e
}

// nearest is the declared name that differs least from an unknown one, the
// first in the alphabet where several do, or else the one that it shortens or
// lengthens, or empty where none is near.
func (s Object) nearest(name string) string {
	const maxName = 64 // a longer one is no slip of the fingers
	if len(name) > maxName {
		return ""
	}
	candidates := slices.Sorted(maps.Keys(s))
	folded := fold(name)
	// A third of the letters, three at most: "lat" is not "id".
	limit := min(3, utf8.RuneCountInString(folded)/3)
	best, bestDistance := "", limit+1
	for _, c := range candidates {
		if d := distance(folded, fold(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best != "" {
		return best
	}
	return shortened(folded, candidates)
}

// shortened is the shortest candidate that the name abbreviates, such as lat,
// lng or phone, or else the longest that it goes on from.
func shortened(folded string, candidates []string) string {
	const (
		least = 3 // fewer letters begin too much
		most  = 3 // so many times longer may a name be than its letters alone
	)
	whole, part := "", ""
	for _, c := range candidates {
		known := fold(c)
		short := len(folded) >= least && (strings.HasPrefix(known, folded) || len(known) <= most*len(folded) && abbreviates(folded, known))
		if short && (whole == "" || len(known) < len(fold(whole))) {
			whole = c
		}
		if len(known) >= least && strings.HasPrefix(folded, known) && len(known) > len(fold(part)) {
			part = c
		}
	}
	return cmp.Or(whole, part)
}

// abbreviates reports whether the letters of short are in the name in their
// order, the first one at its begin.
func abbreviates(short, name string) bool {
	if !strings.HasPrefix(name, short[:1]) {
		return false
	}
	for _, letter := range short {
		_, rest, found := strings.Cut(name, string(letter))
		if !found {
			return false
		}
		name = rest
	}
	return true
}

// fold drops what people vary between languages: phoneNumber, phone-number and
// Phone_Number are all phone_number.
func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between two names (optimal string alignment).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
