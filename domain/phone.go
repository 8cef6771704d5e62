package domain

import "regexp"

// PhoneNumber is a number in the E.164 form +233201234567.
type PhoneNumber string

var e164 = regexp.MustCompile(`^\+[1-9][0-9]{7,14}$`)

// ParsePhoneNumber accepts only the normalized form. ports.Normalizer normalizes what people type,
// which needs a numbering plan.
func ParsePhoneNumber(s string) (PhoneNumber, bool) {
	return PhoneNumber(s), e164.MatchString(s)
}
