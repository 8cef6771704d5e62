package tariff_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"waybill/adapters/pricing/tariff"
	"waybill/domain"
	"waybill/ports"
)

// routing returns the same distance for every trip.
type routing struct {
	km  float64
	err error
}

func (r routing) Distance(context.Context, domain.Trip) (domain.Distance, error) {
	return domain.Distance{Kilometres: r.km, Source: domain.DistanceRoad}, r.err
}

type routingFunc func(context.Context, domain.Trip) (domain.Distance, error)

func (f routingFunc) Distance(ctx context.Context, t domain.Trip) (domain.Distance, error) {
	return f(ctx, t)
}

// north is a service area: everything above the equator.
type north struct{}

func (north) Contains(c domain.Coordinates) bool { return c.Latitude >= 0 }

func price(t testing.TB, table tariff.Table, r ports.Routing, trip domain.Trip) (domain.Quote, error) {
	t.Helper()
	p, err := tariff.New(table, r, north{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Price(t.Context(), trip)
}

func TestTheFeeIsBaseAndKilometresAtLeastTheMinimumRoundedUpToTheStep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		vehicle domain.VehicleType
		km      float64
		want    int64
	}{
		{domain.Bike, 0, 15_00},      // the minimum
		{domain.Bike, 2, 15_00},      // exactly the minimum
		{domain.Bike, 2.01, 15_50},   // 15.025
		{domain.Bike, 2.2, 15_50},    // exactly on a step
		{domain.Bike, 2.21, 16_00},   // 15.525
		{domain.Bike, 5.3, 23_50},    // 23.25
		{domain.Bike, 30, 85_00},     // the end of the range
		{domain.Car, 10, 50_00},      // 50 exactly
		{domain.Car, 10.001, 50_50},  // a metre more
		{domain.Car, 10.0004, 50_00}, // less than half a metre more
		{domain.Van, 150, 940_00},
	} {
		got, err := price(t, tariff.Default(), routing{km: c.km}, domain.Trip{VehicleType: c.vehicle})
		if err != nil {
			t.Fatal(err)
		}
		if got.RequiresCustomQuote || got.Fee == nil || *got.Fee != (domain.Money{Minor: c.want, Currency: "GHS"}) {
			t.Errorf("%s, %v km: got %+v, fee %v, want %d", c.vehicle, c.km, got, got.Fee, c.want)
		}
		if got.Currency != "GHS" || got.Distance != (domain.Distance{Kilometres: c.km, Source: domain.DistanceRoad}) {
			t.Errorf("%s, %v km: got %+v", c.vehicle, c.km, got)
		}
	}
}

func TestAMinimumBetweenTwoStepsIsRoundedUpToo(t *testing.T) {
	t.Parallel()
	table := tariff.Table{Currency: "GHS", StepMinor: 50, Vehicles: map[domain.VehicleType]tariff.Rate{
		domain.Bike: {MinimumMinor: 15_01, RangeKilometres: 10}}}
	if got, err := price(t, table, routing{}, domain.Trip{VehicleType: domain.Bike}); err != nil || got.Fee.Minor != 15_50 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTrucksAndTripsBeyondTheRangeNeedACustomQuote(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		vehicle domain.VehicleType
		km      float64
	}{
		{domain.Truck, 0}, {domain.Truck, 3}, {domain.Bike, 30.001}, {domain.Car, 80.01}, {domain.Van, 150.01},
		{domain.Bike, 1e300}, {domain.VehicleType("rocket"), 1},
	} {
		got, err := price(t, tariff.Default(), routing{km: c.km}, domain.Trip{VehicleType: c.vehicle})
		if err != nil || !got.RequiresCustomQuote || got.Fee != nil || got.Currency != "GHS" || got.Distance.Kilometres != c.km {
			t.Errorf("%s, %v km: got %+v, %v, want a custom quote with the distance", c.vehicle, c.km, got, err)
		}
	}
}

