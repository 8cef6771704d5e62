package telemetry_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/telemetry"
)

func TestAScrapeOfADatabaseThatHangsTakesOneTimeoutForAllItsGauges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := prometheus.NewRegistry()
		for i := range 20 {
			telemetry.RegisterCheck(strconv.Itoa(i), func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}, r)
		}
		began := time.Now()
		families, err := r.Gather()
		if took := time.Since(began); took != telemetry.CountTimeout || err != nil {
			t.Errorf("it took %v (%v), want %v", took, err, telemetry.CountTimeout)
		}
		if len(families) != 1 || len(families[0].GetMetric()) != 20 || families[0].GetMetric()[0].GetGauge().GetValue() != 0 {
			t.Errorf("%v", families)
		}
	})
}
