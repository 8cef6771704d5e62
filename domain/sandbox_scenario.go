package domain

import (
	"fmt"
	"slices"
	"time"
)

// Scenario names a scripted life of a sandbox delivery.
type Scenario string

// The scenarios.
const (
	ScenarioManual                  Scenario = "manual" // moves only when a test helper moves it
	ScenarioDelivered               Scenario = "delivered"
	ScenarioDelayed                 Scenario = "delayed"
	ScenarioFailedAtPickup          Scenario = "failed_at_pickup"
	ScenarioFailedAtDropoff         Scenario = "failed_at_dropoff"
	ScenarioFailedThenRetried       Scenario = "failed_then_retried"
	ScenarioCODRefused              Scenario = "cod_refused"
	ScenarioCancelledByPlatform     Scenario = "cancelled_by_platform"
	ScenarioNoRiderFound            Scenario = "no_rider_found"
	ScenarioOutsourcedThenDelivered Scenario = "outsourced_then_delivered"
	ScenarioStalled                 Scenario = "stalled"
)

// ScenarioStep is one move of a scenario.
type ScenarioStep struct {
	To     Status
	Reason ReasonCode // empty: none
	Wait   int        // since the last move, in units of the simulation's step seconds
}

// script is a scenario as data.
type script struct {
	scenario Scenario
	steps    []ScenarioStep
	payment  PaymentType // the only one it fits; empty: any
}

var toTheRecipient = []ScenarioStep{{To: Assigned, Wait: 1}, {To: PickedUp, Wait: 1}, {To: InTransit, Wait: 1}}

// scripts lists all scenarios, in the order in which they are shown.
var scripts = []script{
	{scenario: ScenarioManual},
	{scenario: ScenarioDelivered, steps: after(toTheRecipient, ScenarioStep{To: Delivered, Wait: 1})},
	{scenario: ScenarioDelayed, steps: after(toTheRecipient, ScenarioStep{To: Delivered, Wait: 5})},
	{scenario: ScenarioFailedAtPickup, steps: []ScenarioStep{
		{To: Assigned, Wait: 1}, {To: Failed, Reason: ReasonPickupUnavailable, Wait: 1},
	}},
	{scenario: ScenarioFailedAtDropoff, steps: after(toTheRecipient, ScenarioStep{To: Failed, Reason: ReasonRecipientUnreachable, Wait: 1})},
	{scenario: ScenarioFailedThenRetried, steps: after(
		after(toTheRecipient, ScenarioStep{To: Failed, Reason: ReasonRecipientUnreachable, Wait: 1}),
		after(toTheRecipient, ScenarioStep{To: Delivered, Wait: 1})...)},
	{scenario: ScenarioCODRefused, payment: CashOnDelivery,
		steps: after(toTheRecipient, ScenarioStep{To: Failed, Reason: ReasonCODRefused, Wait: 1})},
	{scenario: ScenarioCancelledByPlatform, steps: []ScenarioStep{
		{To: Assigned, Wait: 1}, {To: Cancelled, Reason: ReasonCancelledByPlatform, Wait: 1},
	}},
	{scenario: ScenarioNoRiderFound, steps: []ScenarioStep{{To: Cancelled, Reason: ReasonNoRider, Wait: 3}}},
	{scenario: ScenarioOutsourcedThenDelivered, steps: []ScenarioStep{
		{To: Outsourced, Wait: 1}, {To: PickedUp, Wait: 1}, {To: InTransit, Wait: 1}, {To: Delivered, Wait: 1},
	}},
	{scenario: ScenarioStalled, steps: toTheRecipient},
}

func after(steps []ScenarioStep, more ...ScenarioStep) []ScenarioStep {
	return slices.Concat(steps, more)
}

// Scenarios lists every scenario, in the order in which they are shown.
func Scenarios() []Scenario {
	names := make([]Scenario, len(scripts))
	for i, s := range scripts {
		names[i] = s.scenario
	}
	return names
}

// Steps returns a copy of the moves of a scenario; none for an unknown one.
func (s Scenario) Steps() []ScenarioStep { return slices.Clone(s.script().steps) }

func (s Scenario) script() script {
	for _, known := range scripts {
		if known.scenario == s {
			return known
		}
	}
	return script{scenario: s}
}

func notApplicable(s Scenario, p PaymentType, status Status, message string) *Error {
	applicable := []string{}
	for _, known := range scripts {
		if status == Booked && (known.payment == "" || known.payment == p) {
			applicable = append(applicable, string(known.scenario))
		}
	}
	return &Error{
		Kind: KindConflict, Code: CodeSimulationNotApplicable, Message: message,
		Details: map[string]any{
			"scenario": string(s), "payment_type": string(p), "status": string(status), "applicable_scenarios": applicable,
		},
	}
}

// Plan is a requested simulation.
type Plan struct {
	Scenario    Scenario
	StepSeconds int // 1 to 300
}

// Fits returns SIMULATION_NOT_APPLICABLE for a payment type that the scenario makes no sense with.
func (p Plan) Fits(payment PaymentType) error {
	if only := p.Scenario.script().payment; only != "" && only != payment {
		return notApplicable(p.Scenario, payment, Booked, fmt.Sprintf("Scenario %s needs payment.type %s.", p.Scenario, only))
	}
	return nil
}

// longestBackOff limits how long a caller waits for simulations that should have ended.
const longestBackOff = time.Minute

// SimulationLimit refuses one more running simulation. firstEnd is the time until the next running
// one ends. Where that moment has passed, the next end is unknown: the caller waits as long again,
// so that its retries grow further apart while no worker does the steps.
func SimulationLimit(firstEnd time.Duration) *Error {
	wait := firstEnd
	if wait < 0 {
		wait = min(-wait, longestBackOff)
	}
	return &Error{
		Kind: KindLimited, Code: CodeSimulationLimit,
		Message: fmt.Sprintf("%d simulations are running, the most an application may have. Wait for one to end, or stop one.",
			MaxRunningSimulations),
		Details:    map[string]any{"limit": MaxRunningSimulations, "running": MaxRunningSimulations},
		RetryAfter: max(wait, time.Second),
	}
}
