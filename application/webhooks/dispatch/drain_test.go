package dispatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/application/webhooks/dispatch"
	"waybill/domain"
	"waybill/ports"
)

func TestWhatIsDueIsSentSignedAndRecorded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		w.change(e, func(b *boxed) {
			soon := time.Now().Add(time.Hour)
			b.Secrets = append(b.Secrets, domain.SigningSecret{Sealed: []byte("older"), ExpiresAt: &soon})
		})
		row := w.add(e, 1, 1)
		w.always(takes(30 * time.Millisecond))
		took := w.drained(t, ports.JobWebhook, e)
		if want := 30*time.Millisecond + lingers; took != want {
			t.Errorf("it took %v, want %v", took, want)
		}
		d, log := w.row(row), w.log(row)
		want := domain.SignWebhook([][]byte{[]byte("secret"), []byte("older")}, d.EventID, w.began, []byte(d.EventID))
		if sent := w.sent(); len(sent) != 1 || sent[0] != (shot{event: d.EventID, url: "https://1.example.com", attempt: "1", signed: want}) {
			t.Errorf("sent %+v", sent)
		}
		if d.Status != domain.WebhookSucceeded || d.Attempts != 1 || len(log) != 1 || log[0].Result.Duration != 30*time.Millisecond {
			t.Errorf("recorded %+v, %+v", d, log)
		}
		if e := w.endpoint(e); e.token != "" || len(w.heard()) != 0 || w.logged.String() != "" {
			t.Errorf("left behind: lease %q, notifications %v, log %s", e.token, w.heard(), &w.logged)
		}
	})
}

func TestWhatFailsIsTriedByTheScheduleAndThenListedAsFailed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		row := w.add(e, 1, 1)
		w.always(refuses(500))
		defer w.running(t, 1, true)()
		time.Sleep(20 * time.Minute)
		log, sent := w.log(row), w.sent()
		if len(log) != 5 || len(sent) != 5 || w.row(row).Status != domain.WebhookFailed {
			t.Fatalf("%d attempts, %d sent: %+v", len(log), len(sent), w.row(row))
		}
		for i, base := range domain.DefaultRetrySchedule(domain.Sandbox) {
			due := log[i].NextAt.Sub(w.began)
			if wait := due - sent[i].at; wait < base*8/10 || wait > base*12/10+time.Millisecond {
				t.Errorf("attempt %d is due after %v", i+2, wait)
			}
			if late := sent[i+1].at - due; late != 0 {
				t.Errorf("attempt %d was %v late", i+2, late) // or early
			}
			if sent[i+1].attempt != fmt.Sprint(i+2) {
				t.Errorf("attempt %d says %s", i+2, sent[i+1].attempt)
			}
		}
		if log[4].NextAt != nil {
			t.Error("the last attempt promises another")
		}
	})
}

func TestNoMoreThanSixteenAreOnTheirWayToAnEndpoint(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.backlog(400, takes(100*time.Millisecond))
		took := w.drained(t, ports.JobWebhook, e)
		if want := 400/16*100*time.Millisecond + lingers; took != want || w.mostAtOnce("https://1.example.com") != 16 {
			t.Errorf("%v with %d at a time, want %v", took, w.mostAtOnce("https://1.example.com"), want)
		}
		w.wantArrived(t, 400)
	})
}

// Of what is read some is on its way already: that costs, and must stay a part.
// What was sent and is not stored is sent again after a death.
func TestWhileTheStorageIsSlowNoMoreIsSentThanADeathMayDouble(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.backlog(1000, takes(time.Millisecond))
		w.slowed("Record", time.Second, 0, time.Hour)
		d := w.drainer()
		go callHandler(t, w, d.Handlers(), ports.JobWebhook, e)
		most := 0
		for range 30 {
			// Notifications make it look for more.
			time.Sleep(100 * time.Millisecond)
			d.Drain(t.Context(), e, false)
			most = max(most, len(w.sent())-w.statuses()[domain.WebhookSucceeded])
		}
		if most != 128 {
			t.Errorf("%d were sent and not stored, want 128", most)
		}
		d.Close()
	})
}

func TestABacklogIsReadOnceAndALittle(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		const rows = 20_000
		e := w.backlog(rows, takes(time.Millisecond))
		w.slowed("Record", 3*time.Millisecond, 0, time.Hour)
		defer w.running(t, 1, false)()
		w.wake(t, e)
		time.Sleep(30 * time.Second)
		if n := w.statuses()[domain.WebhookSucceeded]; n != rows || len(w.sent()) != rows {
			t.Fatalf("%d arrived, %d sent", n, len(w.sent()))
		}
		if w.widest > 400 {
			t.Errorf("%d rows were asked for at a time", w.widest)
		}
		if w.read > rows*11/10 || w.count("Due") > rows/100 || w.count("Record") > rows/16+10 {
			t.Errorf("%d rows were read by %d statements and written by %d", w.read, w.count("Due"), w.count("Record"))
		}
	})
}

