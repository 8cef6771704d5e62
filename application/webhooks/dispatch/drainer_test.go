package dispatch_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

func TestASliceIsOverAfterFiveSecondsAndTheOthersComeFirst(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		busy, other := w.addEndpoint(1), w.addEndpoint(2)
		w.addEvents(busy, 9000)
		w.always(takes(10 * time.Millisecond)) // quick enough to keep the only worker
		defer w.running(t, 1, false)()
		w.wake(t, busy)
		time.Sleep(time.Millisecond)
		row := w.add(other, 1, 1)
		w.wake(t, other)
		time.Sleep(time.Minute)
		w.wantArrived(t, 9001)
		var at time.Duration
		for _, s := range w.sent() {
			if s.event == w.row(row).EventID {
				at = s.at
			}
		}
		// What is on its way when the slice is over takes as long as a receiver.
		if at < 5*time.Second || at > 5*time.Second+20*time.Millisecond {
			t.Errorf("the other's was sent at %v, want 5 s and at most two answers more", at)
		}
		if n := w.count("Lease"); n != 3 || w.count("Release") != 3 {
			t.Errorf("%d slices, %d ended", n, w.count("Release"))
		}
	})
}

func TestAReceiverThatHangsFreesItsWorkerAtOnceAndGetsLowPriorityAfterTwoSeconds(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]int{"half": 8, "one of many": 1}, func(t *testing.T, w *world, _ string, hung int) {
		e := w.addEndpoint(1)
		w.addEvents(e, 100)
		n := 0
		var mu sync.Mutex
		w.answer = func(ports.WebhookMessage) domain.WebhookResult {
			mu.Lock()
			defer mu.Unlock()
			if n++; n <= hung {
				return hangs()
			}
			return takes(900 * time.Millisecond)
		}
		d := w.drainer()
		handlers := d.Handlers()
		if took := callHandler(t, w, handlers, ports.JobWebhook, e); took != freesWorker {
			t.Errorf("the worker was free after %v, want %v", took, freesWorker)
		}
		time.Sleep(2*time.Second - freesWorker)
		sent := len(w.sent())
		time.Sleep(attemptLasts - 2*time.Second - time.Millisecond)
		if e := w.endpoint(e); !e.leased() || len(w.sent()) != sent || len(w.heard()) != 0 {
			t.Errorf("meanwhile: leased until %v, %d more sent, notifications %v", e.until, len(w.sent())-sent, w.heard())
		}
		time.Sleep(2 * time.Millisecond)
		if got := w.heard(); !slices.Equal(got, []string{"webhook-slow 15s"}) {
			t.Errorf("notifications %v", got)
		}
		if n := w.statuses()[domain.WebhookPending]; n+sent-hung != 100 {
			t.Errorf("%d are pending, %d were sent", n, sent)
		}
		// The normal handler leaves it alone from now on.
		reads := w.count("Due")
		if took := callHandler(t, w, handlers, ports.JobWebhook, e); took != 0 || len(w.sent()) != sent || w.count("Due") != reads {
			t.Errorf("the normal handler took %v, and %d were sent", took, len(w.sent())-sent)
		}
		d.Close()
	})
}

// freesWorker is the age of an attempt at which its drain goes on without a worker.
const freesWorker = 20 * time.Millisecond

// A worker serves drains with work to do: however many receivers keep their
// drains waiting, the workers are free.
func TestADrainThatWaitsForItsReceiverGoesOnWithoutAWorker(t *testing.T) {
	t.Parallel()
	for _, kind := range []ports.JobKind{ports.JobWebhook, ports.JobWebhookLowPriority} {
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				e := w.backlog(60, takes(time.Second))
				d := w.drainer()
				if took := callHandler(t, w, d.Handlers(), kind, e); took != freesWorker || len(w.sent()) != 16 {
					t.Errorf("the worker was free after %v and %d sends, want %v and 16", took, len(w.sent()), freesWorker)
				}
				d.WaitForDrains()
				w.wantArrived(t, 60)
				if n := w.count("Lease"); n != 1 {
					t.Errorf("%d leases, want the one under which all was sent", n)
				}
			})
		})
	}
}

