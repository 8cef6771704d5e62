package domain_test

import (
	"strings"
	"testing"
	"unicode"

	"waybill/domain"
)

func TestNamesOfPeopleEverywhereAreTaken(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "Ama Mensah", "Kɔfi Ɔbɔadum", "José Ñúñez", "Jose\u0301", "O’Brien & Sons (Osu) №7", "Ɛfua-Nana A.", "李小龍", "محمد علی",
		"علی\u200cرضا",          // Persian, with a non-joiner between two letters
		"शर्\u200dमा",           // Hindi, with a joiner behind a virama
		"മോഹന\u0d4d\u200d",      // Malayalam, with a joiner at the end
		"ක්\u200dරිස්ටි",        // Sinhala
		"Adom ❤\ufe0f",          // a red heart
		"👨\u200d👩\u200d👧 House", // a family
		"❤\ufe0f\u200d🔥", "👍🏽",
		"Shop\u00a0No 5", "日本　太郎", // wide spaces have a width
	} {
		if fault := domain.TextFault(name); fault != "" {
			t.Errorf("%q: %s", name, fault)
		}
	}
}

func TestATextThatOthersSeeHasNothingUnseen(t *testing.T) {
	t.Parallel()
	for what, name := range map[string]string{
		"a right-to-left override":            "Ama\u202egpj.exe",
		"a left-to-right embedding":           "\u202aAma",
		"an isolate":                          "\u2066Ama\u2069",
		"a right-to-left mark":                "Ama\u200f",
		"an Arabic letter mark":               "علی\u061c",
		"a zero-width space":                  "Ad\u200bom",
		"a word joiner":                       "Ad\u2060om",
		"a soft hyphen":                       "Ad\u00adom",
		"a byte order mark":                   "\ufeffAdom",
		"a tag":                               "Adom\U000e0061",
		"a variation selector of a letter":    "A\ufe01dom",
		"an ideographic variation":            "葛\U000e0100",
		"an emoji selector behind a letter":   "Adom\ufe0f",
		"a joiner between Latin letters":      "Ad\u200dom",
		"a non-joiner between Latin letters":  "Ad\u200com",
		"a joiner at the beginning":           "\u200dعلی",
		"a non-joiner behind a space":         "علی \u200cرضا",
		"two joiners":                         "شर्\u200d\u200dमा",
		"two non-joiners":                     "علی\u200c\u200cرضا",
		"a non-joiner behind a symbol":        "❤\u200c",
		"a combining grapheme joiner":         "Ad\u034fom",
		"a Hangul filler, which is a letter":  "Ad\u3164om",
		"a Khmer vowel that is never written": "Ad\u17b4om",
		"a Mongolian variation":               "Ad\u180bom",
		"a line separator":                    "Ad\u2028om",
		"a paragraph separator":               "Ad\u2029om",
		"a line feed":                         "Ad\nom",
		"a tab":                               "Ad\tom",
		"a NUL":                               "Ad\x00om",
		"a C1 control":                        "Ad\u0085om",
		"an escape of terminals":              "Ad\x1b[2Jom",
	} {
		fault := domain.TextFault(name)
		if fault == "" {
			t.Errorf("%s was taken", what)
		}
		for _, r := range fault {
			if !unicode.IsPrint(r) {
				t.Errorf("%s is repeated in the message %q", what, fault)
			}
		}
		if domain.MunicipalityFault(name) == "" {
			t.Errorf("%s was taken in a municipality", what)
		}
	}
	if fault := domain.TextFault("Ama\u202eexe"); !strings.Contains(fault, "character 4 is U+202E") {
		t.Errorf("the fault does not tell where it is: %s", fault)
	}
}

func TestEveryFormatCharacterAloneIsRefused(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.In(r, unicode.Cf, unicode.Bidi_Control, unicode.Variation_Selector, unicode.Join_Control) {
			if text := "A" + string(r) + "b"; domain.TextFault(text) == "" || domain.MunicipalityFault(text) == "" {
				t.Errorf("%U was taken", r)
			}
		}
	}
}

func TestAMunicipalityHasLettersDigitsAndLittleElse(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "Accra", "Accra Metropolitan (East)", "N'Djamena", "St. Kitts-Nevis", "Kpɔŋ 2", "Sa\u0303o Tome\u0301",
		"アクラ", "القاهرة", "नई दिल्ली"} {
		if fault := domain.MunicipalityFault(good); fault != "" {
			t.Errorf("%q: %s", good, fault)
		}
	}
	for _, bad := range []string{"Accra, Ghana", "<b>Accra</b>", "Accra\u00a0East", "Accra/Tema", "\"Accra\"", "Accra\nTema", "http://x",
		"Accra ❤", "Accra_East", "Ⅳ", "½"} {
		if domain.MunicipalityFault(bad) == "" {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestNobodyPassesForTheDeliveryCompany(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Delivery company", "the DELIVERY  COMPANY", "Support of the delivery company", "Delivery-company.", "Dеlivery соmpany"} {
		if code, _ := domain.PersonNameRule.Judge(name); code != domain.FieldInvalidFormat {
			t.Errorf("%q: %q", name, code)
		}
	}
	for _, name := range []string{"Ama Mensah", "Kofi, deliveries", "Ама"} {
		if code, fault := domain.PersonNameRule.Judge(name); code != "" {
			t.Errorf("%q: %s", name, fault)
		}
	}
}
