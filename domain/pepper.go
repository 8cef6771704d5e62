package domain

import "time"

// PepperUse counts the API keys and operator tokens that are digested under a pepper and neither
// revoked nor expired.
type PepperUse struct {
	Mark       [32]byte // of the pepper
	Keys       int
	Tokens     int
	LastUsedAt *time.Time // nil: none of them was ever used
}

// SumPepperUses adds up the uses of several peppers.
func SumPepperUses(uses []PepperUse) (sum PepperUse) {
	for _, u := range uses {
		sum.Keys, sum.Tokens = sum.Keys+u.Keys, sum.Tokens+u.Tokens
		if u.LastUsedAt != nil && (sum.LastUsedAt == nil || u.LastUsedAt.After(*sum.LastUsedAt)) {
			sum.LastUsedAt = u.LastUsedAt
		}
	}
	return sum
}
