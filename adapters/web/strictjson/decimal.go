package strictjson

import (
	"errors"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"
	"github.com/go-json-experiment/json/jsontext"
)

// Errors of Decimal.MinorUnits.
var (
	// ErrTooLarge reports that the amount is beyond the limit.
	ErrTooLarge = errors.New("amount is too large")
	// ErrTooPrecise reports that the amount has a fraction of the smallest unit.
	ErrTooPrecise = errors.New("amount has too many decimals")
	// ErrNotDecimal reports that the text is not a JSON number.
	ErrNotDecimal = errors.New("not a decimal number")
)

// Decimal is an exact decimal number, as written by the client. It never passes through a
// float. The zero value is 0.
type Decimal struct{ text string }

// ParseDecimal reads a number in JSON's notation, without white space around it. It fails with
// ErrNotDecimal.
func ParseDecimal(text string) (Decimal, error) {
	raw := jsontext.Value(text)
	if !raw.IsValid() || raw.Kind() != jsontext.KindNumber || strings.Trim(text, whiteSpace) != text {
		return Decimal{}, ErrNotDecimal
	}
	return Decimal{text}, nil
}

// String returns the number as it was written, of any length.
func (d Decimal) String() string {
	if d.text == "" {
		return "0"
	}
	return d.text
}

// AsDouble returns the shortest number that denotes the same double. Some clients write 21.9 as
// 21.899999999999999, and most readers of JSON do not distinguish the two. A number of at most 15
// digits, or beyond all doubles, stays as it is.
func (d Decimal) AsDouble() Decimal { return Decimal{asDouble(d.text)} }

func asDouble(text string) string {
	const exact = 15 // two numbers of so many digits are never one double
	if len(text) <= exact {
		return text
	}
	if n := splitNumber(text); len(n.whole)+len(n.frac) <= exact {
		return text
	}
	double, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(double, 'g', -1, 64)
}

// Sign returns -1, 0 or +1. -0 has sign 0.
func (d Decimal) Sign() int {
	var x apd.Decimal
	d.compute(&x)
	return x.Sign()
}

// MinorUnits returns the amount in units of ten to the -scale, exactly: with scale 2, 12.5 is
// 1250 and 1.000 is 100. The scale is 0 to 18. An amount further from 0 than maxMinor units
// gives ErrTooLarge, even if it is also too precise. One that is not a whole number of units
// gives ErrTooPrecise. It takes no longer for 1e999999999 than for 1.
func (d Decimal) MinorUnits(scale int, maxMinor int64) (int64, error) {
	var amount, most apd.Decimal
	d.compute(&amount)
	amount.Exponent += int32(scale) //nolint:gosec // 0 to 18
	negative := amount.Negative
	amount.Negative = false
	if amount.Cmp(most.SetInt64(max(maxMinor, 0))) > 0 {
		return 0, ErrTooLarge
	}
	units, err := amount.Int64()
	switch {
	case err != nil:
		return 0, ErrTooPrecise
	case negative:
		return -units, nil
	}
	return units, nil
}

const (
	// plainLength limits the characters of a number that is computed directly.
	plainLength = 64
	// enoughDigits exceeds the digits of two int64.
	enoughDigits = 40
	// enoughExponent exceeds the exponent of every int64 at every scale.
	enoughExponent = 100
)

// compute sets x to the number. If its digits or its exponent are longer than those of any
// amount, x becomes a number between the same two neighbouring amounts. The library takes as
// long as a number is large, and clients choose how large.
func (d Decimal) compute(x *apd.Decimal) {
	if d.text == "" {
		return
	}
	if len(d.text) <= plainLength {
		if _, _, err := x.SetString(d.text); err == nil && x.Exponent >= -enoughExponent && x.Exponent <= enoughExponent {
			return
		}
	}
	n := splitNumber(d.text)
	digits := n.whole + n.frac
	point := int64(len(digits)) + n.exp + n.shift // the number is 0.digits times ten to the power of point
	switch {
	case n.hugeNegative:
		point = -enoughExponent
	case n.huge != "":
		point = enoughExponent
	}
	if len(digits) > enoughDigits {
		digits = digits[:enoughDigits] + "1" // the digits that are cut off are not zero
	}
	point = min(max(point, -enoughExponent), enoughExponent)
	if _, _, err := x.SetString("0." + digits + "e" + strconv.FormatInt(point, 10)); err != nil {
		panic(err) // digits and a small exponent
	}
	x.Negative = n.negative
}
