package ports

import "waybill/domain"

// Normalizer brings what people type into the one form that is compared.
type Normalizer interface {
	// PhoneNumber reads national, international and 00 forms. It answers false
	// for a national number that the default region's plan does not have, and
	// for an international one whose length its country does not have.
	PhoneNumber(typed string) (domain.PhoneNumber, bool)
	// PhonePart reads what may be a part of a number, or all of one, in any spelling
	// that PhoneNumber takes, and returns how that part stands in the normalized
	// form: 024 412 is +23324412. It answers false for a text with anything in it
	// that no number has, and for less than three digits, which tell nothing.
	PhonePart(typed string) (string, bool)
	// MatchKey is equal for two addresses exactly when they count as one:
	// Unicode NFKC, trimmed, white space runs as one space, case folded.
	MatchKey(address string) string
}
