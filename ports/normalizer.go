package ports

import "waybill/domain"

// Normalizer brings what people type into the one form that is compared.
type Normalizer interface {
	// PhoneNumber reads national, international and 00 forms in the default
	// region and answers false for what is no valid number anywhere.
	PhoneNumber(typed string) (domain.PhoneNumber, bool)
	// MatchKey is equal for two addresses exactly when they count as one:
	// Unicode NFKC, trimmed, white space runs as one space, case folded.
	MatchKey(address string) string
}
