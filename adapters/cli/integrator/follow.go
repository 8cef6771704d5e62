package integrator

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

// The polling of a delivery: when its next step is due, and then at growing intervals. A
// request for unchanged data does not count against the rate limit.
const (
	soonestLook = 200 * time.Millisecond
	latestLook  = 10 * time.Second
	// standstill is how late a step may be before no worker seems to run.
	standstill = 30 * time.Second
	// clockSkew is how far the two clocks may differ unnoticed: the server sends its time in
	// whole seconds.
	clockSkew = 2 * time.Second
)

// nextStep returns when the next step of the simulation is due, or false when it is at rest.
func nextStep(d *waybillapi.Delivery) (time.Time, bool) {
	if d.Simulation == nil || d.Simulation.Status != waybillapi.SimulationStatusRunning || d.Simulation.NextStepAt == nil {
		return time.Time{}, false
	}
	return *d.Simulation.NextStepAt, true
}

// followed is a delivery at the end of its simulation.
type followed struct {
	delivery waybillapi.Delivery
	raw      json.RawMessage   // the delivery as received
	events   []json.RawMessage // the whole timeline
}

// follow reports each event of a delivery as it happens, until nothing moves the delivery any
// more.
func (c *apiClient) follow(ctx context.Context, id string, report func(waybillapi.DeliveryEvent)) (followed, error) {
	var f followed
	var due time.Time
	look, reported, pause := get("/deliveries/"+id), 0, soonestLook
	for {
		delivery, answer, err := ask[waybillapi.Delivery](ctx, c, look)
		if err != nil {
			return f, err
		}
		if answer.changed() {
			f.delivery, f.raw = delivery, answer.Data
			if reported, err = c.reportNew(ctx, &f, reported, report); err != nil {
				return f, err
			}
			at, running := nextStep(&f.delivery)
			if !running {
				return f, nil
			}
			look.known, due, pause = answer.etag, here(at, answer.serverAt), soonestLook
		}
		wait := time.Until(due) + soonestLook/2
		switch {
		case wait < -standstill:
			return f, stoodStill(f.delivery)
		case wait <= 0:
			wait, pause = pause, min(2*pause, latestLook/5)
		}
		if !sleep(ctx, min(wait, latestLook)) {
			return f, ctx.Err()
		}
	}
}

// reportNew reads the timeline and reports the events after those already reported.
func (c *apiClient) reportNew(ctx context.Context, f *followed, reported int, report func(waybillapi.DeliveryEvent)) (int, error) {
	var err error
	if f.events, _, err = ask[[]json.RawMessage](ctx, c, get("/deliveries/"+f.delivery.ID+"/events")); err != nil {
		return reported, err
	}
	for _, raw := range f.events {
		var e waybillapi.DeliveryEvent
		if err := json.Unmarshal(raw, &e); err != nil {
			return reported, fmt.Errorf("an event cannot be read: %w", err)
		}
		if e.Sequence > reported {
			reported = e.Sequence
			report(e)
		}
	}
	return reported, nil
}

// here converts a time of the server to the clock of this machine.
func here(at, serverNow time.Time) time.Time { return at.Add(-skewOf(serverNow)) }

// skewOf returns how far the clock of the server is ahead of this machine's. It returns 0 if
// the difference would not be noticed.
func skewOf(serverNow time.Time) time.Duration {
	if skew := time.Until(serverNow); !serverNow.IsZero() && skew.Abs() > clockSkew {
		return skew
	}
	return 0
}

func stoodStill(d waybillapi.Delivery) error {
	return &term.StartError{
		Code: "STANDSTILL", What: fmt.Sprintf("delivery %s stands still: step %d was due at %s", d.ID, d.Simulation.Step+1,
			domain.FormatTime(*d.Simulation.NextStepAt)),
		Fix: "start waybill worker beside waybill serve: it does the steps (waybill dev does them itself)",
	}
}

// sayEvent prints a line of the timeline.
func (p *Commands) sayEvent(e waybillapi.DeliveryEvent) {
	line := fmt.Sprintf("  %2d  %s  %s", e.Sequence, clockTime(e.OccurredAt), e.Status)
	if e.ReasonCode != "" {
		line += " (" + string(e.ReasonCode) + ")"
	}
	p.Say(line)
}

// clockTime returns the time of day, in UTC.
func clockTime(t time.Time) string { return term.ClockTime(domain.FormatTime(t)) }

// interrupted says what a Ctrl-C leaves behind.
func interrupted(ctx context.Context, err error, left string) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return &term.StartError{Code: "INTERRUPTED", What: "interrupted: " + left}
}
