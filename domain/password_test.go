package domain_test

import (
	"errors"
	"strings"
	"testing"

	"waybill/domain"
)

func TestAPasswordIsLongEnoughAndNotAmongTheFirstGuesses(t *testing.T) {
	t.Parallel()
	of := domain.Person{Name: "Ama Serwaa Mensah", Email: "ama.mensah@example.com"}
	for _, good := range []string{
		"correct horse battery staple", "waybill-kenkey-lorry", "Tr0ub4dor&3-hedge", "пароль для доставки", strings.Repeat("ab cd-ef ", 3) +
			"end",
		"xk7q-pv2m-wz9r", "twelve chars", strings.Repeat("é", 3) + "-osu-castle", strings.Repeat("long words ", 11) + "at last",
	} {
		if err := domain.CheckPassword(good, of); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for name, c := range map[string]struct{ password, code string }{
		"eleven":                                 {"xk7q-pv2m-w", domain.FieldTooShort},
		"none":                                   {"", domain.FieldTooShort},
		"129":                                    {strings.Repeat("xk7q-pv2m", 14) + "abc", domain.FieldTooLong},
		"in the list":                            {"1qaz2wsx3edc", domain.FieldNotAllowed},
		"in the list, capitals":                  {"1QAZ2wsx3EDC", domain.FieldNotAllowed},
		"behind the first 10,000, yet of twelve": {"counterstrike", domain.FieldNotAllowed},
		"a common one and digits":                {"Password2026!", domain.FieldNotAllowed},
		"digits around":                          {"1234-monkey-99", domain.FieldNotAllowed},
		"a common one twice":                     {"dragondragon", domain.FieldNotAllowed},
		"a common one twice and digits":          {"DragonDragon1", domain.FieldNotAllowed},
		"one character":                          {"aaaaaaaaaaaa", domain.FieldNotAllowed},
		"three characters again and again":       {"abcabcabcabcabc", domain.FieldNotAllowed},
		"digits alone":                           {"123456789012", domain.FieldNotAllowed},
		"the e-mail address":                     {"Ama.Mensah@example.com", domain.FieldNotAllowed},
		"the name":                               {"ama serwaa mensah", domain.FieldNotAllowed},
		"a control character":                    {"xk7q-pv2m\x00wz9r", domain.FieldInvalidFormat},
		"no UTF-8":                               {"xk7q-pv2m\xffwz9r", domain.FieldInvalidFormat},
	} {
		err := domain.CheckPassword(c.password, of)
		var refused *domain.Error
		if !errors.As(err, &refused) || len(refused.Fields) != 1 || refused.Fields[0].Field != "password" || refused.Fields[0].Code != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		} else if c.password != "" && strings.Contains(refused.Error(), c.password) {
			t.Errorf("%s: the refusal repeats the password", name)
		}
	}
}
