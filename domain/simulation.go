package domain

import (
	"fmt"
	"time"
)

// SimulationStatus is the status of a simulation.
type SimulationStatus string

// The statuses of a simulation. Only SimulationRunning moves a delivery.
const (
	SimulationIdle      SimulationStatus = "idle" // no scenario moves the delivery
	SimulationRunning   SimulationStatus = "running"
	SimulationCompleted SimulationStatus = "completed"
	SimulationStopped   SimulationStatus = "stopped" // by the caller, before its last step
)

// Simulation moves a sandbox delivery.
type Simulation struct {
	Scenario    Scenario
	Status      SimulationStatus
	Step        int // steps done
	StepSeconds int
	NextStepAt  *time.Time // nil unless running
}

// idle is the simulation of a delivery that was booked without one.
var idle = Simulation{Scenario: ScenarioManual, Status: SimulationIdle}

// StepsTotal returns how many steps the scenario has.
func (s *Simulation) StepsTotal() int { return len(s.Scenario.script().steps) }

// EndsAt returns when a running simulation does its last step if none is late. It is nil where none
// runs.
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

// rest stops a running simulation at its current step.
func (s *Simulation) rest() { s.Status, s.NextStepAt = SimulationStopped, nil }

// Simulation returns a copy of the delivery's simulation, or nil for a live delivery.
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

// Simulating reports whether a simulation moves the delivery.
func (d *Delivery) Simulating() bool {
	return d.life.Simulation != nil && d.life.Simulation.Status == SimulationRunning
}

// StartSimulation starts a scenario for a booked delivery. The first step is due one wait later. It
// returns SIMULATION_RUNNING while another one runs, and SIMULATION_NOT_APPLICABLE where the
// delivery has moved on or the scenario does not fit its payment.
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
		return nil // unchanged
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

// StopSimulation stops the simulation, and the delivery keeps its status. changed is false where
// none runs.
func (d *Delivery) StopSimulation(at time.Time) (changed bool) {
	if !d.Simulating() {
		return false
	}
	d.touch(at)
	d.stopSimulation()
	return true
}

// Simulate does the step after the given number of done steps. due is false, and nothing happens,
// where the simulation is not at that step, does not run, or would be early. The same holds where
// its scenario has no such step, as in a process that is older than the scenario.
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

// stopSimulation stops a running simulation, for a cancel and a stop.
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