// A business that has hundreds of endpoints whose receivers hang keeps no other waiting, and gets
// its own turn when some of them have ended.
func TestABusinessHasSoManyDrainsAtATimeAndOthersTheirOwn(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		const most = 128
		var many []domain.ID
		for n := range most + 10 {
			many = append(many, w.addEndpoint(n+1))
			w.add(many[n], 0, 0)
		}
		other := w.addEndpoint(1000)
		w.endpoints[other].Tenant.BusinessID = "biz_2"
		w.add(other, 0, 0)
		w.always(hangs())
		d := w.drainer()
		defer d.Close()
		handlers := d.Handlers()
		for _, id := range many {
			callHandler(t, w, handlers, ports.JobWebhook, id)
		}
		leases := w.count("Lease")
		for range 3 { // as the Sweeper does
			callHandler(t, w, handlers, ports.JobWebhook, many[most])
		}
		if n := len(w.sent()); n != most || w.count("Lease") != leases {
			t.Errorf("%d attempts of one business, want %d; leased %d times more", n, most, w.count("Lease")-leases)
		}
		callHandler(t, w, handlers, ports.JobWebhook, other)
		if n := len(w.sent()); n != most+1 {
			t.Errorf("%d attempts: the other business waits", n)
		}
		time.Sleep(attemptLasts)
		callHandler(t, w, handlers, ports.JobWebhook, many[most])
		if n := len(w.sent()); n != most+2 {
			t.Errorf("%d attempts: the business gets no turn", n)
		}
	})
}

func TestALowPriorityHandlerStaysUntilAllIsDone(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.backlog(40, takes(3*time.Second))
		// 16, and 16 more before the slice of 5 seconds is over.
		if took := w.drained(t, ports.JobWebhookLowPriority, e); took != 6*time.Second {
			t.Errorf("low priority was left after %v", took)
		}
		if got := w.heard(); len(w.sent()) != 32 || !slices.Equal(got, []string{"webhook-slow 6s"}) {
			t.Errorf("%d sent, notifications %v", len(w.sent()), got)
		}
	})
}

func TestTheLeaseIsRenewedUntilTheLastAttemptHasEnded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.backlog(1, hangs())
		go func() {
			for w.now() < attemptLasts-time.Millisecond {
				time.Sleep(100 * time.Millisecond)
				if b := w.endpoint(e); time.Until(b.until) < leaseLasts-2*time.Second {
					t.Errorf("at %v the lease lasts for %v", w.now(), time.Until(b.until))
				}
			}
		}()
		if took := w.drained(t, ports.JobWebhookLowPriority, e); took != attemptLasts {
			t.Errorf("it took %v", took)
		}
		if n := w.count("Renew"); n != 7 {
			t.Errorf("%d renewals", n)
		}
	})
}

func TestALeaseThatIsLostEndsAllAndRecordsNothing(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]time.Duration{
		"while attempts end": 300 * time.Millisecond, "while they hang": attemptLasts,
	}, func(t *testing.T, w *world, _ string, answer time.Duration) {
		e := w.backlog(500, takes(answer))
		recorded := 0
		time.AfterFunc(time.Second, func() {
			recorded = w.count("Record")
			w.mu.Lock()
			defer w.mu.Unlock()
			b := w.endpoints[e]
			b.token, b.until = "another", time.Now().Add(leaseLasts)
		})
		if took := w.drained(t, ports.JobWebhookLowPriority, e); took > 2*time.Second {
			t.Errorf("it went on until %v", took)
		}
		done := w.recorded()
		if done != 16*int(time.Second/answer) && answer != attemptLasts || answer == attemptLasts && done != 0 {
			t.Errorf("%d were recorded (by %d statements until the lease was lost)", done, recorded)
		}
		if n := w.count("Record"); n > recorded+1 || answer == attemptLasts && n != 0 {
			t.Errorf("%d writes, of which %d before", n, recorded)
		}
		if b := w.endpoint(e); b.token != "another" || !b.until.Equal(w.began.Add(time.Second+leaseLasts)) || len(w.heard()) != 0 {
			t.Errorf("the next owner has %q until %v; notifications %v", b.token, b.until.Sub(w.began), w.heard())
		}
	})
}

// An owner that could not renew in time sends nothing while another may.
func TestNothingIsSentWithoutALeaseThatIsSure(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]string{
		"renewals hang": "Renew", "reads hang": "Due", "the lease came late": "Lease",
	}, func(t *testing.T, w *world, _, slow string) {
		e := w.backlog(5000, takes(50*time.Millisecond))
		w.slowed(slow, 4500*time.Millisecond, 0, time.Hour)
		d := w.drainer()
		d.Drain(t.Context(), e, false)
		d.Close()
		for _, s := range w.sent() {
			if s.at >= 4*time.Second {
				t.Fatalf("sent at %v", s.at)
			}
		}
	})
}

