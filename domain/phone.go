package domain

import "regexp"

// PhoneNumber is a number in the E.164 form +233201234567.
type PhoneNumber string

var e164 = regexp.MustCompile(`^\+[1-9][0-9]{7,14}$`)

// ParsePhoneNumber accepts the normalized form only. Turning what people type
// into it needs a numbering plan and is the work of ports.Normalizer.
func ParsePhoneNumber(s string) (PhoneNumber, bool) {
	return PhoneNumber(s), e164.MatchString(s)
}
