package ports

import "waybill/domain"

// Identifiers draws everything that must never repeat.
type Identifiers interface {
	// ID carries a UUIDv7: later ones of one process sort behind earlier ones.
	ID(p domain.Prefix) domain.ID
	// Reference has 60 bits from a cryptographic source.
	Reference() domain.Reference
	// APIKey is a fresh secret for the environment.
	APIKey(e domain.Environment) string
	// SigningSecret is a fresh secret for webhooks, as random as it is long.
	SigningSecret() [32]byte
}