func TestAnEndOutsideTheAreaIsNamedBeforeAnythingIsMeasured(t *testing.T) {
	t.Parallel()
	south := domain.Coordinates{Latitude: -1}
	never := routingFunc(func(context.Context, domain.Trip) (domain.Distance, error) {
		t.Error("routing was asked")
		return domain.Distance{}, nil
	})
	for want, trip := range map[string]domain.Trip{
		"pickup":  {VehicleType: domain.Bike, Pickup: south},
		"dropoff": {VehicleType: domain.Truck, Dropoff: south},
	} {
		_, err := price(t, tariff.Default(), never, trip)
		var outside *ports.OutsideServiceAreaError
		if !errors.As(err, &outside) || outside.End != want {
			t.Errorf("got %v, want %s outside", err, want)
		}
	}
}

func TestWithoutADistanceThereIsNoQuote(t *testing.T) {
	t.Parallel()
	broken := errors.New("engine is down")
	for name, r := range map[string]routing{
		"error": {err: broken}, "NaN": {km: math.NaN()},
		"infinite": {km: math.Inf(1)}, "negative": {km: -0.01},
	} {
		for _, vehicle := range domain.VehicleTypes() {
			got, err := price(t, tariff.Default(), r, domain.Trip{VehicleType: vehicle})
			if !domain.HasCode(err, domain.CodeQuoteUnavailable) || got != (domain.Quote{}) {
				t.Errorf("%s, %s: got %+v, %v, want QUOTE_UNAVAILABLE", name, vehicle, got, err)
			}
			if r.err != nil && !errors.Is(err, r.err) {
				t.Errorf("%s: %v hides the cause", name, err)
			}
		}
	}
}

func TestATripThatIsTooLongToBeMeasuredNeedsACustomQuote(t *testing.T) {
	t.Parallel()
	estimate := domain.Distance{Kilometres: 755.12, Source: domain.DistanceStraightLine}
	for _, vehicle := range domain.VehicleTypes() {
		got, err := price(t, tariff.Default(), routing{err: fmt.Errorf("engine: %w", &ports.TripTooLongError{Distance: estimate})},
			domain.Trip{VehicleType: vehicle})
		if want := (domain.Quote{Currency: "GHS", Distance: estimate, RequiresCustomQuote: true}); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", vehicle, got, err, want)
		}
	}
}

func TestAnEndToWhichNoWayLeadsIsOutsideTheServiceArea(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no way between them":  {fmt.Errorf("engine: %w", ports.ErrNoRoute), "dropoff"},
		"no way from a pickup": {fmt.Errorf("engine: %w", &ports.OutsideServiceAreaError{End: "pickup"}), "pickup"},
		"no way to a dropoff":  {fmt.Errorf("engine: %w", &ports.OutsideServiceAreaError{End: "dropoff"}), "dropoff"},
	} {
		for _, vehicle := range domain.VehicleTypes() {
			got, err := price(t, tariff.Default(), routing{err: c.err}, domain.Trip{VehicleType: vehicle})
			var outside *ports.OutsideServiceAreaError
			if !errors.As(err, &outside) || outside.End != c.want || got != (domain.Quote{}) {
				t.Errorf("%s, %s: got %+v, %v, want %s outside", name, vehicle, got, err, c.want)
			}
		}
	}
}

func TestAnEngineThatHangsIsGivenUpWithin2500Milliseconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := routingFunc(func(ctx context.Context, _ domain.Trip) (domain.Distance, error) {
			<-ctx.Done()
			return domain.Distance{}, ctx.Err()
		})
		began := time.Now()
		_, err := price(t, tariff.Default(), hang, domain.Trip{VehicleType: domain.Bike})
		if took := time.Since(began); !domain.HasCode(err, domain.CodeQuoteUnavailable) || took > 2500*time.Millisecond {
			t.Errorf("got %v after %v", err, took)
		}
	})
}

