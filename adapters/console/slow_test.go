package console_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"waybill/adapters/console"
	"waybill/application/machinery"
	"waybill/domain"
	"waybill/ports"
)

// silent is a database that never tells of pauses.
type silent struct{ ports.Database }

type silentSending struct{ ports.SendingReader }

func (s silent) Read() ports.Readers {
	r := s.Database.Read()
	r.Sending = silentSending{r.Sending}
	return r
}

func (silentSending) Pauses(context.Context) ([]domain.SendingPause, error) { select {} }

// TestAPageDoesNotWaitForPausesThatTheDatabaseDoesNotTell changes equip, so that no other
// test makes a scene meanwhile.
func TestAPageDoesNotWaitForPausesThatTheDatabaseDoesNotTell(t *testing.T) {
	before := equip
	equip = append(equip[:len(equip):len(equip)], func(_ *testing.T, s *scene, u *console.UseCases) {
		u.Machinery = machinery.New(silent{s.Store}, s.queue, s.Clock, s.IDs)
	})
	s := newScene(t)
	equip = before
	begun := time.Now()
	admin := s.signedIn(t, domain.RoleAdmin) // to the first page that reads
	if took := time.Since(begun); took > 1800*time.Millisecond {
		t.Errorf("signing in took %v", took)
	}
	for path, want := range map[string]string{"/webhooks": "hooks.adom.example", "/account": "", "/staff": "Kofi admin", "/": "is not known"} {
		begun := time.Now()
		p := admin.get(path)
		if p.status != http.StatusOK || !strings.Contains(p.body, want) {
			t.Errorf("%s: %d, without %q", path, p.status, want)
		}
		if took := time.Since(begun); took > 1800*time.Millisecond { // twice 300 ms and the page; a read is given up after 2.5 s
			t.Errorf("%s took %v", path, took)
		}
		if path == "/webhooks" && (!strings.Contains(p.body, "not known now") || strings.Contains(p.body, "goes on")) {
			t.Error("/webhooks tells of what it does not know")
		}
	}
}
