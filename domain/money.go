package domain

import "strconv"

// Money is an amount in minor units (pesewas for GHS) of a currency.
type Money struct {
	Minor    int64
	Currency string // ISO 4217
}

// Decimal renders the amount as a JSON number with as few decimals as possible, at most two: 24.5,
// 3, 0.05.
func (m Money) Decimal() string {
	sign, minor := "", m.Minor
	if minor < 0 {
		sign, minor = "-", -minor
	}
	whole, cents := strconv.FormatInt(minor/100, 10), minor%100
	switch {
	case cents == 0:
		return sign + whole
	case cents%10 == 0:
		return sign + whole + "." + strconv.FormatInt(cents/10, 10)
	case cents < 10:
		return sign + whole + ".0" + strconv.FormatInt(cents, 10)
	}
	return sign + whole + "." + strconv.FormatInt(cents, 10)
}
