package strictjson

import (
	"strconv"
	"strings"
)

// number is a JSON number split up without being computed, so that 1e999999999 costs no more
// than its eleven characters. Its value is the digits of whole followed by frac, times ten to
// the exponent.
type number struct {
	negative bool
	// Together they neither begin nor end with a zero. If both are empty the number is 0.
	whole, frac string
	// The exponent is shift plus the written one: exp if that is small, otherwise huge, its
	// digits, with hugeNegative.
	shift        int64
	exp          int64
	huge         string
	hugeNegative bool
}

// smallExponent limits the digits of an exponent that fits an int64. The size of the body limits
// the shift far below 10^18, so that it can never change the sign of a huge exponent.
const smallExponent = 18

// splitNumber splits a valid JSON number. The empty string is 0.
func splitNumber(text string) number {
	var n number
	text, n.negative = strings.CutPrefix(text, "-")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n.setExponent(text[i+1:])
		text = text[:i]
	}
	whole, frac, _ := strings.Cut(text, ".")
	n.shift = -int64(len(frac))

	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		frac = strings.TrimLeft(frac, "0")
	}
	full := len(whole) + len(frac)
	frac = strings.TrimRight(frac, "0")
	if frac == "" {
		whole = strings.TrimRight(whole, "0")
	}
	n.shift += int64(full - len(whole) - len(frac))
	n.whole, n.frac = whole, frac
	return n
}

func (n *number) setExponent(text string) {
	text, minus := strings.CutPrefix(text, "-")
	text = strings.TrimLeft(strings.TrimPrefix(text, "+"), "0")
	if len(text) > smallExponent {
		n.huge, n.hugeNegative = text, minus
		return
	}
	n.exp, _ = strconv.ParseInt("0"+text, 10, 64)
	if minus {
		n.exp = -n.exp
	}
}

func (n number) isZero() bool { return n.whole == "" && n.frac == "" }

// append writes the digits and, unless it is 0, the exponent: 1.50 is 15e-1.
func (n number) append(dst []byte) []byte {
	if n.isZero() {
		return append(dst, '0')
	}
	if n.negative {
		dst = append(dst, '-')
	}
	dst = append(append(dst, n.whole...), n.frac...)
	if n.huge != "" {
		return n.appendHuge(dst)
	}
	if e := n.exp + n.shift; e != 0 {
		dst = strconv.AppendInt(append(dst, 'e'), e, 10)
	}
	return dst
}

// appendHuge adds the shift to an exponent of any length, digit by digit. That takes time and
// space of that length only.
func (n number) appendHuge(dst []byte) []byte {
	dst = append(dst, 'e')
	carry := n.shift
	if n.hugeNegative {
		dst = append(dst, '-')
		carry = -carry
	}
	digits := append([]byte{'0'}, n.huge...) // capacity for one digit more
	for i := len(digits) - 1; i >= 0 && carry != 0; i-- {
		d := int64(digits[i]-'0') + carry
		rest := (d%10 + 10) % 10
		digits[i] = byte('0' + rest)
		carry = (d - rest) / 10
	}
	for digits[0] == '0' {
		digits = digits[1:]
	}
	return append(dst, digits...)
}
