package strictjson_test

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"waybill/adapters/web/strictjson"
)

func TestAnAmountBecomesExactMinorUnits(t *testing.T) {
	t.Parallel()
	const most = 100_000_000 // 1,000,000.00
	zeros := strings.Repeat("0", 100)
	for _, c := range []struct {
		text string
		want int64
		err  error
	}{
		{"0", 0, nil},
		{"-0", 0, nil},
		{"0e999999999999999999999", 0, nil},
		{"1", 100, nil},
		{"1.000", 100, nil},
		{"1.0000000000000000000000000", 100, nil},
		{"1e0", 100, nil},
		{"1e+0000000000000000000000", 100, nil},
		{"12.5", 1250, nil},
		{"245.50", 24550, nil},
		{"0.01", 1, nil},
		{"1e-2", 1, nil},
		{"0.29", 29, nil},
		{"1.005e3", 100500, nil},
		{"8.2e1", 8200, nil},
		{"-3.99", -399, nil},
		{"1000000", most, nil},
		{"1000000.00", most, nil},
		{"1e6", most, nil},
		{"-1000000", -most, nil},
		{"0.000001e12", most, nil},
		{"1000000.01", 0, strictjson.ErrTooLarge},
		{"1000000.001", 0, strictjson.ErrTooLarge},
		{"-1000000.001", 0, strictjson.ErrTooLarge},
		{"1e7", 0, strictjson.ErrTooLarge},
		{"1e400", 0, strictjson.ErrTooLarge},
		{"1e999999999", 0, strictjson.ErrTooLarge},
		{"-1e99999999999999999999999", 0, strictjson.ErrTooLarge},
		{"184467440737095516.17", 0, strictjson.ErrTooLarge},
		{"99999999999999999999999999.999", 0, strictjson.ErrTooLarge},
		{"1.001", 0, strictjson.ErrTooPrecise},
		{"0.001", 0, strictjson.ErrTooPrecise},
		{"-0.001", 0, strictjson.ErrTooPrecise},
		{"999999.999", 0, strictjson.ErrTooPrecise},
		{"1e-3", 0, strictjson.ErrTooPrecise},
		{"1e-999999999", 0, strictjson.ErrTooPrecise},
		{"1e-99999999999999999999999", 0, strictjson.ErrTooPrecise},
		{"0.1000000000000000000000001", 0, strictjson.ErrTooPrecise},
		{"12.5" + zeros, 1250, nil},
		{"1" + zeros + "e-100", 100, nil},
		{"0." + zeros + "1e101", 100, nil},
		{"1." + zeros + "1", 0, strictjson.ErrTooPrecise},
		{"-1000000." + zeros + "1", 0, strictjson.ErrTooLarge},
		{"0." + zeros + "1", 0, strictjson.ErrTooPrecise},
		{"1" + zeros, 0, strictjson.ErrTooLarge},
	} {
		d, err := strictjson.ParseDecimal(c.text)
		if err != nil {
			t.Errorf("%s is no decimal", c.text)
			continue
		}
		if got, err := d.MinorUnits(2, most); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %d, %v; want %d, %v", c.text, got, err, c.want, c.err)
		}
	}
}

func TestMinorUnitsReachTheEndsOfInt64(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"9223372036854775807": math.MaxInt64, "-9223372036854775807": -math.MaxInt64, "9.223372036854775807e18": math.MaxInt64,
	} {
		d, _ := strictjson.ParseDecimal(text)
		if got, err := d.MinorUnits(0, math.MaxInt64); got != want || err != nil {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"9223372036854775808", "9999999999999999999", "-9223372036854775808", "18446744073709551617"} {
		d, _ := strictjson.ParseDecimal(text)
		if got, err := d.MinorUnits(0, math.MaxInt64); !errors.Is(err, strictjson.ErrTooLarge) {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
}

func TestSignAndTextOfADecimal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"0": 0, "-0.00": 0, "0e5": 0, "1e-99": 1, "-1e-99": -1, "12": 1, "-12": -1} {
		d, _ := strictjson.ParseDecimal(text)
		if d.Sign() != want || d.String() != text {
			t.Errorf("%s: sign %d, text %s", text, d.Sign(), d)
		}
	}
	var none strictjson.Decimal
	if n, err := none.MinorUnits(2, 1); none.Sign() != 0 || none.String() != "0" || n != 0 || err != nil {
		t.Error("the zero value is not 0")
	}
}

func TestWhatIsNoNumberIsNoDecimal(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", " 1", "1 ", "\n1", "+1", ".5", "5.", "01", "1e", "0x1", "1_0", "NaN", "Infinity", "null", `"1"`, "[1]", "1 2", "1,5", "--1",
		"1\x00",
	} {
		if d, err := strictjson.ParseDecimal(text); !errors.Is(err, strictjson.ErrNotDecimal) {
			t.Errorf("%q became %s", text, d)
		}
	}
}

// FuzzDecimal compares MinorUnits with rational arithmetic.
func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"0", "1.000", "-0.001", "1e6", "10e-1", "1e999999999", "1000000.01", "9223372036854775807",
		"1e-99999999999999999999"} {
		f.Add(s, 2, int64(100_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, scale int, most int64) {
		d, err := strictjson.ParseDecimal(text)
		if err != nil {
			return
		}
		if scale < 0 || scale > 18 || most < 0 {
			return
		}
		units, err := d.MinorUnits(scale, most)
		if err != nil && units != 0 {
			t.Fatalf("%s: %d came with %v", text, units, err)
		}
		if _, exp, _ := strings.Cut(strings.ToLower(text), "e"); len(exp) > 4 || len(text) > 400 {
			return // too much for the comparison; not panicking is what counts
		}
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("accepted %q", text)
		}
		if d.Sign() != want.Sign() {
			t.Fatalf("%s: sign %d", text, d.Sign())
		}
		want.Mul(want, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
		switch tooLarge := new(big.Rat).Abs(want).Cmp(new(big.Rat).SetInt64(most)) > 0; {
		case tooLarge:
			if err != strictjson.ErrTooLarge {
				t.Fatalf("%s at scale %d: %v, want too large", text, scale, err)
			}
		case !want.IsInt():
			if err != strictjson.ErrTooPrecise {
				t.Fatalf("%s at scale %d: %v, want too precise", text, scale, err)
			}
		case err != nil || want.Num().Cmp(big.NewInt(units)) != 0:
			t.Fatalf("%s at scale %d: %d, %v, want %s", text, scale, units, err, want.Num())
		}
	})
}
