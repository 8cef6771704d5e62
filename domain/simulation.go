package domain

import "time"

// Scenario names a scripted life of a sandbox delivery.
type Scenario string

// ScenarioManual moves only when a test helper moves it.
const ScenarioManual Scenario = "manual"

// SimulationStatus is where a simulation stands.
type SimulationStatus string

// SimulationIdle is the status of a delivery nothing moves by itself.
const SimulationIdle SimulationStatus = "idle"

// Simulation is what drives a sandbox delivery.
type Simulation struct {
	Scenario   Scenario
	Status     SimulationStatus
	Step       int // steps done
	StepsTotal int
	NextStepAt *time.Time
}

// Simulation is nil on a live delivery.
func (d *Delivery) Simulation() *Simulation {
	if !d.Simulated() {
		return nil
	}
	return &Simulation{Scenario: ScenarioManual, Status: SimulationIdle}
}
