package configs

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Tariff is the built-in price table. Without vehicles it is the one that comes with the program. A
// vehicle that is not in it is priced by hand. Amounts are minor units of the currency.
type Tariff struct {
	Step     int64 // fees are rounded up to a multiple of it
	Vehicles map[string]TariffRow
}

// TariffRow prices one vehicle.
type TariffRow struct {
	Base    int64 // of every trip
	PerKM   int64 // for each kilometre
	Minimum int64 // the least that a trip costs
	RangeKM int64 // longer trips are priced by hand
}

const (
	standardStep   = 50
	maxTariffMinor = 1_000_000_00
)

const tariffExample = `tariff:
  step: 0.50
  vehicles:
    bike: {base: 10, per_km: 2.50, minimum: 15, range_km: 30}
    car: {base: 15, per_km: 3.50, minimum: 20, range_km: 80}
    van: {base: 40, per_km: 6, minimum: 60, range_km: 150}
`

var tariffColumns = []string{"base", "per_km", "minimum", "range_km"}

func parseTariff(value any) (Tariff, error) {
	tariff := Tariff{Step: standardStep}
	if value == "" {
		return tariff, nil
	}
	table, _ := value.(map[string]any)
	for name := range table {
		if name != "step" && name != "vehicles" {
			return Tariff{}, bad("has an unknown entry "+Quoted(name), "the entries are step and vehicles")
		}
	}
	if step, given := table["step"]; given {
		var ok bool
		if tariff.Step, ok = minorUnits(step); !ok || tariff.Step == 0 {
			return Tariff{}, bad("has no amount in step", "fees are rounded up to a multiple of it, such as 0.50")
		}
	}
	vehicles, _ := table["vehicles"].(map[string]any)
	if len(vehicles) == 0 {
		return Tariff{}, bad("prices no vehicle", "a line per vehicle, as waybill config --docs shows")
	}
	tariff.Vehicles = map[string]TariffRow{}
	for _, vehicle := range slices.Sorted(maps.Keys(vehicles)) {
		columns, ok := vehicles[vehicle].(map[string]any)
		if !ok {
			return Tariff{}, bad("has no table for "+Quoted(vehicle), "{base: 10, per_km: 2.50, minimum: 15, range_km: 30}")
		}
		row, err := parseTariffRow(vehicle, columns)
		if err != nil {
			return Tariff{}, err
		}
		tariff.Vehicles[vehicle] = row
	}
	return tariff, nil
}

func parseTariffRow(vehicle string, columns map[string]any) (TariffRow, error) {
	for name := range columns {
		if !slices.Contains(tariffColumns, name) {
			return TariffRow{}, bad("has an unknown column "+Quoted(vehicle+"."+name), "the columns are "+strings.Join(tariffColumns, ", "))
		}
	}
	var amounts [3]int64
	for i, name := range tariffColumns[:3] {
		var ok bool
		if amounts[i], ok = minorUnits(columns[name]); !ok {
			return TariffRow{}, bad("has no amount in "+vehicle+"."+name, "a number from 0 to 1000000 with at most two decimals")
		}
	}
	written, _ := text(columns["range_km"]).(string)
	kilometres, err := strconv.ParseInt(written, 10, 64)
	if err != nil || kilometres < 1 {
		return TariffRow{}, bad("has no distance in "+vehicle+".range_km", "whole kilometres, 1 or more")
	}
	return TariffRow{Base: amounts[0], PerKM: amounts[1], Minimum: amounts[2], RangeKM: kilometres}, nil
}

// minorUnits reads an amount with at most two decimals from its digits: as a float, 2.29 times 100
// is 228.
func minorUnits(value any) (int64, bool) {
	written, _ := text(value).(string)
	whole, decimals, _ := strings.Cut(written, ".")
	if len(decimals) > 2 || whole == "" || strings.ContainsAny(written, "+-") {
		return 0, false
	}
	minor, err := strconv.ParseInt(whole+(decimals + "00")[:2], 10, 64)
	return minor, err == nil && minor <= maxTariffMinor
}
