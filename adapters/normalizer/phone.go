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
	// maxTyped limits the work of one call: 15 digits with a separator after each, some of them
	// several bytes long, fit.
	maxTyped = 100
	// maxDigits is 15 of E.164, the 00 prefix, and a national 0 in parentheses.
	maxDigits = 18
)

// Normalizer reads numbers as people in its default region type them. It is safe for concurrent
// use.
type Normalizer struct {
	region string
	abroad string // replaces the national 0: +233; empty when that rule is not enough
	// cache holds numbers as they were typed recently. Those of shops and of repeat customers
	// come many times, and reading one costs 13 us.
	cache *lru.Cache[string, domain.PhoneNumber]
}

// cacheSize limits the cache to half a megabyte.
const cacheSize = 4096

// New creates a normalizer for a default region such as "GH" (ISO 3166-1 alpha-2). An unknown
// region is an error.
func New(region string) (*Normalizer, error) {
	if phonenumbers.GetCountryCodeForRegion(region) == 0 {
		return nil, fmt.Errorf("%q is not a region with a numbering plan; use two capital letters such as GH", region)
	}
	cache, err := lru.New[string, domain.PhoneNumber](cacheSize)
	if err != nil {
		return nil, fmt.Errorf("read a phone number: %w", err)
	}
	abroad, err := abroadPrefix(region)
	if err != nil {
		return nil, fmt.Errorf("read a phone number: %w", err)
	}
	return &Normalizer{region: region, abroad: abroad, cache: cache}, nil
}

// abroadPrefix returns the prefix that replaces the 0 of a national number dialled from abroad.
// It is empty when several regions share a country code, or dial anything else than 0.
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

// The library gets only digits after an optional plus, without an extension. It searches for an
// extension anyway, with an expression that took half of the time of reading a number.
func init() { phonenumbers.EXTN_PATTERN = regexp.MustCompile("extension") }

// PhoneNumber reads a number. It returns false for a national number that is not valid in the
// region's plan, for an international one of a length its country does not have, for letters
// and extensions, and for a text of more than 100 bytes.
func (n *Normalizer) PhoneNumber(typed string) (domain.PhoneNumber, bool) {
	if len(typed) > maxTyped {
		return "", false
	}
	if number, known := n.cache.Get(typed); known {
		return number, true
	}
	number, ok := n.read(typed)
	if ok {
		n.cache.Add(strings.Clone(typed), number) // typed may be part of a whole request
	}
	return number, ok
}

// leastDigits is the least digits of a part of a number.
const leastDigits = 3

// PhonePart reads a part of a number. Digits after a national prefix begin a number of the
// default region. Those after a plus or 00 begin one with its country code. Others may be
// anywhere in a number, unchanged.
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
	// If the library changed the number, such as a national 0 after the country code, its plan
	// has to confirm the result.
	possible := phonenumbers.IsPossibleNumberWithReason(parsed) == phonenumbers.IS_POSSIBLE
	if !phonenumbers.IsValidNumber(parsed) && !(number == dialled && possible) {
		return "", false
	}
	return domain.ParsePhoneNumber(number)
}

// dialled keeps the digits and a leading plus. It returns false for any character that is no
// separator.
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
	// The library would skip zeros after the plus: no country code has one.
	return number, len(number) <= maxDigits+len("+") && !strings.HasPrefix(number, "+0")
}

func separates(r rune) bool {
	switch r {
	case ' ', '\t', '.', '/', '(', ')', '\u2212': // the last one is the minus sign
		return true
	}
	// Invisible format characters come along when a number is copied from a list of contacts.
	return unicode.Is(unicode.Pd, r) || unicode.Is(unicode.Cf, r)
}
