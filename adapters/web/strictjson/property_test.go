package strictjson_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waybill/adapters/web/strictjson"
)

// doc is a JSON value in the terms of the test: nil, bool, string, exact, []doc or
// map[string]doc.
type doc any

// exact is units times ten to the exponent. Units never end with a zero.
type exact struct {
	units    int64
	exponent int
}

func numbers() *rapid.Generator[doc] {
	return rapid.Custom(func(t *rapid.T) doc {
		n := exact{rapid.Int64Range(-99999, 99999).Draw(t, "units"), rapid.IntRange(-30, 30).Draw(t, "exponent")}
		if n.units == 0 {
			return exact{}
		}
		for n.units%10 == 0 {
			n.units, n.exponent = n.units/10, n.exponent+1
		}
		return n
	})
}

// words avoids NUL, which no accepted document holds.
func words() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.OneOf(
		rapid.RuneFrom([]rune("ab\"\\/\n\t\u0001\u007fé漢😀\u2028")), rapid.Rune().Filter(func(r rune) bool { return r != 0 }),
	), 0, 6, -1)
}

func documents(depth int) *rapid.Generator[doc] {
	scalars := []*rapid.Generator[doc]{
		rapid.Just(doc(nil)), rapid.Map(rapid.Bool(), func(b bool) doc { return b }),
		rapid.Map(words(), func(s string) doc { return s }), numbers(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := rapid.Deferred(func() *rapid.Generator[doc] { return documents(depth - 1) })
	return rapid.OneOf(append(scalars,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), func(l []doc) doc { return l }),
		rapid.Map(rapid.MapOfN(words(), inner, 0, 4), func(m map[string]doc) doc { return m }),
	)...)
}

func bodies() *rapid.Generator[doc] {
	return rapid.Map(rapid.MapOfN(words(), documents(3), 0, 5), func(m map[string]doc) doc { return m })
}

// spell writes a document in one of its many spellings.
func spell(d doc, rnd *rand.Rand) string {
	gap := func() string { return []string{"", "", " ", "\n\t", "\r\n"}[rnd.IntN(5)] }
	var s string
	switch d := d.(type) {
	case nil:
		s = "null"
	case bool:
		s = fmt.Sprint(d)
	case string:
		s = spellString(d, rnd)
	case exact:
		s = spellNumber(d, rnd)
	case []doc:
		items := make([]string, len(d))
		for i, item := range d {
			items[i] = spell(item, rnd)
		}
		s = "[" + gap() + strings.Join(items, ",") + "]"
	case map[string]doc:
		var members []string
		for name, value := range d {
			members = append(members, gap()+spellString(name, rnd)+gap()+":"+spell(value, rnd))
		}
		rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		s = "{" + strings.Join(members, ",") + gap() + "}"
	}
	return gap() + s + gap()
}

func spellString(s string, rnd *rand.Rand) string {
	var b strings.Builder
	for _, r := range s {
		switch escape := rnd.IntN(3) == 0; {
		case r > 0xffff && escape:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case r < ' ' || escape && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

func spellNumber(n exact, rnd *rand.Rand) string {
	sign, units := "", n.units
	if units < 0 || units == 0 && rnd.IntN(2) == 0 {
		sign, units = "-", -units
	}
	zeros := rnd.IntN(4) // move the point to the right
	digits := fmt.Sprint(units) + strings.Repeat("0", zeros)
	exponent := n.exponent - zeros
	if units == 0 {
		digits = "0"
	}
	if cut := rnd.IntN(4); cut > 0 { // and back to the left
		for len(digits) <= cut {
			digits = "0" + digits
		}
		digits = digits[:len(digits)-cut] + "." + digits[len(digits)-cut:]
		exponent += cut
	}
	switch {
	case exponent == 0 && rnd.IntN(2) == 0:
		return sign + digits
	case exponent >= 0 && rnd.IntN(2) == 0:
		return fmt.Sprintf("%s%sE+%02d", sign, digits, exponent)
	}
	return fmt.Sprintf("%s%se%d", sign, digits, exponent)
}

// plain writes a document in a form of the test, to distinguish documents.
func plain(d doc) string {
	switch d := d.(type) {
	case []doc:
		var b strings.Builder
		for _, item := range d {
			b.WriteString(plain(item) + ";")
		}
		return "list(" + b.String() + ")"
	case map[string]doc:
		var members []string
		for name, value := range d {
			members = append(members, fmt.Sprintf("%q=%s;", name, plain(value)))
		}
		slices.Sort(members)
		return "map(" + strings.Join(members, "") + ")"
	}
	return fmt.Sprintf("%T(%#v)", d, d)
}

func canonicalOf(t *rapid.T, body string) string {
	root, bad := strictjson.Parse([]byte(body), nil)
	if bad != nil {
		t.Fatalf("refused %s: %s", body, bad.Message)
	}
	return string(root.AppendCanonical(nil))
}

func TestEverySpellingOfADocumentHasOneCanonicalForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := bodies().Draw(t, "document")
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		first := spell(d, rnd)
		form := canonicalOf(t, first)
		for range 3 {
			if other := spell(d, rnd); canonicalOf(t, other) != form {
				t.Fatalf("%s is %s\n%s is %s", first, form, other, canonicalOf(t, other))
			}
		}
		if again := canonicalOf(t, form); again != form {
			t.Fatalf("%s is not its own form: %s", form, again)
		}
	})
}

func TestDifferentDocumentsHaveDifferentCanonicalForms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		a := bodies().Draw(t, "a")
		b := change(t, a)
		same := canonicalOf(t, spell(a, rnd)) == canonicalOf(t, spell(b, rnd))
		if same != (plain(a) == plain(b)) {
			t.Fatalf("%s\n%s\nsame form: %v", plain(a), plain(b), same)
		}
	})
}

// change replaces something somewhere in a document by something else, or by the same.
func change(t *rapid.T, d doc) doc {
	switch d := d.(type) {
	case []doc:
		if len(d) > 0 && rapid.Bool().Draw(t, "deeper") {
			c, i := slices.Clone(d), rapid.IntRange(0, len(d)-1).Draw(t, "item")
			c[i] = change(t, d[i])
			return c
		}
	case map[string]doc:
		c := map[string]doc{}
		var names []string
		for name, value := range d {
			c[name] = value
			names = append(names, name)
		}
		if len(names) > 0 && rapid.Bool().Draw(t, "deeper") {
			slices.Sort(names)
			name := rapid.SampledFrom(names).Draw(t, "name")
			c[name] = change(t, c[name])
			return c
		}
		c[words().Draw(t, "new name")] = documents(1).Draw(t, "new value")
		return c
	case exact:
		if d.units != 0 {
			return exact{d.units, d.exponent + rapid.IntRange(-1, 1).Draw(t, "tenfold")}
		}
	}
	return documents(1).Draw(t, "other")
}
