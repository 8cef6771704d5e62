package domain_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waybill/domain"
)

var prefixes = []domain.Prefix{"biz_", "app_", "key_", "rcp_", "adr_", "pkp_", "dlv_", "evt_"}

func TestAnIDReadsBackAsItsOwnKindOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bytes := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
		p := rapid.SampledFrom(prefixes).Draw(t, "prefix")
		id := domain.MakeID(p, bytes)
		if len(id) != 36 || !strings.HasPrefix(string(id), string(p)) || id.Hex() != string(id[4:]) {
			t.Fatalf("id %q, hex %q", id, id.Hex())
		}
		for _, q := range prefixes {
			got, err := domain.ParseID(q, string(id))
			if (q == p) != (err == nil) || err == nil && got != id {
				t.Fatalf("ParseID(%s, %s) = %q, %v", q, id, got, err)
			}
		}
	})
}

func TestWhatIsNoIDIsNotFound(t *testing.T) {
	t.Parallel()
	const hex = "0123456789abcdef0123456789abcdef"
	for name, s := range map[string]string{
		"nothing":              "",
		"the prefix alone":     "dlv_",
		"no prefix":            hex,
		"prefix in upper case": "DLV_" + hex,
		"another prefix":       "rcp_" + hex,
		"no underscore":        "dlv" + hex,
		"upper case hex":       "dlv_" + strings.ToUpper(hex),
		"one upper case digit": "dlv_" + hex[:31] + "F",
		"a letter past f":      "dlv_" + hex[:31] + "g",
		"31 characters":        "dlv_" + hex[:31],
		"33 characters":        "dlv_" + hex + "0",
		"a dash":               "dlv_" + hex[:31] + "-",
		"a slash before 0":     "dlv_" + hex[:31] + "/",
		"a colon behind 9":     "dlv_" + hex[:31] + ":",
		"a backquote before a": "dlv_" + hex[:31] + "`",
		"a space in front":     " dlv_" + hex,
		"a line end behind":    "dlv_" + hex + "\n",
		"two bytes in one":     "dlv_" + hex[:30] + "é",
		"a NUL":                "dlv_" + hex[:31] + "\x00",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if id, err := domain.ParseID(domain.PrefixDelivery, s); !errors.Is(err, domain.ErrNotFound) || id != "" {
				t.Errorf("ParseID(%q) = %q, %v", s, id, err)
			}
		})
	}
	if id, err := domain.ParseID(domain.PrefixDelivery, "dlv_"+hex); err != nil || id != "dlv_"+hex {
		t.Errorf("the one that is right: %q, %v", id, err)
	}
}

func TestHexOfAnIDWithoutPrefixIsAllOfIt(t *testing.T) {
	t.Parallel()
	if got := domain.MakeID("", [16]byte{0xab}).Hex(); got != "ab"+strings.Repeat("0", 30) {
		t.Errorf("got %q", got)
	}
}

var referenceForm = regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}$`)

// bitsOf reads a reference by the definition of Crockford's base32, so that no two numbers of 60
// bits can share a reference.
func bitsOf(r domain.Reference) (bits uint64) {
	for _, c := range strings.ReplaceAll(string(r), "-", "") {
		bits = bits<<5 | uint64(strings.IndexRune("0123456789ABCDEFGHJKMNPQRSTVWXYZ", c))
	}
	return bits
}

func TestAReferenceHoldsSixtyBitsAndNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.Uint64().Draw(t, "bits")
		r := domain.MakeReference(bits)
		if !referenceForm.MatchString(string(r)) || strings.ContainsAny(string(r), "ILOU") {
			t.Fatalf("reference %q", r)
		}
		if got := bitsOf(r); got != bits&(1<<60-1) {
			t.Fatalf("%q holds %#x, want the low 60 bits of %#x", r, got, bits)
		}
		if back, ok := domain.ParseReference(string(r)); !ok || back != r {
			t.Fatalf("%q does not parse", r)
		}
	})
}

func TestReferencesAtTheEnds(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint64]domain.Reference{
		0: "0000-0000-0000", 1: "0000-0000-0001", 31: "0000-0000-000Z", 32: "0000-0000-0010",
		1<<60 - 1: "ZZZZ-ZZZZ-ZZZZ", 1 << 60: "0000-0000-0000",
	} {
		if got := domain.MakeReference(bits); got != want {
			t.Errorf("MakeReference(%#x) = %s, want %s", bits, got, want)
		}
	}
}

func TestWhatIsNoReference(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "0000-0000", "000000000000", "0000-0000-00000", "0000-0000-000", "0000 0000 0000", "00000-000-0000",
		"0000-0000-000I", "0000-0000-000L", "0000-0000-000O", "0000-0000-000U", "0000-0000-000a", "0000_0000-0000",
		"0000-0000_0000", "0000-0000-00\u00e9", "-000-0000-0000",
	} {
		if r, ok := domain.ParseReference(s); ok || r != "" {
			t.Errorf("ParseReference(%q) = %q, %t", s, r, ok)
		}
	}
}

func TestAReferenceIsReadAsPeopleWriteItDown(t *testing.T) {
	t.Parallel()
	const want = domain.Reference("7K3M-Q018-2V1D")
	for _, typed := range []string{
		"7K3M-Q018-2V1D", "7k3m-q018-2v1d", "7K3MQ0182V1D", " 7K3M Q018 2V1D\n", "7K3M–Q018—2V1D", "7K3M−Q018−2V1D",
		"7K3M-QOI8-2VLD", "7k3mqoi82vld", "7-K3M-Q0-18-2V1D", "7K3M\u00a0Q018\u202f2V1D",
	} {
		if got, ok := domain.FoldReference(typed); !ok || got != want {
			t.Errorf("%q: %q, %v", typed, got, ok)
		}
	}
	for _, typed := range []string{
		"", "-", "7K3M-Q018-2V1", "7K3M-Q018-2V1D5", "7K3M-Q018-2V1U", "7K3M/Q018/2V1D", "７K3M-Q018-2V1D", "7K3M-Q018-2V1ſ",
		"7K3M-Q018-2V1D" + strings.Repeat(" ", 64), "\xff",
	} {
		if got, ok := domain.FoldReference(typed); ok {
			t.Errorf("%q is taken for %q", typed, got)
		}
	}
}
