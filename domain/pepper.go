package domain

import "time"

// PepperUse tells of the API keys and operator tokens that are digested under a
// pepper and neither revoked nor expired.
type PepperUse struct {
	Mark       [32]byte // of the pepper
	Keys       int
	Tokens     int
	LastUsedAt *time.Time // nil: none of them was ever used
}