// The fee is checked against exact fractions.
func TestEveryFeeIsTheLeastMultipleOfTheStepThatCoversTheTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		step := rapid.Int64Range(1, 500).Draw(rt, "step")
		rate := tariff.Rate{
			BaseMinor:         rapid.Int64Range(0, 1_000_000_00).Draw(rt, "base"),
			PerKilometreMinor: rapid.Int64Range(0, 1_000_000_00).Draw(rt, "per km"),
			MinimumMinor:      rapid.Int64Range(0, 1_000_000_00).Draw(rt, "minimum"),
			RangeKilometres:   20_000,
		}
		metres := rapid.Int64Range(0, 20_000_000).Draw(rt, "metres")
		table := tariff.Table{Currency: "GHS", StepMinor: step, Vehicles: map[domain.VehicleType]tariff.Rate{domain.Car: rate}}
		got, err := price(t, table, routing{km: float64(metres) / 1000}, domain.Trip{VehicleType: domain.Car})
		if err != nil {
			rt.Fatal(err)
		}
		cost := new(big.Rat).SetFrac64(rate.PerKilometreMinor, 1000)
		cost.Mul(cost, new(big.Rat).SetInt64(metres))
		cost.Add(cost, new(big.Rat).SetInt64(rate.BaseMinor))
		if least := new(big.Rat).SetInt64(rate.MinimumMinor); cost.Cmp(least) < 0 {
			cost = least
		}
		fee := got.Fee.Minor
		if fee%step != 0 || new(big.Rat).SetInt64(fee).Cmp(cost) < 0 || new(big.Rat).SetInt64(fee-step).Cmp(cost) >= 0 {
			rt.Fatalf("fee %d for a cost of %s at step %d", fee, cost.FloatString(3), step)
		}
	})
}

func TestATableThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*tariff.Table){
		`"ghs" is no currency`: func(t *tariff.Table) { t.Currency = "ghs" },
		"rounding step is 0":   func(t *tariff.Table) { t.StepMinor = 0 },
		"prices no vehicle":    func(t *tariff.Table) { t.Vehicles = nil },
		`"truck" cannot have`:  func(t *tariff.Table) { t.Vehicles[domain.Truck] = t.Vehicles[domain.Van] },
		`"rocket" cannot have`: func(t *tariff.Table) { t.Vehicles["rocket"] = t.Vehicles[domain.Van] },
		"bike: the base is -1": func(t *tariff.Table) { t.Vehicles[domain.Bike] = tariff.Rate{BaseMinor: -1, RangeKilometres: 1} },
		"per kilometre is -1": func(t *tariff.Table) {
			t.Vehicles[domain.Bike] = tariff.Rate{PerKilometreMinor: -1, RangeKilometres: 1}
		},
		"minimum is -1":          func(t *tariff.Table) { t.Vehicles[domain.Bike] = tariff.Rate{MinimumMinor: -1, RangeKilometres: 1} },
		"in kilometres is 0":     func(t *tariff.Table) { t.Vehicles[domain.Bike] = tariff.Rate{} },
		"in kilometres is 20001": func(t *tariff.Table) { t.Vehicles[domain.Bike] = tariff.Rate{RangeKilometres: 20001} },
	} {
		table := tariff.Default()
		spoil(&table)
		if _, err := tariff.New(table, routing{}, north{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
}

func TestATableChangedLaterChangesNoPrice(t *testing.T) {
	t.Parallel()
	table := tariff.Default()
	p, err := tariff.New(table, routing{km: 1}, north{})
	if err != nil {
		t.Fatal(err)
	}
	table.Vehicles[domain.Bike] = tariff.Rate{BaseMinor: 1, RangeKilometres: 1}
	if got, _ := p.Price(t.Context(), domain.Trip{VehicleType: domain.Bike}); got.Fee.Minor != 15_00 {
		t.Errorf("fee %d, want 1500", got.Fee.Minor)
	}
}
