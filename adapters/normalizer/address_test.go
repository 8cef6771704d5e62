package normalizer_test

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTextsThatCountAsOneAddressShareTheirKey(t *testing.T) {
	t.Parallel()
	n := in(t, "GH")
	for _, same := range [][]string{
		{"12 Ring Road, Accra", "12 RING ROAD, ACCRA", "  12  ring\troad,\n accra ", "12\u00a0Ring\u2003Road, Accra"},
		{"Café", "Cafe\u0301", "CAFÉ"},
		{"Straße 5", "STRASSE 5", "strasse 5"},
		{"Ｈｏｕｓｅ １２", "House 12"}, // full width
		{"ofﬁce №5", "office No5"},
		{"ΑΘΗΝΑΣ", "αθηνας", "αθηνασ"},
		{"", " ", "\u00a0\t"},
	} {
		for _, text := range same[1:] {
			if a, b := n.MatchKey(same[0]), n.MatchKey(text); a != b {
				t.Errorf("%q has %q, %q has %q", same[0], a, text, b)
			}
		}
	}
}

func TestTextsThatDifferKeepDifferentKeys(t *testing.T) {
	t.Parallel()
	n := in(t, "GH")
	for _, pair := range [][2]string{
		{"12 Ring Road", "12 Ring Road."}, {"12 Ring Road", "12RingRoad"}, {"12 Ring Road", "21 Ring Road"},
		{"Cafe", "Café"}, {"Flat 1, 2", "Flat 12"},
	} {
		if n.MatchKey(pair[0]) == n.MatchKey(pair[1]) {
			t.Errorf("%q and %q share the key %q", pair[0], pair[1], n.MatchKey(pair[0]))
		}
	}
}

func TestALetterHasTheSameKeyAloneAndBesideOthers(t *testing.T) {
	t.Parallel()
	n := in(t, "GH")
	for c := range rune(0x2000) { // with those of one byte, which are folded in another way
		text := "a" + string(c) + "b"
		if alone, beside := n.MatchKey(text), n.MatchKey(text+" \u00e9"); beside != alone+" \u00e9" {
			t.Errorf("%q has the key %q alone, and %q beside another letter", text, alone, beside)
		}
	}
}

func TestTheKeyOfAKeyIsItself(t *testing.T) {
	t.Parallel()
	n := in(t, "GH")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		key := n.MatchKey(text)
		if again := n.MatchKey(key); again != key {
			t.Fatalf("%q has the key %q, and that %q", text, key, again)
		}
	})
	for _, r := range [][2]rune{{0, 0xd7ff}, {0xe000, 0x1ffff}} {
		for c := r[0]; c <= r[1]; c++ {
			text := "a" + string(c) + "\u0301\u0345b"
			if key := n.MatchKey(text); n.MatchKey(key) != key {
				t.Fatalf("%U: %q has the key %q, and that %q", c, text, key, n.MatchKey(key))
			}
		}
	}
}

func BenchmarkMatchKey(b *testing.B) {
	n := in(b, "GH")
	for b.Loop() {
		n.MatchKey("House 12, Ring Road Central, opposite the Police Headquarters, Accra")
	}
}
