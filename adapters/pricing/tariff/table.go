package tariff

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"waybill/domain"
)

// Table is a price list. All amounts are minor units of Currency.
type Table struct {
	Currency  string // ISO 4217
	StepMinor int64  // fees are rounded up to a multiple of it
	Vehicles  map[domain.VehicleType]Rate
}

// Rate is the price of one kind of vehicle.
type Rate struct {
	BaseMinor         int64 // the base fee
	PerKilometreMinor int64
	MinimumMinor      int64 // the minimum fee, before rounding up
	RangeKilometres   int64 // a trip beyond it needs a custom quote
}

// Default returns the price list in cedis that a new installation starts with.
func Default() Table {
	return Table{
		Currency:  "GHS",
		StepMinor: 50,
		Vehicles: map[domain.VehicleType]Rate{
			domain.Bike: {BaseMinor: 10_00, PerKilometreMinor: 2_50, MinimumMinor: 15_00, RangeKilometres: 30},
			domain.Car:  {BaseMinor: 15_00, PerKilometreMinor: 3_50, MinimumMinor: 20_00, RangeKilometres: 80},
			domain.Van:  {BaseMinor: 40_00, PerKilometreMinor: 6_00, MinimumMinor: 60_00, RangeKilometres: 150},
		},
	}
}

const (
	// maxMinor and maxRange keep every product far within 63 bits.
	maxMinor = 1_000_000_00
	maxRange = 20_000 // half around the earth
)

var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)

// Valid returns nil, or the first error in the table.
func (t Table) Valid() error {
	if !currencyCode.MatchString(t.Currency) {
		return fmt.Errorf("%q is no currency code; use three capital letters such as GHS", t.Currency)
	}
	if t.StepMinor < 1 || t.StepMinor > maxMinor {
		return fmt.Errorf("the rounding step is %d, want 1 to %d", t.StepMinor, maxMinor)
	}
	if len(t.Vehicles) == 0 {
		return fmt.Errorf("the table prices no vehicle")
	}
	for _, vehicle := range slices.Sorted(maps.Keys(t.Vehicles)) {
		if vehicle == domain.Truck || !slices.Contains(domain.VehicleTypes(), vehicle) {
			return fmt.Errorf("%q cannot have a price; bike, car and van can", vehicle)
		}
		r := t.Vehicles[vehicle]
		for _, v := range []struct {
			name            string
			is, least, most int64
		}{
			{"base", r.BaseMinor, 0, maxMinor},
			{"price per kilometre", r.PerKilometreMinor, 0, maxMinor},
			{"minimum", r.MinimumMinor, 0, maxMinor},
			{"range in kilometres", r.RangeKilometres, 1, maxRange},
		} {
			if v.is < v.least || v.is > v.most {
				return fmt.Errorf("%s: the %s is %d, want %d to %d", vehicle, v.name, v.is, v.least, v.most)
			}
		}
	}
	return nil
}

// fee returns the price of so many metres, a multiple of the step.
func (r Rate) fee(metres, step int64) int64 {
	// In thousandths of a minor unit, so that nothing is rounded twice.
	thousandths := max(r.BaseMinor*1000+r.PerKilometreMinor*metres, r.MinimumMinor*1000)
	step *= 1000
	return (thousandths + step - 1) / step * step / 1000
}
