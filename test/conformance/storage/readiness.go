package storage

import (
	"context"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// testReadiness: what a program has shown is kept as it was shown first.
func testReadiness(t *testing.T, b ports.Database) {
	one, other := newTenant(t, b).ApplicationID, newTenant(t, b).ApplicationID
	first := domain.Readied{ApplicationID: one, Step: domain.ReadyReplayed, At: sample.Now, Source: sample.ID(domain.PrefixRequest)}
	later := domain.Readied{ApplicationID: one, Step: domain.ReadyReplayed, At: sample.Now.Add(time.Hour)}
	second := domain.Readied{ApplicationID: one, Step: domain.ReadyWaited, At: sample.Now}
	for _, r := range []domain.Readied{first, later, second, {ApplicationID: other, Step: domain.ReadyFeed, At: sample.Now}} {
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Readiness.Insert(ctx, r) })
	}
	wantEqual(t, "OfApplication", must(b.Read().Readiness.OfApplication(t.Context(), one))(t), []domain.Readied{first, second})
	for _, none := range []domain.ID{sample.ID(domain.PrefixApplication), "app_1", ""} {
		wantEqual(t, "OfApplication", must(b.Read().Readiness.OfApplication(t.Context(), none))(t), nil)
	}
}
