package access_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"waybill/domain"
	"waybill/test/stage"
)

var (
	tenancyNoon      = stage.Noon
	tenancyBoss      = domain.AuditActor{Name: "command:boss"}
	errTenancyBroken = errors.New("the disk is on fire")
)

// grapevine keeps what was announced.
type grapevine struct {
	mu     sync.Mutex
	passed []domain.ID
	notice func(context.Context) // at the moment of each announcement; may be nil
}

func (g *grapevine) Announce(ctx context.Context, application domain.ID) {
	if g.notice != nil {
		g.notice(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passed = append(g.passed, application)
}

// Listen is for servers.
func (*grapevine) Listen(context.Context, func(domain.ID)) { panic("not for use cases") }

func tenancyWantCode(t *testing.T, err error, kind domain.Kind, code string) *domain.Error {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != code || e.Kind != kind {
		t.Fatalf("got %v, want %s", err, code)
	}
	return e
}
