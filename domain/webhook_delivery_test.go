package domain_test

import (
	"slices"
	"testing"
	"time"

	"waybill/domain"
)

const attemptID = domain.ID("wha_0190000000007000800000000000000a")

const sec = time.Second

func TestTheSchedulesAreDenseAtFirst(t *testing.T) {
	t.Parallel()
	short := domain.RetrySchedule{5 * sec, 30 * sec, 2 * time.Minute, 10 * time.Minute}
	if got := domain.DefaultRetrySchedule(domain.Sandbox); !slices.Equal(got, short) {
		t.Errorf("sandbox %v", got)
	}
	h := time.Hour
	long := append(slices.Clone(short), 30*time.Minute, h, 3*h, 6*h, 12*h, 24*h, 24*h)
	if got := domain.DefaultRetrySchedule(domain.Live); !slices.Equal(got, long) {
		t.Errorf("live %v", got)
	}
	var sum time.Duration
	for _, wait := range long {
		sum += wait
	}
	if len(long)+1 != 12 || sum < 70*h || sum > 72*h {
		t.Errorf("%d attempts over %v", len(long)+1, sum)
	}
}

func TestWaitsVaryByAFifthAndEndWithTheSchedule(t *testing.T) {
	t.Parallel()
	for _, env := range []domain.Environment{domain.Live, domain.Sandbox} {
		schedule := domain.DefaultRetrySchedule(env)
		for i, base := range schedule {
			for _, jitter := range []float64{0, 0.25, 0.5, 0.999999} {
				wait, ok := schedule.Wait(i+1, 0, jitter)
				low, high := base*8/10, base*12/10
				if !ok || wait < low || wait > high {
					t.Errorf("%s, failure %d, jitter %v: %v, %v, want %v to %v", env, i+1, jitter, wait, ok, low, high)
				}
			}
			if least, _ := schedule.Wait(i+1, 0, 0); least != time.Duration(float64(base)*0.8) {
				t.Errorf("least wait %v for %v", least, base)
			}
		}
		for _, beyond := range []int{len(schedule) + 1, 100} {
			if wait, ok := schedule.Wait(beyond, time.Hour, 0.5); ok || wait != 0 {
				t.Errorf("%s: failure %d waits %v", env, beyond, wait)
			}
		}
	}
	if _, ok := (domain.RetrySchedule{}).Wait(1, 0, 0); ok {
		t.Error("an empty schedule waits")
	}
}

func TestRetryAfterLengthensTheWaitWithinBounds(t *testing.T) {
	t.Parallel()
	m, h := time.Minute, time.Hour
	live := domain.DefaultRetrySchedule(domain.Live)
	for _, c := range []struct {
		failure int
		asked   time.Duration
		jitter  float64
		want    time.Duration
	}{
		{1, 0, 0, 4 * sec}, {1, 3 * sec, 0, 4 * sec}, {1, 4500 * time.Millisecond, 0, 4500 * time.Millisecond},
		{1, 5 * sec, 0, 5 * sec}, // never before the requested time
		{1, 5 * sec, 0.75, 5500 * time.Millisecond}, {1, 6 * sec, 0, 6 * sec}, {1, 10 * m, 0.5, 10 * m},
		{1, h, 0.5, h}, {1, h + sec, 0.5, h}, {1, 48 * h, 0, h}, // at most an hour early on
		{6, 90 * m, 0, 90 * m}, {6, 2 * h, 0, 2 * h}, {6, 3 * h, 0, 2 * h}, // or twice the base wait
		{10, 48 * h, 0.5, 48 * h}, {10, 49 * h, 0.5, 48 * h}, {10, h, 0.5, 24 * h}, // shorter: ignored
		{1, -h, 0.5, 5 * sec},
	} {
		if got, ok := live.Wait(c.failure, c.asked, c.jitter); !ok || got != c.want {
			t.Errorf("failure %d, asked for %v, jitter %v: %v, want %v", c.failure, c.asked, c.jitter, got, c.want)
		}
	}
}

