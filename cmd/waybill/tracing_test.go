package main

import (
	"log/slog"
	"testing"

	"github.com/golang/mock/gomock"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"waybill/ports"
	"waybill/ports/mocks"
)

// Without a collector nothing stands between the adapters: what goes in comes
// out, the very same.
func TestWithoutACollectorNothingIsWrapped(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	registry := prometheus.NewRegistry()
	f, end, err := newFollower(t.Context(), registry, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer end()
	require.Nil(t, f)
	c := gomock.NewController(t)
	var (
		pricing ports.Pricing       = mocks.NewMockPricing(c)
		routing ports.Routing       = mocks.NewMockRouting(c)
		sender  ports.WebhookSender = mocks.NewMockWebhookSender(c)
		db      ports.Database      = &followedDatabase{}
	)
	require.Same(t, pricing, f.tracing().Pricing(pricing))
	require.Same(t, routing, f.tracing().Routing(routing))
	require.Same(t, sender, f.tracing().WebhookSender(sender))
	require.Same(t, db, f.database(db))
	require.Nil(t, f.requests())
	require.Nil(t, f.headers())
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Empty(t, families)
}

func BenchmarkWithoutACollector(b *testing.B) {
	var f *follower
	var sender ports.WebhookSender = mocks.NewMockWebhookSender(gomock.NewController(b))
	b.ReportAllocs()
	for b.Loop() {
		_, _, _ = f.requests(), f.headers(), f.tracing().WebhookSender(sender)
	}
}
