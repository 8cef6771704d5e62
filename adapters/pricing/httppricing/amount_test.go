package httppricing

import (
	"math/big"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// checkExact compares with exact fractions: the amount, or a good reason for none.
func checkExact(t interface{ Errorf(string, ...any) }, number string) {
	got, err := minorUnits(number)
	exact, ok := new(big.Rat).SetString(number)
	if !ok {
		t.Errorf("%q is no number", number)
		return
	}
	exact.Mul(exact, big.NewRat(100, 1))
	fits := exact.IsInt() && exact.Sign() >= 0 && exact.Cmp(big.NewRat(1e15, 1)) < 0
	if fits != (err == nil) || fits && exact.Cmp(big.NewRat(got, 1)) != 0 {
		t.Errorf("%s is %s hundredths: got %d, %v", number, exact.FloatString(5), got, err)
	}
}

func TestAmountsAreExactOrRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkExact(t, rapid.StringMatching(`-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,5}0{0,3})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number"))
	})
	rapid.Check(t, func(t *rapid.T) {
		checkExact(t, rapid.StringMatching(`(0|[1-9][0-9]{0,10})(\.[0-9]{1,2}0{0,3})?`).Draw(t, "plain amount"))
	})
}

func FuzzMinorUnits(f *testing.F) {
	for _, seed := range []string{"24.5", "0", "-0.0", "1e15", "1e-2", "0.000e99999999999999999999", "123456789012345.67", "2.45E+1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, number string) {
		if raw := jsontext.Value(number); !raw.IsValid() || raw.Kind() != jsontext.KindNumber || len(number) > 300 {
			return
		}
		if got, err := minorUnits(number); err == nil && (got < 0 || got >= 1e15) {
			t.Errorf("%s: got %d", number, got)
		}
	})
}
