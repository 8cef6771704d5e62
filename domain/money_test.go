package domain_test

import (
	"math/big"
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"waybill/domain"
)

func TestMoneyShowsAsManyDecimalsAsItNeeds(t *testing.T) {
	t.Parallel()
	for minor, want := range map[int64]string{
		0: "0", 1: "0.01", 5: "0.05", 9: "0.09", 10: "0.1", 11: "0.11", 50: "0.5", 99: "0.99", 100: "1", 101: "1.01",
		110: "1.1", 300: "3", 2450: "24.5", 2455: "24.55", 1_000_000_00: "1000000",
		-1: "-0.01", -5: "-0.05", -10: "-0.1", -100: "-1", -2450: "-24.5", -2405: "-24.05",
	} {
		if got := (domain.Money{Minor: minor, Currency: "GHS"}).Decimal(); got != want {
			t.Errorf("%d minor units show as %q, want %q", minor, got, want)
		}
	}
}

func TestMoneyIsExactAndAJSONNumber(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]?[1-9])?$`)
	rapid.Check(t, func(t *rapid.T) {
		minor := rapid.Int64Range(-1e15, 1e15).Draw(t, "minor")
		text := domain.Money{Minor: minor}.Decimal()
		value, ok := new(big.Rat).SetString(text)
		if !ok || !number.MatchString(text) || value.Cmp(big.NewRat(minor, 100)) != 0 {
			t.Fatalf("%d minor units show as %q", minor, text)
		}
	})
}