// due returns a webhook delivery in a status, before its next attempt.
func due(status domain.WebhookStatus, trigger domain.WebhookTrigger, used int, back domain.WebhookStatus) domain.WebhookDelivery {
	d := domain.WebhookDelivery{ID: "whd_1", Status: status, Trigger: trigger, Attempts: used, Used: used, Back: back}
	if status == domain.WebhookPending {
		at := noon
		d.DueAt = &at
	}
	return d
}

func TestEveryAttemptLeadsWhereItsTriggerSays(t *testing.T) {
	t.Parallel()
	const (
		pending, succeeded, failed, held = domain.WebhookPending, domain.WebhookSucceeded, domain.WebhookFailed, domain.WebhookHeld
		schedule, probe, manual          = domain.TriggerSchedule, domain.TriggerProbe, domain.TriggerManual
		recovered, test                  = domain.TriggerRecover, domain.TriggerTest
	)
	for _, c := range []struct {
		trigger domain.WebhookTrigger
		used    int
		back    domain.WebhookStatus
		probe   bool
		result  domain.WebhookResult

		status domain.WebhookStatus
		usedBy int
		wait   time.Duration // 0: nothing follows
		shown  domain.WebhookTrigger
	}{
		{schedule, 0, "", false, arrived, succeeded, 0, 0, schedule},
		{schedule, 0, "", false, broken, pending, 1, 5 * sec, schedule},
		{schedule, 0, "", true, broken, pending, 1, 5 * sec, probe},
		{schedule, 3, "", true, arrived, succeeded, 3, 0, probe},
		{schedule, 3, "", false, broken, pending, 4, 10 * time.Minute, schedule},
		{schedule, 4, "", false, broken, failed, 5, 0, schedule}, // the fifth of the sandbox
		{schedule, 4, "", false, arrived, succeeded, 4, 0, schedule},
		{schedule, 9, "", false, broken, failed, 10, 0, schedule}, // the schedule is shorter than when it began
		// One more attempt by hand uses none of the schedule, and returns to the old status.
		{manual, 0, "", false, broken, pending, 0, 5 * sec, manual},
		{manual, 2, "", false, broken, pending, 2, 30 * sec, manual},
		{manual, 2, "", true, broken, pending, 2, 30 * sec, manual}, // also a probe, but shown as manual
		{manual, 2, "", false, arrived, succeeded, 2, 0, manual},
		{manual, 5, failed, false, broken, failed, 5, 0, manual},
		{manual, 5, failed, false, arrived, succeeded, 5, 0, manual},
		{manual, 1, succeeded, false, broken, succeeded, 1, 0, manual},
		{manual, 1, held, false, broken, held, 1, 0, manual},
		// A recovered webhook has a fresh schedule.
		{recovered, 0, "", false, broken, pending, 1, 5 * sec, recovered},
		{recovered, 0, "", false, arrived, succeeded, 0, 0, recovered},
		// A test is tried once.
		{test, 0, failed, false, broken, failed, 0, 0, test},
		{test, 0, failed, false, arrived, succeeded, 0, 0, test},
	} {
		d := due(pending, c.trigger, c.used, c.back)
		now := noon.Add(400 * time.Microsecond)
		a := d.Record(attemptID, c.result, domain.DefaultRetrySchedule(domain.Sandbox), c.probe, 0.5, now)
		var at *time.Time
		if c.wait > 0 {
			next := noon.Add(c.wait) // whole milliseconds
			at = &next
		}
		same := func(p *time.Time) bool { return (p == nil) == (at == nil) && (at == nil || p.Equal(*at)) }
		if d.Status != c.status || d.Used != c.usedBy || d.Attempts != c.used+1 || !same(d.DueAt) {
			t.Errorf("%+v: %+v due %v", c, d, d.DueAt)
		}
		if d.Trigger != schedule || d.Back != "" {
			t.Errorf("%+v: the next attempt is %s, back to %q", c, d.Trigger, d.Back)
		}
		if a.ID != attemptID || a.DeliveryID != d.ID || a.Number != c.used+1 || a.Trigger != c.shown || a.Result != c.result || !same(a.NextAt) {
			t.Errorf("%+v: attempt %+v", c, a)
		}
	}
}

