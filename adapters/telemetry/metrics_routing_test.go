package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/telemetry"
	"waybill/domain"
	"waybill/ports"
)

// fixed answers always the same, after a while.
type fixed struct {
	distance domain.Distance
	err      error
	after    time.Duration
}

func (f *fixed) Distance(context.Context, domain.Trip) (domain.Distance, error) {
	time.Sleep(f.after) // the bubble's clock
	return f.distance, f.err
}

func TestEveryDistanceIsCountedByItsResultAndPassedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry, behind := prometheus.NewRegistry(), &fixed{}
		routing := telemetry.NewMeteredRouting(behind, registry)
		for times, answer := range []fixed{
			{distance: domain.Distance{Kilometres: 2, Source: domain.DistanceRoad}, after: time.Second},
			{err: fmt.Errorf("engine: %w", ports.ErrNoRoute)},
			{err: errors.New("down")},
			{err: fmt.Errorf("engine: %w", &ports.OutsideServiceAreaError{End: "pickup"})},
			{err: fmt.Errorf("engine: %w", &ports.TripTooLongError{})},
		} {
			*behind = answer
			for range times + 1 {
				distance, err := routing.Distance(t.Context(), domain.Trip{})
				if distance != answer.distance {
					t.Fatalf("distance: %v, want %v", distance, answer.distance)
				}
				if err != answer.err {
					t.Fatalf("err: %v, want %v", err, answer.err)
				}
			}
		}
		requests, took := gathered(t, registry)
		if diff := cmp.Diff(map[string]float64{"measured": 1, "no_route": 6, "unavailable": 3, "too_long": 5}, requests); diff != "" {
			t.Fatalf("requests (-want +got):\n%s", diff)
		}
		if took != 1.0 {
			t.Fatalf("took: %v, want 1", took)
		}
	})
}

func TestEveryResultIsThereBeforeTheFirstDistance(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	telemetry.NewMeteredRouting(&fixed{}, registry)
	requests, _ := gathered(t, registry)
	if len(requests) != 4 {
		t.Fatalf("requests: %v, want 4 of them", requests)
	}
}

// gathered is the counter by its label, and all the seconds together.
func gathered(t *testing.T, registry *prometheus.Registry) (requests map[string]float64, seconds float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 2 {
		t.Fatalf("families: %v, want 2 of them", families)
	}
	if got := families[0].GetName(); got != "waybill_routing_duration_seconds" {
		t.Fatalf("families[0].GetName(): %q, want waybill_routing_duration_seconds", got)
	}
	if got := families[1].GetName(); got != "waybill_routing_requests_total" {
		t.Fatalf("families[1].GetName(): %q, want waybill_routing_requests_total", got)
	}
	requests = map[string]float64{}
	for _, metric := range families[1].GetMetric() {
		requests[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
	}
	return requests, families[0].GetMetric()[0].GetHistogram().GetSampleSum()
}