func TestWithinADeliveryAnEventWaitsWhileAnEarlierOneIsOnItsWay(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		var want []domain.ID
		for sequence := range 3 {
			for delivery := range 4 {
				want = append(want, w.row(w.add(e, delivery+1, sequence+1)).EventID)
			}
		}
		own := []domain.ID{w.row(w.add(e, 0, 0)).EventID, w.row(w.add(e, 0, 0)).EventID} // events of an endpoint wait for none
		w.always(takes(200 * time.Millisecond))
		w.drained(t, ports.JobWebhook, e)
		at := map[domain.ID]time.Duration{}
		for _, s := range w.sent() {
			at[s.event] = s.at
		}
		for i, event := range want {
			if at[event] != time.Duration(i/4)*200*time.Millisecond {
				t.Errorf("event %d of delivery %d was sent at %v", i/4+1, i%4+1, at[event])
			}
		}
		if at[own[0]] != 0 || at[own[1]] != 0 || len(at) != 14 {
			t.Errorf("%d events; those of the endpoint at %v and %v", len(at), at[own[0]], at[own[1]])
		}
	})
}

// Two processes whose clocks differ make IDs that do not follow each other.
func TestOfOneMomentTheSequenceDecides(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		third, first, second := w.add(e, 1, 3), w.add(e, 1, 1), w.add(e, 1, 2)
		w.drained(t, ports.JobWebhook, e)
		if got := events(w.sent()); !slices.Equal(got, []domain.ID{w.row(first).EventID, w.row(second).EventID, w.row(third).EventID}) {
			t.Errorf("sent %v", got)
		}
	})
}

func TestAnEventThatBacksOffDoesNotBlockTheNext(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		first, second := w.add(e, 1, 1), w.add(e, 1, 2)
		w.answer = func(m ports.WebhookMessage) domain.WebhookResult {
			if string(m.Body) == string(w.row(first).EventID) {
				return domain.WebhookResult{StatusCode: 500, Error: domain.ErrorHTTP5xx, Duration: 50 * time.Millisecond}
			}
			return takes(0)
		}
		w.drained(t, ports.JobWebhook, e)
		if got := times(w.sent()); !slices.Equal(got, []time.Duration{0, 50 * time.Millisecond}) {
			t.Errorf("sent at %v", got)
		}
		if w.row(first).Status != domain.WebhookPending || w.row(second).Status != domain.WebhookSucceeded {
			t.Errorf("%+v, %+v", w.row(first), w.row(second))
		}
	})
}

func TestASecretThatCannotBeOpenedIsNotTriedAllTheTime(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		w.add(e, 1, 1)
		w.sealer.fails = errStorage
		defer w.running(t, 1, true)()
		time.Sleep(time.Minute)
		if n := strings.Count(w.logged.String(), "the signing secret cannot be opened"); n < 9 || n > 11 || len(w.sent()) != 0 {
			t.Errorf("%d lines, %d sent", n, len(w.sent()))
		}
	})
}

// The server's key has changed, and the endpoint's secret was rotated since.
func TestARotatedSecretSignsAloneWhereTheOneBeforeCannotBeOpened(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		soon := time.Now().Add(time.Hour)
		w.change(e, func(b *boxed) {
			b.Secrets = append(b.Secrets, domain.SigningSecret{Sealed: []byte("older"), ExpiresAt: &soon})
		})
		row := w.add(e, 1, 1)
		w.sealer.lost = "older"
		w.drained(t, ports.JobWebhook, e)
		event := w.row(row).EventID
		want := domain.SignWebhook([][]byte{[]byte("secret")}, event, w.began, []byte(event))
		if sent := w.sent(); len(sent) != 1 || sent[0].signed != want {
			t.Errorf("sent %+v", sent)
		}
	})
}

func TestEveryAttemptIsObservedAndTheDelayOfTheFirstArrival(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		row := w.add(e, 1, 1)
		var attempts []bool
		var delays []time.Duration
		w.observer = dispatch.Observer{
			Attempted: func(r domain.WebhookResult) { attempts = append(attempts, r.Succeeded()) },
			Delayed:   func(d time.Duration) { delays = append(delays, d) },
		}
		w.answer = func(m ports.WebhookMessage) domain.WebhookResult {
			if m.Header[domain.HeaderWebhookAttempt] == "1" {
				return refuses(500)
			}
			return takes(100 * time.Millisecond)
		}
		stop := w.running(t, 1, true)
		time.Sleep(20 * time.Second)
		again := w.row(row)
		arrived := w.log(row)[1].Result.StartedAt.Add(100 * time.Millisecond).Sub(w.began)
		again.Redeliver(domain.Millis(time.Now())) // what has arrived is asked for again
		w.mu.Lock()
		*w.rows[row] = again
		w.insert(w.rows[row])
		w.mu.Unlock()
		time.Sleep(20 * time.Second)
		stop()
		if !slices.Equal(attempts, []bool{false, true, true}) || !slices.Equal(delays, []time.Duration{arrived}) {
			t.Errorf("observed %v and %v, want %v", attempts, delays, arrived)
		}
	})
}