func TestALiveScheduleIsTwelveAttempts(t *testing.T) {
	t.Parallel()
	d, now := due(domain.WebhookPending, domain.TriggerSchedule, 0, ""), noon
	for d.Status == domain.WebhookPending {
		now = *d.DueAt
		d.Record(attemptID, broken, domain.DefaultRetrySchedule(domain.Live), false, 0.5, now)
		if d.Attempts > 12 {
			break
		}
	}
	if d.Status != domain.WebhookFailed || d.Attempts != 12 || now.Sub(noon) < 70*time.Hour || now.Sub(noon) > 72*time.Hour {
		t.Errorf("%s after %d attempts and %v", d.Status, d.Attempts, now.Sub(noon))
	}
}

func TestRedeliveringMakesOneMoreAttemptDueNow(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Hour)
	for _, status := range domain.WebhookStatuses() {
		d := due(status, domain.TriggerSchedule, 2, "")
		want := status
		if status == domain.WebhookPending {
			d.DueAt, want = &later, "" // the schedule continues
		}
		if !d.Redeliver(noon) {
			t.Errorf("%s: unchanged", status)
		}
		if d.Status != domain.WebhookPending || d.Trigger != domain.TriggerManual || d.DueAt == nil || !d.DueAt.Equal(noon) || d.Back != want ||
			d.Used != 2 {
			t.Errorf("%s: %+v", status, d)
		}
		// A second request changes nothing.
		if again := d; d.Redeliver(noon.Add(sec)) || d != again {
			t.Errorf("%s: a second call changed it to %+v", status, d)
		}
	}
	d := due(domain.WebhookPending, domain.TriggerSchedule, 2, "")
	if d.Redeliver(noon) || d.Trigger != domain.TriggerSchedule {
		t.Errorf("what is due anyhow became %+v", d)
	}
}

func TestAWebhookDeliveryHasTheIDOfItsEventAndSlot(t *testing.T) {
	t.Parallel()
	const event = domain.ID("evt_0190000000007000800000000000000c")
	seen := map[domain.ID]bool{}
	for slot := range domain.MaxWebhookEndpoints {
		id := domain.WebhookDeliveryID(event, slot)
		if _, err := domain.ParseID(domain.PrefixWebhookDelivery, string(id)); err != nil || id.Hex()[:31] != event.Hex()[:31] || seen[id] {
			t.Errorf("slot %d: %s, %v", slot, id, err)
		}
		seen[id] = true
	}
}

func TestARecoveryNamesWhatDidNotArrive(t *testing.T) {
	t.Parallel()
	both := []domain.WebhookStatus{domain.WebhookFailed, domain.WebhookHeld}
	for only, want := range map[domain.WebhookStatus][]domain.WebhookStatus{
		"": both, domain.WebhookFailed: both[:1], domain.WebhookHeld: both[1:], domain.WebhookSucceeded: both, domain.WebhookPending: both,
	} {
		if got := (domain.Recovery{Only: only}).Statuses(); !slices.Equal(got, want) {
			t.Errorf("only %q: %v", only, got)
		}
	}
}

func TestAStatusHasOneClass(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]domain.ErrorClass{
		200: "", 204: "", 299: "", 301: domain.ErrorRedirect, 404: domain.ErrorHTTP4xx, 410: domain.ErrorHTTP4xx, 429: domain.ErrorHTTP4xx,
		500: domain.ErrorHTTP5xx, 503: domain.ErrorHTTP5xx,
	} {
		if got := domain.StatusClass(status); got != want {
			t.Errorf("%d is %q, want %q", status, got, want)
		}
		if r := (domain.WebhookResult{StatusCode: status, Error: want}); r.Succeeded() != (want == "") {
			t.Errorf("%d succeeded: %t", status, r.Succeeded())
		}
	}
}
