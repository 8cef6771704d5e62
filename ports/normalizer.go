package ports

import "waybill/domain"

// Normalizer converts what people type into one form for comparison.
type Normalizer interface {
	// PhoneNumber reads national, international and 00 forms. It returns false for a national
	// number outside the default region's numbering plan, and for an international one with a wrong
	// length for its country.
	PhoneNumber(typed string) (domain.PhoneNumber, bool)
	// PhonePart reads part or all of a number, in any spelling that PhoneNumber accepts, and
	// returns that part in normalized form: 024 412 is +23324412. It returns false for a text with
	// characters that no number has, and for less than three digits, which match too much.
	PhonePart(typed string) (string, bool)
	// MatchKey returns the same key for two addresses exactly when they count as one: Unicode NFKC,
	// trimmed, white space runs as one space, case folded.
	MatchKey(address string) string
}
