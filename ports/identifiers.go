package ports

import "waybill/domain"

// Identifiers creates values that must never repeat.
type Identifiers interface {
	// ID returns a UUIDv7. Later IDs of one process sort after earlier ones.
	ID(p domain.Prefix) domain.ID
	// Reference returns 60 bits from a cryptographic source.
	Reference() domain.Reference
	// APIKey returns a new secret for the environment.
	APIKey(e domain.Environment) string
	// SigningSecret returns a new secret for webhooks, with all bytes random.
	SigningSecret() [32]byte
}
