package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestASimulatedOrderIsAnOrderWithAScenario(t *testing.T) {
	t.Parallel()
	var order struct {
		ExternalID string `json:"external_id"`
		Sandbox    struct {
			Scenario    string `json:"scenario"`
			StepSeconds int    `json:"step_seconds"`
		} `json:"sandbox"`
	}
	if err := json.Unmarshal([]byte(simulatedOrder(7)), &order); err != nil {
		t.Fatal(err)
	}
	if order.ExternalID == "" || order.Sandbox.Scenario != "delivered" || order.Sandbox.StepSeconds != 7 {
		t.Errorf("%+v", order)
	}
}

func TestAStepThatCameEarlyIsAMissedGoal(t *testing.T) {
	t.Parallel()
	r := &rehearsal{bench: &bench{}, simulationOptions: simulationOptions{pending: 1, stepSeconds: 15}}
	for verdict, late := range map[string][]time.Duration{
		"met":    {0, time.Millisecond, 149 * time.Millisecond},
		"MISSED": {-time.Microsecond, time.Millisecond, 149 * time.Millisecond},
	} {
		var page bytes.Buffer
		if err := r.print(&page, late, time.Second); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(page.String()) {
			if strings.HasPrefix(line, "steps that came early ") && strings.Contains(line, "<=") && !strings.Contains(line, verdict) {
				t.Errorf("%v: %s", late, line)
			}
		}
		if strings.Count(page.String(), "steps that came early") < 1 {
			t.Error(page.String())
		}
	}
}
