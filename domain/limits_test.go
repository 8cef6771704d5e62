package domain_test

import (
	"math"
	"strings"
	"testing"

	"waybill/domain"
)

func TestATextIsJudgedByItsLengthAndThenByItsCharacters(t *testing.T) {
	t.Parallel()
	const name, address, external, label = 0, 1, 2, 3
	rules := []domain.TextRule{domain.NameRule, domain.AddressRule, domain.ExternalIDRule, domain.LabelRule}
	for _, c := range []struct {
		rule    int
		text    string
		code    string
		message string
	}{
		{name, "Osu", "", ""},
		{name, strings.Repeat("é", 128), "", ""},
		{name, strings.Repeat("é", 129), domain.FieldTooLong, "must have 1 to 128 characters; it has 129"},
		{name, strings.Repeat("\u200b", 129), domain.FieldTooLong, "must have 1 to 128 characters; it has 129"},
		{name, "", domain.FieldTooShort, "must have 1 to 128 characters; it has 0"},
		{name, "O\u200bsu", "", ""},
		{name, "O\u202esu", domain.FieldInvalidFormat, "must not have characters that turn the direction of writing; character 2 is U+202E"},
		{address, "x", domain.FieldTooShort, "must have 2 to 500 characters; it has 1"},
		{address, "12 Oxford Street\r\n\tAccra", "", ""},
		{address, "12\x00Oxford", domain.FieldInvalidFormat, "must not have control characters; character 3 is U+0000"},
		{external, "order 1", "", ""},
		{external, "order\u200b", domain.FieldInvalidFormat, "may hold printable characters only; character 6 is U+200B"},
		{label, "", "", ""},
		{label, strings.Repeat("x", 65), domain.FieldTooLong, "must have at most 64 characters; it has 65"},
	} {
		if code, message := rules[c.rule].Judge(c.text); code != c.code || message != c.message {
			t.Errorf("%.20q: %s %q, want %s %q", c.text, code, message, c.code, c.message)
		}
	}
	for _, unseen := range []string{"a\u202eb", "a\u0085b", "a\u2066b"} {
		if code, _ := domain.DescriptionRule.Judge(unseen); code != domain.FieldInvalidFormat {
			t.Errorf("%+q in a description: %q", unseen, code)
		}
	}
	if code, _ := domain.DescriptionRule.Judge("two\nlines"); code != domain.FieldInvalidFormat {
		t.Errorf("two lines of what has one: %q", code)
	}
}

func TestACoordinateIsOnTheGlobeOrNowhere(t *testing.T) {
	t.Parallel()
	for x, on := range map[float64]bool{0: true, 90: true, -90: true, 90.1: false, -90.1: false, math.NaN(): false, math.Inf(1): false} {
		if domain.MaxLatitude.Holds(x) != on {
			t.Errorf("latitude %v: %v", x, !on)
		}
	}
	if got := domain.MaxLongitude.String(); got != "-180 to 180" {
		t.Error(got)
	}
}
