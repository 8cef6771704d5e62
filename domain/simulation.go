package domain

import (
	"fmt"
	"time"
)

// SimulationStatus is where a simulation stands.
type SimulationStatus string

// The statuses of a simulation. All but SimulationRunning are at rest.
const (
	SimulationIdle      SimulationStatus = "idle" // nothing moves the delivery by itself
	SimulationRunning   SimulationStatus = "running"
	SimulationCompleted SimulationStatus = "completed"
	SimulationStopped   SimulationStatus = "stopped" // before its last step, by the caller
)

// Simulation is what drives a sandbox delivery.
type Simulation struct {
	Scenario    Scenario
	Status      SimulationStatus
	Step        int // steps done
	StepSeconds int
	NextStepAt  *time.Time // nil unless running
}

// idle is the simulation of a delivery that was booked without one.
var idle = Simulation{Scenario: ScenarioManual, Status: SimulationIdle}

// StepsTotal is how many steps the scenario has.
func (s *Simulation) StepsTotal() int { return len(s.Scenario.script().steps) }

// EndsAt is when a running simulation does its last step if none is late; nil
// for one at rest.
func (s *Simulation) EndsAt() *time.Time {
	if s.NextStepAt == nil {
		return nil
	}
	end := *s.NextStepAt
	for _, step := range s.Scenario.script().steps[s.Step+1:] {
		end = end.Add(s.wait(step))
	}
	return &end
}

func (s *Simulation) wait(step ScenarioStep) time.Duration {
	return time.Duration(step.Wait*s.StepSeconds) * time.Second
}

// schedule sets when the next step is due, or ends the simulation after the last.
func (s *Simulation) schedule(from time.Time) {
	steps := s.Scenario.script().steps
	if s.Step == len(steps) {
		s.Status, s.NextStepAt = SimulationCompleted, nil
		return
	}
	due := from.Add(s.wait(steps[s.Step]))
	s.Status, s.NextStepAt = SimulationRunning, &due
}

// rest ends a running simulation where it is.
func (s *Simulation) rest() { s.Status, s.NextStepAt = SimulationStopped, nil }

// Simulation is a copy of what drives the delivery; nil on a live one.
func (d *Delivery) Simulation() *Simulation {
	if !d.Simulated() {
		return nil
	}
	s := idle
	if d.life.Simulation != nil {
		s = *d.life.Simulation
	}
	return &s
}

// Simulating reports whether the delivery moves by itself.
func (d *Delivery) Simulating() bool {
	return d.life.Simulation != nil && d.life.Simulation.Status == SimulationRunning
}

// StartSimulation lets a scenario drive a booked delivery from now on. The
// first step is due one wait later. SIMULATION_RUNNING while another one runs,
// SIMULATION_NOT_APPLICABLE where the delivery has moved on or the scenario does
// not fit its payment.
func (d *Delivery) StartSimulation(p Plan, at time.Time) error {
	switch {
	case d.Simulating():
		return d.simulationRunning()
	case !d.Simulated():
		return notApplicable(p.Scenario, d.Payment.Type, d.life.Status, "Only sandbox deliveries are simulated.")
	case d.life.Status != Booked:
		return notApplicable(p.Scenario, d.Payment.Type, d.life.Status,
			fmt.Sprintf("A simulation starts from booked, and the delivery is %s. Create another one.", d.life.Status))
	}
	if err := p.Fits(d.Payment.Type); err != nil {
		return err
	}
	if p.Scenario == ScenarioManual && *d.Simulation() == idle {
		return nil // as it is
	}
	at = d.touch(at)
	s := Simulation{Scenario: p.Scenario, StepSeconds: p.StepSeconds}
	if p.Scenario == ScenarioManual {
		s = idle
	} else {
		s.schedule(at)
	}
	d.life.Simulation = &s
	return nil
}

// StopSimulation leaves the delivery where it is. changed is false where
// nothing runs.
func (d *Delivery) StopSimulation(at time.Time) (changed bool) {
	if !d.Simulating() {
		return false
	}
	d.touch(at)
	d.stopSimulation()
	return true
}

// Simulate does the step after so many that are done. due is false, and
// nothing happens, where the simulation is not at that step, is at rest, or
// would be early; or where its scenario has no such step, as in a process that
// is older than the scenario.
func (d *Delivery) Simulate(done int, eventID ID, at time.Time) (event Event, due bool, err error) {
	if !d.Simulating() || d.life.Simulation.Step != done || at.Before(*d.life.Simulation.NextStepAt) {
		return Event{}, false, nil
	}
	steps := d.life.Simulation.Scenario.script().steps
	if done >= len(steps) {
		return Event{}, false, nil
	}
	step := steps[done]
	event, err = d.move(step.To, ActorSimulator, step.Reason, eventID, at)
	if err != nil {
		return Event{}, false, err
	}
	s := *d.life.Simulation
	s.Step++
	s.schedule(event.OccurredAt)
	d.life.Simulation = &s
	return event, true, nil
}

// stopSimulation stops what runs; a cancel and a stop share it.
func (d *Delivery) stopSimulation() {
	if d.Simulating() {
		s := *d.life.Simulation
		s.rest()
		d.life.Simulation = &s
	}
}

func (d *Delivery) simulationRunning() *Error {
	s := d.life.Simulation
	return &Error{
		Kind: KindConflict, Code: CodeSimulationRunning,
		Message: fmt.Sprintf("Scenario %s moves this delivery by itself, %d of %d steps done.",
			s.Scenario, s.Step, s.StepsTotal()),
		Details: map[string]any{
			"scenario": string(s.Scenario), "step": s.Step, "steps_total": s.StepsTotal(), "next_step_at": FormatTime(*s.NextStepAt),
		},
	}
}
