package metered_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"waybill/adapters/routing/metered"
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
		routing := metered.New(behind, registry)
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
				require.Equal(t, answer.distance, distance)
				require.Equal(t, answer.err, err)
			}
		}
		requests, took := gathered(t, registry)
		require.Equal(t, map[string]float64{"measured": 1, "no_route": 6, "unavailable": 3, "too_long": 5}, requests)
		require.Equal(t, 1.0, took)
	})
}

func TestEveryResultIsThereBeforeTheFirstDistance(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	metered.New(&fixed{}, registry)
	requests, _ := gathered(t, registry)
	require.Len(t, requests, 4)
}

// gathered is the counter by its label, and all the seconds together.
func gathered(t *testing.T, registry *prometheus.Registry) (requests map[string]float64, seconds float64) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 2)
	require.Equal(t, "waybill_routing_duration_seconds", families[0].GetName())
	require.Equal(t, "waybill_routing_requests_total", families[1].GetName())
	requests = map[string]float64{}
	for _, metric := range families[1].GetMetric() {
		requests[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
	}
	return requests, families[0].GetMetric()[0].GetHistogram().GetSampleSum()
}
