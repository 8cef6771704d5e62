package dispatch_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// The log shows operators which endpoint is not sent to, why, and until when.
func TestAPauseAndADisablingAreOneLineOfTheLogEach(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		w.change(e, func(b *boxed) { b.Tenant.ApplicationID = "app_1" })
		for i := range 40 {
			w.add(e, i+1, 1)
		}
		var status atomic.Int32
		status.Store(500)
		w.answer = func(ports.WebhookMessage) domain.WebhookResult { return refuses(int(status.Load())) }
		stop := w.running(t, 1, true)
		time.Sleep(20 * time.Second)
		lines := func(with string) (found []string) {
			for line := range strings.Lines(w.logged.String()) {
				if strings.Contains(line, with) {
					found = append(found, line)
				}
			}
			return found
		}
		of := "endpoint=" + string(e) + " application_id=app_1 reason="
		until := domain.FormatTime(*w.endpoint(e).Health.OpenUntil)
		paused := lines("webhook endpoint paused")
		if len(paused) != 1 || !strings.Contains(paused[0], "level=INFO") || !strings.Contains(paused[0], of+"http_5xx ") ||
			!strings.Contains(paused[0], "until="+until) {
			t.Errorf("a pause until %s is told by %q", until, paused)
		}
		time.Sleep(20 * time.Second) // a probe fails
		if again := lines("webhook endpoint paused"); len(again) != 2 ||
			!strings.Contains(again[1], "until="+domain.FormatTime(*w.endpoint(e).Health.OpenUntil)) {
			t.Errorf("two pauses are told by %q", again)
		}
		status.Store(410)
		time.Sleep(10 * time.Minute)
		stop()
		if gone := lines("webhook endpoint disabled"); len(gone) != 1 || !strings.Contains(gone[0], "level=WARN") ||
			!strings.Contains(gone[0], of+"gone ") {
			t.Errorf("a disabling is told by %q", gone)
		}
		if strings.Contains(w.logged.String(), "https://") {
			t.Errorf("an address is in the log: %s", &w.logged)
		}
	})
}
