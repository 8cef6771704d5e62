package console_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"waybill/adapters/console"
	"waybill/application/monitoring"
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
// test makes a scene meanwhile. Package monitoring bounds the wait.
func TestAPageDoesNotWaitForPausesThatTheDatabaseDoesNotTell(t *testing.T) {
	before := equip
	equip = append(equip[:len(equip):len(equip)], func(_ *testing.T, s *scene, u *console.UseCases) {
		u.Machinery = monitoring.NewMachinery(silent{s.Store}, s.queue, s.Clock, s.IDs)
	})
	s := newScene(t)
	equip = before
	admin := s.signedIn(t, domain.RoleAdmin)
	for path, want := range map[string]string{"/webhooks/pause": "not known", "/": "is not known"} {
		if p := admin.get(path); p.status != http.StatusOK || !strings.Contains(p.body, want) || strings.Contains(p.body, ">Running<") {
			t.Errorf("%s: %d, without %q, or with what it does not know", path, p.status, want)
		}
	}
}
