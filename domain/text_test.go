package domain_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

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

func TestNoTextTurnsTheLettersAroundIt(t *testing.T) {
	t.Parallel()
	rules := map[string]domain.TextRule{"a name": domain.NameRule, "a label": domain.LabelRule, "a municipality": domain.MunicipalityRule,
		"an address": domain.AddressRule, "notes": domain.NotesRule, "a description": domain.DescriptionRule}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		refused := unicode.Is(unicode.Cc, r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
		lineEnd := r == '\n' || r == '\r' || r == '\t'
		if !refused && !unicode.In(r, unicode.Cf, unicode.P, unicode.S, unicode.Z, unicode.Variation_Selector) || r == utf8.RuneError {
			continue // letters, marks and digits
		}
		for what, rule := range rules {
			code, fault := rule.Judge("Ad" + string(r) + "om")
			if (code != "") != (refused && !(rule.Multiline && lineEnd)) {
				t.Errorf("%U in %s: %q", r, what, fault)
			}
			if code != "" && !strings.Contains(fault, fmt.Sprintf("character 3 is %U", r)) {
				t.Errorf("%U: the fault does not say where it is: %s", r, fault)
			}
		}
	}
}

func TestAMunicipalityHas128Characters(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "Accra, Greater Accra", "N’Djamena", "Sekondi–Takoradi", "Ga East/Madina", "Brong & Ahafo", "Kumasi_Bantama",
		strings.Repeat("ɔ", 128)} {
		if code, fault := domain.MunicipalityRule.Judge(good); code != "" {
			t.Errorf("%q: %s", good, fault)
		}
	}
	if code, _ := domain.MunicipalityRule.Judge(strings.Repeat("ɔ", 129)); code != domain.FieldTooLong {
		t.Errorf("129 characters: %q", code)
	}
}

func TestNobodyPassesForTheDeliveryCompany(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Delivery company", "the DELIVERY  COMPANY", "Support of the delivery company", "Delivery-company.", "Dеlivery соmpany",
		"Ｄｅｌｉｖｅｒｙ Ｃｏｍｐａｎｙ", "Delıvery company", "Délivery Çompany", "De\u0301livery company", "Delivery ϲompany", "𝓓𝓮𝓵𝓲𝓿𝓮𝓻𝔂 𝐂𝐨𝐦𝐩𝐚𝐧𝐲",
		"DeIivery c0rnpany", "ⒹⒺⓁⒾⓋⒺⓇⓎ company", "ᴅᴇʟɪᴠᴇʀʏ ᴄᴏᴍᴘᴀɴʏ", "Deli\u3164very company"} {
		if code, _ := domain.PersonNameRule.Judge(name); code != domain.FieldInvalidFormat {
			t.Errorf("%q: %q", name, code)
		}
	}
	for _, name := range []string{"Ama Mensah", "Kofi, deliveries", "Ама", "Éloïse Ñandú"} {
		if code, fault := domain.PersonNameRule.Judge(name); code != "" {
			t.Errorf("%q: %s", name, fault)
		}
	}
}

func TestPunctuationIsFoldedAndNothingElse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"O’Neil": "O'Neil", "Oʼ‘`´Neil": "O''''Neil", "Al‐‑–—−-Hassan": "Al------Hassan", " Ama\t\u00a0\n  Mensah ": "Ama Mensah",
		"Ɔ_%\\.,;é": "Ɔ_%\\.,;é", " ": "",
	} {
		if got := domain.FoldPunctuation(text); got != want {
			t.Errorf("%q is folded to %q, want %q", text, got, want)
		}
	}
}
