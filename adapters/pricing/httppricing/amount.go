package httppricing

import (
	"errors"
	"strconv"
	"strings"
)

const (
	// maxDigits of minor units: every such amount is also exact as a float64,
	// which is what most clients read our own answers with.
	maxDigits = 15
	// maxExponent is beyond what 64 KiB of digits can make up for.
	maxExponent = 1 << 20
)

var (
	errNegative   = errors.New("it is negative")
	errTooPrecise = errors.New("it has more than two decimals")
	errTooLarge   = errors.New("it is too large")
)

// minorUnits reads a JSON number as an exact amount of hundredths. Zeros
// behind the second decimal are nothing, and an exponent is only another way to
// write the same number. It does no more work for 1e999999999 than for 1.
func minorUnits(number string) (int64, error) {
	mantissa, exponentText := number, "0"
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		mantissa, exponentText = number[:i], number[i+1:]
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return 0, nil
	}
	if negative {
		return 0, errNegative
	}
	exponent, err := strconv.Atoi(exponentText)
	switch {
	case exponent > maxExponent: // Atoi also answers the nearest int with its error
		return 0, errTooLarge
	case exponent < -maxExponent:
		return 0, errTooPrecise
	case err != nil:
		return 0, err
	}
	significant := strings.TrimRight(digits, "0")
	// The amount is significant x 10^shift hundredths.
	shift := exponent - len(fraction) + len(digits) - len(significant) + 2
	if shift < 0 {
		return 0, errTooPrecise
	}
	if len(significant)+shift > maxDigits {
		return 0, errTooLarge
	}
	return strconv.ParseInt(significant+strings.Repeat("0", shift), 10, 64)
}
