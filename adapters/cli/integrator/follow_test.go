package integrator

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

// mostCalls ends a test whose client would poll forever.
const mostCalls = 1000

// moved is a delivery whose simulation the test moves; the times in its
// answers are by its own clock.
type moved struct {
	scenario domain.Scenario
	seconds  int
	skew     time.Duration // of its clock
	stuckAt  int           // the step that never happens; 0: none
	late     time.Duration // of every step
	begun    time.Time
	calls    []string
}

func (s *moved) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.calls = append(s.calls, r.URL.Path); len(s.calls) > mostCalls {
		return refuse(401, "API_KEY_REVOKED"), nil
	}
	steps, done, next := s.scenario.Steps(), 0, s.begun
	var events []string
	event := func(n int, status domain.Status, at time.Time) {
		events = append(events, fmt.Sprintf(`{"id":"evt_%d","type":"delivery.%s","status":%q,"sequence":%d,"occurred_at":%q}`, n, status, status,
			n, domain.FormatTime(at.Add(s.skew))))
	}
	event(1, domain.Booked, s.begun)
	for i, step := range steps {
		if next = next.Add(time.Duration(step.Wait*s.seconds) * time.Second); time.Now().Before(next.Add(s.late)) || s.stuckAt == i+1 {
			break
		}
		event(i+2, step.To, next)
		done++
	}
	date := []string{"Date", time.Now().Add(s.skew).UTC().Format(http.TimeFormat)}
	if strings.HasSuffix(r.URL.Path, "/events") {
		return reply(200, "["+strings.Join(events, ",")+"]", date...), nil
	}
	tag := fmt.Sprintf(`"%d"`, done)
	if r.Header.Get("If-None-Match") == tag {
		return plain(304, "", append(date, "ETag", tag)...), nil
	}
	state, due := "running", `"`+domain.FormatTime(next.Add(s.skew))+`"`
	if done == len(steps) {
		state, due = "completed", "null"
	}
	return reply(200, fmt.Sprintf(
		`{"id":"dlv_1","status":"x","simulation":{"scenario":%q,"status":%q,"step":%d,"steps_total":%d,"next_step_at":%s}}`,
		s.scenario, state, done, len(steps), due), append(date, "ETag", tag)...), nil
}

// play follows the delivery and returns when each event was reported.
func (s *moved) play(t *testing.T) (told []time.Duration, err error) {
	s.begun = time.Now()
	client := clientOf(s.RoundTrip)
	f, err := client.follow(t.Context(), "dlv_1", func(waybillapi.DeliveryEvent) { told = append(told, time.Since(s.begun)) })
	if err == nil && (len(f.events) != len(told) || f.delivery.Simulation.Status != "completed" || f.raw == nil) {
		t.Errorf("it ended with %+v", f)
	}
	return told, err
}

func TestEveryEventIsToldAsItHappens(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]moved{
		"fast":                   {scenario: domain.ScenarioFailedThenRetried, seconds: 1},
		"slow":                   {scenario: domain.ScenarioDelayed, seconds: 300},
		"late":                   {scenario: domain.ScenarioDelivered, seconds: 15, late: 300 * time.Millisecond},
		"its clock is behind":    {scenario: domain.ScenarioDelivered, seconds: 15, skew: -time.Hour},
		"its clock is ahead":     {scenario: domain.ScenarioDelivered, seconds: 15, skew: time.Hour},
		"its clock is a bit off": {scenario: domain.ScenarioDelivered, seconds: 15, skew: 400 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				told, err := s.play(t)
				if err != nil {
					t.Fatal(err)
				}
				steps := s.scenario.Steps()
				if len(told) != 1+len(steps) || told[0] != 0 {
					t.Fatalf("told at %v", told)
				}
				due := time.Duration(0)
				for i, step := range steps {
					due += time.Duration(step.Wait*s.seconds) * time.Second
					// A clock that is off is known to the second.
					if after := told[i+1] - due - s.late; after < 0 || after > 2*time.Second {
						t.Errorf("step %d was told %s after it happened", i+1, after)
					}
				}
				// One look every ten seconds and a few around each step.
				if most := int(due/latestLook) + 8*len(steps); len(s.calls) > most {
					t.Errorf("%d calls, want %d at most", len(s.calls), most)
				}
			})
		})
	}
}

func TestADeliveryThatStandsStillIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := moved{scenario: domain.ScenarioDelivered, seconds: 2, stuckAt: 2}
		told, err := s.play(t)
		var stuck *term.StartError
		if !errors.As(err, &stuck) || !strings.Contains(stuck.What, "dlv_1 stands still: step 2 was due at ") ||
			!strings.Contains(stuck.Fix, "waybill worker") {
			t.Errorf("%v", err)
		}
		if took := time.Since(s.begun); len(told) != 2 || took < 4*time.Second+standstill || took > 4*time.Second+standstill+latestLook ||
			len(s.calls) > 40 {
			t.Errorf("%d events, %d calls, %s", len(told), len(s.calls), took)
		}
	})
}

func TestADeliveryThatNothingMovesIsReadOnce(t *testing.T) {
	t.Parallel()
	s := moved{scenario: domain.ScenarioManual}
	if told, err := s.play(t); err != nil || len(told) != 1 || len(s.calls) != 2 {
		t.Errorf("%v, %v, %v", told, err, s.calls)
	}
}
