package domain_test

import (
	"testing"
	"time"

	"waybill/domain"
)

var (
	arrived = domain.WebhookResult{StatusCode: 204, Duration: 30 * time.Millisecond}
	broken  = domain.WebhookResult{StatusCode: 500, Error: domain.ErrorHTTP5xx, Duration: 30 * time.Millisecond}
)

func TestOnlyA2xxSucceeds(t *testing.T) {
	t.Parallel()
	for status := range 1000 {
		want := status >= 200 && status < 300
		if got := (domain.WebhookResult{StatusCode: status}).Succeeded(); got != want {
			t.Errorf("%d: %v", status, got)
		}
		if (domain.WebhookResult{StatusCode: status, Error: domain.ErrorReset}).Succeeded() {
			t.Errorf("%d with an error succeeds", status)
		}
	}
}

// failing returns the health after so many failures, one a millisecond.
func failing(times int, now time.Time) domain.WebhookHealth {
	var h domain.WebhookHealth
	for range times {
		h = h.After(broken, now)
	}
	return h
}

func TestTheTenthFailureInARowOpensTheCircuit(t *testing.T) {
	t.Parallel()
	h := failing(9, noon)
	if h.OpenUntil != nil || h.Open(noon) || h.Probing(noon) || h.Failures != 9 {
		t.Fatalf("after nine failures: %+v", h)
	}
	if h = h.After(arrived, noon); h != (domain.WebhookHealth{}) {
		t.Fatalf("after a success: %+v", h)
	}
	h = failing(10, noon)
	if h.OpenUntil == nil || !h.OpenUntil.Equal(noon.Add(30*time.Second)) || !h.FailingSince.Equal(noon) {
		t.Fatalf("after ten failures: %+v", h)
	}
	last := noon.Add(30*time.Second - time.Millisecond)
	if !h.Open(last) || h.Probing(last) {
		t.Error("the circuit closes early")
	}
	if after := noon.Add(30 * time.Second); h.Open(after) || !h.Probing(after) {
		t.Error("no probe when the time is over")
	}
}

// Up to 16 attempts were running when the tenth failed.
func TestFailuresUnderWayDoNotProlongTheOpenCircuit(t *testing.T) {
	t.Parallel()
	h := failing(10, noon)
	for range 6 {
		h = h.After(broken, noon.Add(15*time.Second))
	}
	if !h.OpenUntil.Equal(noon.Add(30*time.Second)) || h.Opened != 1 || h.Failures != 16 {
		t.Errorf("got %+v, until %v", h, h.OpenUntil)
	}
	if h = h.After(arrived, noon.Add(15*time.Second)); h.OpenUntil != nil || h.Failures != 0 {
		t.Errorf("a success under way leaves the circuit open: %+v", h)
	}
}

func TestEveryFailedProbeDoublesTheWaitUpToTenMinutes(t *testing.T) {
	t.Parallel()
	h, now := failing(10, noon), noon
	for _, seconds := range []int{30, 60, 120, 240, 480, 600, 600, 600, 600, 600, 600, 600, 600, 600, 600} {
		if got := h.OpenUntil.Sub(now); got != time.Duration(seconds)*time.Second {
			t.Fatalf("open for %v, want %d s", got, seconds)
		}
		now = *h.OpenUntil
		if !h.Probing(now) {
			t.Fatal("no probe")
		}
		h = h.After(broken, now)
	}
	if h = h.After(arrived, *h.OpenUntil); h != (domain.WebhookHealth{}) {
		t.Errorf("after a good probe: %+v", h)
	}
	// Ten more failures open it again, and at first for 30 seconds.
	if h = failing(10, now); h.OpenUntil.Sub(now) != 30*time.Second {
		t.Errorf("open for %v", h.OpenUntil.Sub(now))
	}
}

func TestALateAnswerMakesAnEndpointSlowForAMinute(t *testing.T) {
	t.Parallel()
	for _, r := range []domain.WebhookResult{arrived, broken} {
		for took, want := range map[time.Duration]bool{1999 * time.Millisecond: false, 2 * time.Second: true, 15 * time.Second: true} {
			r.Duration = took
			h := domain.WebhookHealth{}.After(r, noon)
			if h.Slow(noon) != want || h.Slow(noon.Add(time.Minute)) {
				t.Errorf("%d after %v: %+v", r.StatusCode, took, h)
			}
			// A fast answer does not end the minute.
			if h.After(arrived, noon.Add(time.Second)).Slow(noon.Add(59*time.Second)) != want {
				t.Errorf("%d after %v, then a fast answer", r.StatusCode, took)
			}
		}
	}
}

func TestAnEndpointIsDisabledByGoneOrByDaysOfFailure(t *testing.T) {
	t.Parallel()
	gone := domain.WebhookResult{StatusCode: 410, Error: domain.ErrorHTTP4xx}
	days := noon.Add(72 * time.Hour)
	for name, c := range map[string]struct {
		health domain.WebhookHealth
		result domain.WebhookResult
		at     time.Time
		want   domain.DisabledReason
	}{
		"gone at the first attempt":      {domain.WebhookHealth{}.After(gone, noon), gone, noon, domain.DisabledGone},
		"gone after days":                {failing(60, noon), gone, days, domain.DisabledGone},
		"not found":                      {domain.WebhookHealth{}, domain.WebhookResult{StatusCode: 404, Error: domain.ErrorHTTP4xx}, noon, ""},
		"50 failures in 72 hours":        {failing(50, noon), broken, days, domain.DisabledFailing},
		"49 failures in 72 hours":        {failing(49, noon), broken, days, ""},
		"50 failures in less":            {failing(50, noon), broken, days.Add(-time.Millisecond), ""},
		"1000 failures in an hour":       {failing(1000, noon), broken, noon.Add(time.Hour), ""},
		"49 more since the last success": {failing(1000, noon).After(arrived, noon), broken, days, ""},
		"healthy":                        {domain.WebhookHealth{}, arrived, days, ""},
	} {
		if got := c.health.DisabledReason(c.result, c.at); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	// The 72 hours begin with the first failure after the last success.
	h := failing(60, noon).After(arrived, noon.Add(time.Hour))
	for range 50 {
		h = h.After(broken, noon.Add(2*time.Hour))
	}
	if h.DisabledReason(broken, days) != "" || h.DisabledReason(broken, days.Add(2*time.Hour)) != domain.DisabledFailing {
		t.Errorf("counted from %v", h.FailingSince)
	}
}

func TestAnAttemptThatACallerAskedForDoesNotWaitForTheProbe(t *testing.T) {
	t.Parallel()
	closed, open := failing(9, noon), failing(10, noon)
	if closed.Hurry(noon) || closed.OpenUntil != nil {
		t.Errorf("a closed circuit was hurried: %+v", closed)
	}
	if !open.Hurry(noon) || open.Open(noon) || !open.Probing(noon) {
		t.Errorf("the probe is not due: %+v", open)
	}
	if again := open.After(broken, noon); !again.Open(noon.Add(59*time.Second)) || again.Open(noon.Add(time.Minute)) {
		t.Errorf("a probe that fails does not double the pause: %+v", again)
	}
}
