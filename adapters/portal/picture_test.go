package portal_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/browser"
)

// picture is of the keys of a program. The README shows it; `make picture` takes it
// again.
const picture = "portal.webp"

func TestThePictureOfThePortal(t *testing.T) {
	t.Parallel()
	if os.Getenv("WAYBILL_PICTURE") == "take" {
		takePicture(t)
	}
	taken, err := os.ReadFile(picture)
	if err != nil || !bytes.HasPrefix(taken, []byte("RIFF")) || len(taken) > 60_000 {
		t.Errorf("%s has %d bytes (%v), want a picture of at most 60,000", picture, len(taken), err)
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil || !strings.Contains(string(readme), "(adapters/portal/"+picture+")") {
		t.Errorf("README.md does not show %s (%v)", picture, err)
	}
}

func takePicture(t *testing.T) {
	s := newScene(t)
	issued := must[people.Issued](t)(s.directory.Invite(t.Context(), operator, people.Invitation{BusinessID: s.house.business.ID,
		Email: "ama@adom.example", Name: "Ama Mensah", Role: "owner"}))
	ama := domain.AuditActor{ID: issued.Member.Person.ID, Name: "Ama Mensah", BusinessID: s.house.business.ID}
	app := must[domain.Application](t)(s.tenants.CreateApplication(t.Context(), ama, s.house.business.ID, "Web shop"))
	shop := s.house
	shop.app, shop.key = app, map[domain.Environment]tenancyKey{}
	quarter := 90 * 24 * time.Hour
	for _, k := range []struct {
		scopes   []domain.Scope
		lifetime *time.Duration
		calls    int64
	}{
		{domain.AllScopes(), nil, 48_210},
		{[]domain.Scope{domain.ScopeQuotesRead, domain.ScopeDeliveriesWrite}, &quarter, 1_377},
		{[]domain.Scope{domain.ScopeDeliveriesRead}, nil, 0},
	} {
		made := must[tenancyKey](t)(s.tenants.IssueKey(t.Context(), ama, app.ID, domain.Live, k.scopes, k.lifetime))
		shop.key[domain.Live] = made
		s.wait(97 * time.Minute)
		if k.calls > 0 {
			s.calledOften(t, k.calls, shop, before(time.Minute))
			s.calledOften(t, 7*k.calls, shop, before(time.Minute), on("GET /v1/deliveries/{delivery_id}"))
			used := []ports.KeyUse{{ID: made.ID, At: s.Clock.Now()}}
			s.Write(t, func(ctx context.Context, tx ports.Stores) error { return tx.Tenancy.TouchAPIKeys(ctx, used) })
		}
	}
	p := browser.StartForPictures(t).Open(t, s.url+"/enter/"+issued.Secret, browser.Look{Width: 1280}, browser.Reader{})
	p.Click(t, "main button")
	settled(t, p, "Hello, Ama Mensah")
	to(t, p, s.url+"/apps/"+string(app.ID)+"/live/keys", "API keys")
	browser.Eval[bool](t, p, "(document.querySelectorAll('main details')[1].open = true)")
	if err := os.WriteFile(picture, p.Picture(t), 0o644); err != nil {
		t.Fatal(err)
	}
}
