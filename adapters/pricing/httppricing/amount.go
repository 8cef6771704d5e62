package httppricing

import (
	"errors"

	"github.com/cockroachdb/apd/v3"
)

var (
	errNegative   = errors.New("it is negative")
	errTooPrecise = errors.New("it has more than two decimals")
	errTooLarge   = errors.New("it is too large")
	errExponent   = errors.New("its exponent is out of range")
)

// mostHundredths has 15 digits: every such amount is also exact as a float64, with which most
// clients read our own responses.
var mostHundredths = apd.New(999_999_999_999_999, 0)

// minorUnits reads a JSON number as an exact amount of hundredths. It ignores zeros after the
// second decimal, and accepts an exponent. It does no more work for 1e999999999 than for 1.
func minorUnits(number string) (int64, error) {
	amount, _, err := apd.NewFromString(number)
	if err != nil {
		return 0, errExponent
	}
	amount.Exponent += 2
	switch {
	case amount.Sign() < 0:
		return 0, errNegative
	case amount.Cmp(mostHundredths) > 0:
		return 0, errTooLarge
	}
	hundredths, err := amount.Int64()
	if err != nil {
		return 0, errTooPrecise
	}
	return hundredths, nil
}
