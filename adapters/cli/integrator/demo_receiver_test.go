package integrator

import (
	"strings"
	"testing"

	"waybill/adapters/cli/term"
	"waybill/test/stage"
)

// A webhook may be faster than the look at the timeline.
func TestAWebhookIsShownUnderItsEvent(t *testing.T) {
	t.Parallel()
	var stdout stage.Log
	r := &receiver{p: playing(&term.Program{Stdout: &stdout}), events: map[string]bool{}, seen: map[string]bool{},
		news: make(chan struct{}, 1)}
	r.follow("dlv_1")
	arrive := func(event, delivery string) {
		r.note(arrivalView{EventID: event, Type: "delivery.of_" + event, SignatureValid: true, delivery: delivery})
	}
	shown := func(want ...string) {
		t.Helper()
		text := stdout.String()
		if strings.Count(text, "\n") != len(want) {
			t.Fatalf("shown is %q, want %q", text, want)
		}
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n")[:len(want)] {
			if !strings.HasPrefix(line, "      webhook delivery.of_"+want[i]+", signature valid, ") {
				t.Errorf("line %d is %q, want that of %s", i, line, want[i])
			}
		}
	}
	arrive("evt_2", "dlv_1")
	arrive("evt_9", "dlv_9")
	shown()
	r.eventShown("evt_1") // it has not come yet
	r.eventShown("evt_9") // of another delivery
	shown()
	r.eventShown("evt_2")
	shown("evt_2")
	arrive("evt_1", "dlv_1")
	arrive("evt_1", "dlv_1") // webhooks may come twice
	r.eventShown("evt_2")
	shown("evt_2", "evt_1")
	if came := r.came(); len(came) != 2 {
		t.Errorf("came %+v", came)
	}
}
