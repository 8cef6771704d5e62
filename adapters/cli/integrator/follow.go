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

// How a delivery is looked after: when its next step is due, and from then on
// at growing distances. Asking again for what has not changed costs nothing of
// the rate limit.
const (
	soonestLook = 200 * time.Millisecond
	latestLook  = 10 * time.Second
	// standstill is how late a step may be until no worker seems to do steps.
	standstill = 30 * time.Second
	// clockSkew is how far the two clocks may be apart unnoticed: the server
	// tells its own in whole seconds.
	clockSkew = 2 * time.Second
)

// nextStep is when the next step of the simulation is due; false: it is at rest.
func nextStep(d *waybillapi.Delivery) (time.Time, bool) {
	if d.Simulation == nil || d.Simulation.Status != waybillapi.SimulationStatusRunning || d.Simulation.NextStepAt == nil {
		return time.Time{}, false
	}
	return *d.Simulation.NextStepAt, true
}

// followed is a delivery at the end of its simulation.
type followed struct {
	delivery waybillapi.Delivery
	raw      json.RawMessage   // the delivery as it was answered
	events   []json.RawMessage // its whole timeline
}

// follow tells each event of a delivery as it happens, until nothing moves the
// delivery any more.
func (c *apiClient) follow(ctx context.Context, id string, tell func(waybillapi.DeliveryEvent)) (followed, error) {
	var f followed
	var due time.Time
	look, told, pause := get("/deliveries/"+id), 0, soonestLook
	for {
		delivery, answer, err := ask[waybillapi.Delivery](ctx, c, look)
		if err != nil {
			return f, err
		}
		if answer.changed() {
			f.delivery, f.raw = delivery, answer.Data
			if told, err = c.tellNew(ctx, &f, told, tell); err != nil {
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

// tellNew reads the timeline and tells what comes after what was told.
func (c *apiClient) tellNew(ctx context.Context, f *followed, told int, tell func(waybillapi.DeliveryEvent)) (int, error) {
	var err error
	if f.events, _, err = ask[[]json.RawMessage](ctx, c, get("/deliveries/"+f.delivery.ID+"/events")); err != nil {
		return told, err
	}
	for _, raw := range f.events {
		var e waybillapi.DeliveryEvent
		if err := json.Unmarshal(raw, &e); err != nil {
			return told, fmt.Errorf("an event cannot be read: %w", err)
		}
		if e.Sequence > told {
			told = e.Sequence
			tell(e)
		}
	}
	return told, nil
}

// here is a time of the server by the clock of this machine.
func here(at, serverNow time.Time) time.Time { return at.Add(-skewOf(serverNow)) }

// skewOf is how far the clock of the server is ahead of this machine's; 0 where
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

// sayEvent is a line of the timeline.
func (p *Commands) sayEvent(e waybillapi.DeliveryEvent) {
	line := fmt.Sprintf("  %2d  %s  %s", e.Sequence, clockTime(e.OccurredAt), e.Status)
	if e.ReasonCode != "" {
		line += " (" + string(e.ReasonCode) + ")"
	}
	p.Say(line)
}

// clockTime is the time of day, in UTC.
func clockTime(t time.Time) string { return term.ClockTime(domain.FormatTime(t)) }

// interrupted tells what a Ctrl-C leaves behind.
func interrupted(ctx context.Context, err error, left string) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return &term.StartError{Code: "INTERRUPTED", What: "interrupted: " + left}
}
