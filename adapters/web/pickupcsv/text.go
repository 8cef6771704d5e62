package pickupcsv

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"waybill/domain"
)

const (
	utf8Mark    = "\xef\xbb\xbf"
	utf16Little = "\xff\xfe"
	utf16Big    = "\xfe\xff"
)

// Text returns the text of a file in UTF-8, without a byte order mark. Text that is not UTF-8 is
// UTF-16 if it has a byte order mark, as Excel writes "Unicode text", and else windows-1252, as
// Excel writes CSV in most countries. The error is Errors.
func Text(content []byte) (string, error) {
	text, wrong := decode(content)
	if wrong != nil {
		return "", wrong
	}
	return string(text), nil
}

func decode(content []byte) (text []byte, wrong Errors) {
	if utf8.Valid(content) {
		return bytes.TrimPrefix(content, []byte(utf8Mark)), nil
	}
	var set encoding.Encoding = charmap.Windows1252
	switch {
	case bytes.HasPrefix(content, []byte(utf16Little)), bytes.HasPrefix(content, []byte(utf16Big)):
		set = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	case bytes.HasPrefix(content, []byte(utf8Mark)):
		set = unicode.UTF8
	}
	// A decoder fails on nothing but a missing mark. It replaces what is no character of the set.
	text, err := set.NewDecoder().Bytes(content)
	damaged := bytes.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || r == 0 })
	if err != nil || damaged >= 0 {
		line := 1 + bytes.Count(text[:max(0, damaged)], []byte("\n"))
		return nil, whole(line, domain.FieldInvalidFormat, "the file has bytes that are no text; save it as CSV UTF-8")
	}
	return text, nil
}
