package normalizer

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/unicode/norm"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Normalizer = (*Normalizer)(nil)

const (
	// maxTyped bounds the work of one call: 15 digits with a separator after
	// each, some of them several bytes long, fit.
	maxTyped = 100
	// maxDigits is 15 of E.164, the 00 prefix, and a national 0 in parentheses.
	maxDigits = 18
)

// Normalizer reads numbers as people in its default region type them. It is safe
// for concurrent use.
type Normalizer struct {
	region string
	abroad string // in place of the national 0: +233; empty where that is not all there is to it
	// known are numbers as they were typed lately: those of shops and of people
	// who order again come many times, and reading one costs 13 us.
	known *lru.Cache[string, domain.PhoneNumber]
}

// mostKnown bounds them: half a megabyte.
const mostKnown = 4096

// New makes a normalizer for a default region such as "GH" (ISO 3166-1
// alpha-2); an unknown region is an error.
func New(region string) (*Normalizer, error) {
	if phonenumbers.GetCountryCodeForRegion(region) == 0 {
		return nil, fmt.Errorf("%q is not a region with a numbering plan; use two capital letters such as GH", region)
	}
	known, err := lru.New[string, domain.PhoneNumber](mostKnown)
	if err != nil {
		return nil, fmt.Errorf("read a phone number: %w", err)
	}
	abroad, err := abroadPrefix(region)
	if err != nil {
		return nil, fmt.Errorf("read a phone number: %w", err)
	}
	return &Normalizer{region: region, abroad: abroad, known: known}, nil
}

// abroadPrefix is what stands in place of the 0 before a national number when it
// is dialled from abroad. It is empty where several regions share a country code,
// or dial anything else than 0.
func abroadPrefix(region string) (string, error) {
	all, err := phonenumbers.MetadataCollection()
	if err != nil {
		return "", err
	}
	for _, m := range all.GetMetadata() {
		if m.GetId() == region && m.GetNationalPrefixForParsing() == "0" &&
			len(phonenumbers.GetRegionCodesForCountryCode(int(m.GetCountryCode()))) == 1 {
			return fmt.Sprintf("+%d", m.GetCountryCode()), nil
		}
	}
	return "", nil
}

// What is given to the library is digits behind a plus at most, and has no extension. It looks
// for one all the same, by an expression that took half of the time of reading a number.
func init() { phonenumbers.EXTN_PATTERN = regexp.MustCompile("extension") }

// PhoneNumber reads a number. False for a national number that is not valid in
// the region's plan, for an international one of a length its country does not
// have, for letters and extensions, and for a text of more than 100 bytes.
func (n *Normalizer) PhoneNumber(typed string) (domain.PhoneNumber, bool) {
	if len(typed) > maxTyped {
		return "", false
	}
	if number, known := n.known.Get(typed); known {
		return number, true
	}
	number, ok := n.read(typed)
	if ok {
		n.known.Add(strings.Clone(typed), number) // typed may be part of a whole request
	}
	return number, ok
}

// leastDigits is how many a part of a number has at least.
const leastDigits = 3

// PhonePart knows that digits behind a national prefix begin a number of the default
// region, and those behind a plus or 00 one with its country code. Others stand
// somewhere in a number as they are.
func (n *Normalizer) PhonePart(typed string) (string, bool) {
	if len(typed) > maxTyped {
		return "", false
	}
	part, ok := dialled(typed)
	if !ok || len(strings.TrimPrefix(part, "+")) < leastDigits {
		return "", false
	}
	if n.abroad != "" {
		for _, national := range []string{"0", n.abroad + "0"} { // +233 (0)24
			if rest, ok := strings.CutPrefix(part, national); ok {
				return n.abroad + rest, true
			}
		}
	}
	if n.abroad == "" || strings.HasPrefix(part, "+") {
		if number, ok := n.PhoneNumber(typed); ok {
			return string(number), true
		}
	}
	return part, true
}

func (n *Normalizer) read(typed string) (domain.PhoneNumber, bool) {
	dialled, ok := dialled(typed)
	if !ok {
		return "", false
	}
	parsed, err := phonenumbers.Parse(dialled, n.region)
	if err != nil {
		return "", false
	}
	number := phonenumbers.Format(parsed, phonenumbers.E164)
	// Where the library changed what was dialled, such as a national 0 behind
	// the country code, its plan has to confirm the result.
	possible := phonenumbers.IsPossibleNumberWithReason(parsed) == phonenumbers.IS_POSSIBLE
	if !phonenumbers.IsValidNumber(parsed) && !(number == dialled && possible) {
		return "", false
	}
	return domain.ParsePhoneNumber(number)
}

// dialled keeps the digits and a leading plus; false when anything stands
// there that is no separator.
func dialled(typed string) (string, bool) {
	var out strings.Builder
	for _, r := range norm.NFKC.String(typed) {
		switch {
		case '0' <= r && r <= '9':
			out.WriteRune(r)
		case r == '+':
			if out.Len() > 0 {
				return "", false
			}
			out.WriteByte('+')
		case !separates(r):
			return "", false
		}
	}
	number := out.String()
	if rest, ok := strings.CutPrefix(number, "00"); ok {
		number = "+" + rest
	}
	// The library would skip zeros behind the plus: no country code has one.
	return number, len(number) <= maxDigits+len("+") && !strings.HasPrefix(number, "+0")
}

func separates(r rune) bool {
	switch r {
	case ' ', '\t', '.', '/', '(', ')', '\u2212': // the last one is the minus sign
		return true
	}
	// Format characters come along invisibly when a number is copied from a
	// list of contacts.
	return unicode.Is(unicode.Pd, r) || unicode.Is(unicode.Cf, r)
}
