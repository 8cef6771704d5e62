package strictjson

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Errors of Decimal.MinorUnits.
var (
	// ErrTooLarge: the amount is beyond the limit.
	ErrTooLarge = errors.New("amount is too large")
	// ErrTooPrecise: the amount is a fraction of the smallest unit.
	ErrTooPrecise = errors.New("amount has too many decimals")
	// ErrNotDecimal: the text is not a JSON number.
	ErrNotDecimal = errors.New("not a decimal number")
)

// Decimal is an exact decimal number, as written by the caller. It never
// passes through a float. The zero value is 0.
type Decimal struct{ text string }

// ParseDecimal reads a number in JSON's notation, without white space around
// it. It fails with ErrNotDecimal.
func ParseDecimal(text string) (Decimal, error) {
	raw := jsontext.Value(text)
	if !raw.IsValid() || raw.Kind() != jsontext.KindNumber || strings.Trim(text, whiteSpace) != text {
		return Decimal{}, ErrNotDecimal
	}
	return Decimal{text}, nil
}

// String is the number as it was written, of whatever length that was.
func (d Decimal) String() string {
	if d.text == "" {
		return "0"
	}
	return d.text
}

// Sign is -1, 0 or +1. -0 has sign 0.
func (d Decimal) Sign() int {
	switch n := splitNumber(d.text); {
	case n.isZero():
		return 0
	case n.negative:
		return -1
	}
	return 1
}

// MinorUnits returns the amount in units of ten to the -scale, exactly: with
// scale 2, 12.5 is 1250 and 1.000 is 100. The scale is 0 or more. An amount further from 0 than
// maxMinor units is ErrTooLarge, also where it is too precise; one that is not
// a whole number of units is ErrTooPrecise. It takes no longer for 1e999999999
// than for 1.
func (d Decimal) MinorUnits(scale int, maxMinor int64) (int64, error) {
	n := splitNumber(d.text)
	if n.isZero() {
		return 0, nil
	}
	count := int64(len(n.whole) + len(n.frac))
	if n.huge != "" {
		if n.hugeNegative {
			return 0, ErrTooPrecise
		}
		return 0, ErrTooLarge
	}
	zeros := n.exp + n.shift + int64(scale) // to write behind the digits; cut off where negative
	const mostDigits = 19                   // of an int64
	if count+zeros > mostDigits {
		return 0, ErrTooLarge
	}
	var units uint64 // 19 digits always fit
	for i := range count + min(zeros, 0) {
		units = units*10 + uint64(n.digit(i)-'0')
	}
	for range zeros {
		units *= 10
	}
	limit := uint64(max(maxMinor, 0))
	switch {
	case units > limit, zeros < 0 && units == limit: // what was cut off is more than nothing
		return 0, ErrTooLarge
	case zeros < 0:
		return 0, ErrTooPrecise
	case n.negative:
		return -int64(units), nil
	}
	return int64(units), nil
}

// digit is the i-th digit, counted from the left.
func (n number) digit(i int64) byte {
	if i < int64(len(n.whole)) {
		return n.whole[i]
	}
	return n.frac[i-int64(len(n.whole))]
}
