package strictjson

import (
	"slices"
	"strings"
)

// AppendCanonical appends the canonical form of the value. All documents with the same meaning
// share it, and no others. Names are sorted by their bytes, there is no white space, each
// character is escaped in one way or not at all, and numbers are those of Decimal.AsDouble. So 1,
// 1.0 and 10e-1 are equal, and so are 21.9 and 21.899999999999999. The order of arrays stays. Text is
// compared by code points, without Unicode normalization. A null member differs from a missing
// one.
//
// The result is valid JSON, its own canonical form, and at most three times as long as the
// body. A nil Value, which stands for no body, is {}.
func (v *Value) AppendCanonical(dst []byte) []byte {
	if v == nil {
		return append(dst, "{}"...)
	}
	return appendCanonical(dst, *v)
}

func appendCanonical(dst []byte, v Value) []byte {
	switch v.kind() {
	case kindNull:
		return append(dst, "null"...)
	case kindFalse:
		return append(dst, "false"...)
	case kindTrue:
		return append(dst, "true"...)
	case kindNumber:
		return splitNumber(asDouble(v.text())).append(dst)
	case kindString:
		return appendQuoted(dst, v.text())
	case kindObject:
		return appendObject(dst, v)
	}
	dst = append(dst, '[')
	for i := 1; i < len(v.nodes); i = v.next(i) {
		if i > 1 {
			dst = append(dst, ',')
		}
		dst = appendCanonical(dst, v.child(i))
	}
	return append(dst, ']')
}

func appendObject(dst []byte, v Value) []byte {
	var capacity [24]int // more members than any declared object has: no allocation
	members := capacity[:0]
	for i := 1; i < len(v.nodes); i = v.next(i) {
		members = append(members, i)
	}
	slices.SortFunc(members, func(a, b int) int { return strings.Compare(v.name(a), v.name(b)) })

	dst = append(dst, '{')
	for n, i := range members {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(dst, v.name(i))
		dst = append(dst, ':')
		dst = appendCanonical(dst, v.child(i))
	}
	return append(dst, '}')
}

// appendQuoted escapes only what JSON demands, always as \u00xx unless it is the quote or the
// backslash.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		if c < ' ' {
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		} else {
			dst = append(dst, '\\', c)
		}
	}
	return append(append(dst, s[from:]...), '"')
}
