package strictjson

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Shape declares which names a body may use. Build one from Object, ArrayOf and Leaf, once, in
// a package variable. It is only read afterwards.
type Shape interface{ shape() }

// Object declares the names an object may have and the shape of each.
type Object map[string]Shape

type leaf struct{}

type arrayOf struct{ item Shape }

func (Object) shape()  {}
func (leaf) shape()    {}
func (arrayOf) shape() {}

// Leaf declares a value without names of its own. Its content is not checked.
var Leaf Shape = leaf{}

// ArrayOf declares an array whose items all have one shape.
func ArrayOf(item Shape) Shape { return arrayOf{item} }

// unknown returns the error for a name that is not in the object.
func (s Object) unknown(name string, at *path) *SyntaxError {
	prefix := at.String()
	e := &SyntaxError{Field: joinField(prefix, cleanName(name))}
	e.Message = "Unknown field " + e.Field + "."
	if near := s.nearest(name); near != "" {
		e.Suggestion = joinField(prefix, near)
		e.Message += " Did you mean " + e.Suggestion + "?"
	}
	const mostListed = 12 // a longer list helps no reader
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

// nearest returns the declared name that differs least from an unknown one, and of several the
// first in the alphabet. Otherwise it returns the one that the unknown name shortens or
// lengthens, or "" if none is near.
func (s Object) nearest(name string) string {
	const maxName = 64 // a longer one is no typing mistake
	if len(name) > maxName {
		return ""
	}
	candidates := slices.Sorted(maps.Keys(s))
	folded := fold(name)
	// At most a third of the letters, and three: "lat" is not "id".
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

// shortened returns the shortest candidate that the name abbreviates, such as lat, lng or
// phone. Otherwise it returns the longest candidate that the name continues, or "".
func shortened(folded string, candidates []string) string {
	const (
		least = 3 // fewer letters match too many names
		most  = 3 // a name may be at most so many times longer than its abbreviation
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

// abbreviates reports whether the letters of short are in the name in their order, the first
// one at its beginning.
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

// fold removes differences between naming styles: phoneNumber, phone-number and Phone_Number
// all become phone_number.
func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// distance counts the insertions, deletions, replacements and swaps of neighbours between two
// names (optimal string alignment).
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