// At whatever call of the storage an event comes in, and whichever process hears the notification
// for it: it is sent at once, without the Sweeper.
func TestNoNotificationIsLost(t *testing.T) {
	t.Parallel()
	for _, whose := range []string{"this process", "another process"} {
		for _, after := range []bool{false, true} {
			for n := range 12 {
				inWorld(t, func(t *testing.T, w *world) {
					e := w.addEndpoint(1)
					w.add(e, 1, 1)
					ids := &stage.IDs{}
					this, other := w.drainerOver(w.box, w, ids), w.drainerOver(w.box, w, ids)
					queue := newQueue(8)
					w.queue = queue
					ctx, cancel := context.WithCancel(t.Context())
					var all sync.WaitGroup
					all.Go(func() { _ = queue.Run(ctx, this.Handlers()) })
					var late domain.ID
					calls, quiet := 0, false
					var mu sync.Mutex
					comes := func() {
						mu.Lock()
						if calls++; calls != n+1 || quiet {
							mu.Unlock()
							return
						}
						quiet = true
						mu.Unlock()
						late = w.add(e, 2, 1)
						if whose == "this process" {
							_ = queue.Notify(ctx, ports.JobWebhook, string(e))
							return
						}
						all.Go(func() { other.Drain(ctx, e, false) })
					}
					w.around = func(_ context.Context, _ string, make func() error) error {
						time.Sleep(time.Millisecond)
						if !after {
							comes()
						}
						err := make()
						if after {
							comes()
						}
						time.Sleep(time.Millisecond)
						return err
					}
					_ = queue.Notify(ctx, ports.JobWebhook, string(e))
					time.Sleep(100 * time.Millisecond)
					cancel()
					all.Wait()
					if late != "" && w.row(late).Status != domain.WebhookSucceeded {
						t.Errorf("%s, call %d, after %v: it waits", whose, n+1, after)
					}
					if len(w.sent()) != len(w.rows) {
						t.Errorf("%s, call %d, after %v: %d sent", whose, n+1, after, len(w.sent()))
					}
				})
			}
		}
	}
}

func TestCloseLetsEndWhatIsOnItsWayAndBeginsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		quick, hung := w.addEndpoint(1), w.addEndpoint(2)
		w.addEvents(quick, 1000)
		w.addEvents(hung, 1000)
		w.answer = func(m ports.WebhookMessage) domain.WebhookResult {
			if m.URL == w.endpoints[hung].URL {
				return hangs()
			}
			return takes(300 * time.Millisecond)
		}
		d := w.drainer()
		handlers := d.Handlers()
		ended := make(chan time.Duration, 1)
		go func() {
			callHandler(t, w, handlers, ports.JobWebhook, quick)
			for w.endpoint(quick).token != "" {
				time.Sleep(time.Millisecond)
			}
			ended <- w.now()
		}()
		callHandler(t, w, handlers, ports.JobWebhook, hung)
		time.Sleep(2050*time.Millisecond - w.now())
		sent := len(w.sent())
		d.Close()
		if now, other := w.now(), <-ended; now < attemptLasts || now > attemptLasts+20*time.Millisecond || other < 2100*time.Millisecond ||
			other > 2120*time.Millisecond {
			t.Errorf("closed at %v, the other ended at %v", now, other)
		}
		handlers[ports.JobWebhook](t.Context(), string(quick))
		if len(w.sent()) != sent || w.count("Lease") != 2 {
			t.Errorf("%d more sent, %d leases", len(w.sent())-sent, w.count("Lease"))
		}
		if logged := w.recorded(); logged != sent || w.endpoint(quick).token != "" || w.endpoint(hung).token != "" {
			t.Errorf("%d of %d recorded", logged, sent)
		}
		d.Close() // twice is once
	})
}

func TestTheContextOfAHandlerEndsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.addEndpoint(1)
		row := w.add(e, 1, 1)
		w.always(takes(3 * time.Second))
		ctx, cancel := context.WithCancel(t.Context())
		d := w.drainer()
		d.Drain(ctx, e, false)
		cancel()
		d.Close()
		if w.row(row).Status != domain.WebhookSucceeded {
			t.Errorf("%+v", w.row(row))
		}
	})
}
