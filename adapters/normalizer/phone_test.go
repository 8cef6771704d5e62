package normalizer_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"pgregory.net/rapid"

	"waybill/adapters/normalizer"
	"waybill/domain"
)

func in(t testing.TB, region string) *normalizer.Normalizer {
	t.Helper()
	n, err := normalizer.New(region)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWhatPeopleTypeBecomesOneNumber(t *testing.T) {
	t.Parallel()
	n := in(t, "GH")
	for typed, want := range map[string]domain.PhoneNumber{
		"+233241234567":                     "+233241234567",
		"0241234567":                        "+233241234567",
		"024 123 4567":                      "+233241234567",
		"024-123-4567":                      "+233241234567",
		"(024) 123-4567":                    "+233241234567",
		"024.123.4567":                      "+233241234567",
		"024/123 4567":                      "+233241234567",
		"  0241234567  ":                    "+233241234567",
		"00233241234567":                    "+233241234567",
		"00 233 24 123 4567":                "+233241234567",
		"+233 (0)24 123 4567":               "+233241234567",
		"+233 024 123 4567":                 "+233241234567",
		"233241234567":                      "+233241234567",
		"+233‑24‑123‑4567":                  "+233241234567", // non-breaking hyphens
		"+233 – 24 123 4567":                "+233241234567", // an en dash
		"\u202a+233 24 123 4567\u202c":      "+233241234567", // copied from contacts
		"024\u00a0123\u00a04567":            "+233241234567",
		"\uff0b\uff12\uff13\uff13241234567": "+233241234567", // full width
		"030 223 4567":                      "+233302234567",
		"+44 20 7946 0958":                  "+442079460958",
		"0044 20 7946 0958":                 "+442079460958",
		"+1 (202) 555-0143":                 "+12025550143",
		"+39 06 6982":                       "+39066982",
		"+800 1234 5678":                    "+80012345678",
	} {
		got, ok := n.PhoneNumber(typed)
		if !ok || got != want {
			t.Errorf("%q: got %q, %v, want %q", typed, got, ok, want)
		}
	}
}

func TestWhatIsNoNumberIsRefused(t *testing.T) {
	t.Parallel()
	n := in(t, "GH")
	for _, typed := range []string{
		"", " ", "+", "00", "-", "12", "911", "0", "024123456", "02412345678", "+23312", "+2332412345678901",
		"+0241234567", "+999241234567", "0000233241234567", "++233241234567", "024+1234567", "0241234567+",
		"024CALLNOW", "1-800-FLOWERS", "0241234567 ext 5", "0241234567x5", "0241234567#5", "0241234567,,5",
		"0241234567;ext=5", "tel:+233241234567", "tel:0241234567;phone-context=+44", "0241234567\x00",
		"024123\n4567", "a0241234567", "0241234567a", "phone", "☎0241234567", "*1300", "0241234567 0241234568",
		strings.Repeat("0", 100), strings.Repeat(" ", 95) + "0241234567", strings.Repeat("9", 1<<20),
		"\xff0241234567",
	} {
		if got, ok := n.PhoneNumber(typed); ok {
			t.Errorf("%.40q was taken as %q", typed, got)
		}
	}
}

// Numbering plans are older than the newest ranges, and leave out the ranges
// that countries keep for tests and films.
func TestAnInternationalNumberNeedsOnlyALengthThatItsCountryHas(t *testing.T) {
	t.Parallel()
	gh := in(t, "GH")
	for typed, want := range map[string]domain.PhoneNumber{
		"+233 61 234 5678":    "+233612345678", // no range of Ghana's begins with 6 today
		"00233 61 234 5678":   "+233612345678",
		"+233 999 999 999":    "+233999999999",
		"+44 7700 900123":     "+447700900123", // kept for drama by Ofcom
		"0044 7700 900123":    "+447700900123",
		"+1 555 555 0100":     "+15555550100",
		"+61 491 570 006":     "+61491570006",
		"+49 15123 4567 8901": "+491512345678901",
	} {
		if got, ok := gh.PhoneNumber(typed); !ok || got != want {
			t.Errorf("%q: got %q, %v, want %q", typed, got, ok, want)
		}
	}
	for what, typed := range map[string]string{
		"a national number outside the plan":        "061 234 5678",
		"the same with the country code, no plus":   "233612345678",
		"a national 0 behind the country code":      "+233 (0)61 234 5678",
		"the same with 00":                          "00233 061 234 5678",
		"too short for the country":                 "+233 61 2345",
		"a length that is dialled in the city only": "+233 612 3456",
		"too long for the country":                  "+233 61 234 5678 9",
		"too short for another country":             "+44 7700 9001",
		"too long for another country":              "+1 555 555 01000",
		"no country":                                "+999 61 234 5678",
	} {
		if got, ok := gh.PhoneNumber(typed); ok {
			t.Errorf("%s, %q, was taken as %q", what, typed, got)
		}
	}
	if got, ok := in(t, "GB").PhoneNumber("07700 900123"); ok {
		t.Errorf("a number kept for drama was taken as %q without its country code", got)
	}
}

func TestDigitsOfOtherScriptsAreRefusedUnlessTheyAreTheSameDigit(t *testing.T) {
	t.Parallel()
	n := in(t, "GH")
	if got, ok := n.PhoneNumber("٠٢٤١٢٣٤٥٦٧"); ok {
		t.Errorf("Arabic-Indic digits became %q", got)
	}
	if got, ok := n.PhoneNumber("０２４１２３４５６７"); !ok || got != "+233241234567" {
		t.Errorf("full-width digits: got %q, %v", got, ok)
	}
}

func TestANationalNumberBelongsToTheDefaultRegion(t *testing.T) {
	t.Parallel()
	if got, _ := in(t, "GB").PhoneNumber("020 7946 0958"); got != "+442079460958" {
		t.Errorf("GB: got %q", got)
	}
	if got, ok := in(t, "GH").PhoneNumber("020 7946 0958 1"); ok {
		t.Errorf("GH: got %q, want no number", got)
	}
	if got, _ := in(t, "US").PhoneNumber("00 233 24 123 4567"); got != "+233241234567" {
		t.Errorf("US with 00: got %q", got)
	}
}

func TestAnUnknownRegionIsAnError(t *testing.T) {
	t.Parallel()
	for _, region := range []string{"", "gh", "XX", "GHA", "+233", "001"} {
		if _, err := normalizer.New(region); err == nil || !strings.Contains(err.Error(), region) {
			t.Errorf("%q: got %v, want an error that names it", region, err)
		}
	}
}

// Every region's example number, in every form it is written in, is one number.
func TestEveryRegionsNumberIsTheSameInAllItsForms(t *testing.T) {
	t.Parallel()
	regions := make([]string, 0, 250)
	for region := range phonenumbers.GetSupportedRegions() {
		regions = append(regions, region)
	}
	slices.Sort(regions)
	checked := 0
	for _, region := range regions {
		example := phonenumbers.GetExampleNumberForType(region, phonenumbers.MOBILE)
		if example == nil {
			example = phonenumbers.GetExampleNumber(region)
		}
		want, ok := domain.ParsePhoneNumber(phonenumbers.Format(example, phonenumbers.E164))
		if !ok {
			continue // shorter than the seven digits behind the first that we take
		}
		checked++
		n, abroad := in(t, region), in(t, "GH")
		if region == "GH" {
			abroad = in(t, "FR")
		}
		for _, typed := range []struct {
			by   *normalizer.Normalizer
			text string
		}{
			{n, national(region, example)},
			{n, string(want)},
			{abroad, phonenumbers.Format(example, phonenumbers.INTERNATIONAL)},
			{abroad, "00" + string(want)[1:]},
		} {
			if got, ok := typed.by.PhoneNumber(typed.text); !ok || got != want {
				t.Errorf("%s %q: got %q, %v, want %q", region, typed.text, got, ok, want)
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d regions were checked", checked)
	}
}

// national returns the number as it is dialled at home. Argentina's example has a national form
// that libphonenumber itself does not read back.
func national(region string, number *phonenumbers.PhoneNumber) string {
	text := phonenumbers.Format(number, phonenumbers.NATIONAL)
	if region == "AR" {
		text = phonenumbers.Format(number, phonenumbers.E164)
	}
	return text
}

func TestWhatIsAcceptedIsE164AndStaysItself(t *testing.T) {
	t.Parallel()
	n := in(t, "GH")
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		typed := rapid.StringMatching(rapid.SampledFrom([]string{
			`(0|233|\+233|00233|\+233 \(0\))[ ./-]?(2[034678]|5[03459])[ ()./-]{0,2}[0-9]{3}[ -]?[0-9]{4}`, // mobile in Ghana
			`(\+|00|0)?[0-9]{2,3}[ ()./-]{0,2}[0-9]{3}[ -]?[0-9]{2,6}`,                                     // anything
		}).Draw(t, "form")).Draw(t, "typed")
		got, ok := n.PhoneNumber(typed)
		if !ok {
			return
		}
		accepted++
		if _, fits := domain.ParsePhoneNumber(string(got)); !fits {
			t.Fatalf("%q became %q, which is not E.164", typed, got)
		}
		if again, ok := n.PhoneNumber(string(got)); !ok || again != got {
			t.Fatalf("%q became %q, and that %q", typed, got, again)
		}
	})
	if accepted == 0 {
		t.Error("no drawn number was valid: the property was never checked")
	}
}

func TestManyRequestsMayNormalizeAtOnce(t *testing.T) {
	t.Parallel()
	n := in(t, "GH")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if got, _ := n.PhoneNumber("024 123 4567"); got != "+233241234567" {
					t.Errorf("got %q", got)
				}
				if got := n.MatchKey("12  Ring ROAD"); got != "12 ring road" {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzPhoneNumber(f *testing.F) {
	n := in(f, "GH")
	for _, seed := range []string{"0241234567", "+233 (0)24-123-4567", "00233241234567", "0241234567;ext=5", "１２"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		if got, ok := n.PhoneNumber(typed); ok {
			if _, fits := domain.ParsePhoneNumber(string(got)); !fits {
				t.Errorf("%q became %q", typed, got)
			}
		}
	})
}

func BenchmarkPhoneNumber(b *testing.B) {
	n := in(b, "GH")
	for b.Loop() {
		n.PhoneNumber("024 123 4567") // known from the second time on
	}
}

func BenchmarkANewPhoneNumber(b *testing.B) {
	n := in(b, "GH")
	i := 0
	for b.Loop() {
		i++
		n.PhoneNumber(fmt.Sprintf("024%07d", i%10_000_000))
	}
}

func TestAPartOfANumberIsReadInAnySpelling(t *testing.T) {
	t.Parallel()
	n := in(t, "GH")
	for typed, want := range map[string]string{
		"024 412 3456": "+233244123456", "+233 (0)24 412 3456": "+233244123456", "00233244123456": "+233244123456",
		"233244123456": "233244123456", "+44 (0)20 7946 0958": "+442079460958",
		"024 412": "+23324412", "0244": "+233244", "+233 24": "+23324", "00 233 24": "+23324", "+233 (0)24": "+23324", "+233 0": "+233",
		"412-3456": "4123456", "412": "412", "(456)": "456", "\uff10\uff12\uff14": "+23324",
		"": "", "24": "", "+23": "", "0": "", "Ama": "", "17 Oxford": "", "412+345": "", "+0": "", strings.Repeat("1", 20): "",
		strings.Repeat("1 ", 60): "",
	} {
		if got, ok := n.PhonePart(typed); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", typed, got, ok, want)
		}
	}
	for typed, want := range map[string]string{"(202) 555": "202555", "1 202 555 0143": "+12025550143"} {
		if got, _ := in(t, "US").PhonePart(typed); got != want {
			t.Errorf("%q of a region whose plan is not plain: %q, want %q", typed, got, want)
		}
	}
}

func TestAnyBeginningOfASpellingOfANumberIsAPartOfIt(t *testing.T) {
	t.Parallel()
	n := in(t, "GH")
	for _, typed := range []string{"024 412 3456", "0244123456", "+233 24 412 3456", "+233 (0)24-412-3456", "00233244123456", "233244123456",
		"244123456"} {
		for end := range len(typed) {
			part, ok := n.PhonePart(typed[:end+1])
			if ok && !strings.Contains("+233244123456", part) {
				t.Errorf("%q was read as %q", typed[:end+1], part)
			}
		}
	}
}
