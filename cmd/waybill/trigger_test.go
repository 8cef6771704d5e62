package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"waybill/adapters/cli/term"
	"waybill/domain"
)

// triggered is the output of trigger for a script.
type triggered struct {
	Delivery struct {
		ID, Status string
		Simulation struct {
			Scenario, Status string
			Step             int
			NextStepAt       string `json:"next_step_at"`
		}
	}
	Steps []struct {
		Step   int
		Status string
		Reason string    `json:"reason_code"`
		DueAt  time.Time `json:"due_at"`
	}
	Events []object
}

func TestTriggerBooksADeliveryAndTellsEveryStepAndItsTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startDev(t, dir)
	for _, s := range domain.Scenarios() {
		v := inDir[triggered](t, dir, "trigger", string(s), "--step-seconds", "7")
		steps := s.Steps()
		if v.Delivery.Status != "booked" || v.Delivery.Simulation.Scenario != string(s) || len(v.Steps) != len(steps) {
			t.Fatalf("%s: %+v", s, v)
		}
		if len(steps) == 0 {
			continue
		}
		due, err := time.Parse(time.RFC3339Nano, v.Delivery.Simulation.NextStepAt)
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range steps {
			if i > 0 {
				due = due.Add(time.Duration(step.Wait*7) * time.Second)
			}
			if got := v.Steps[i]; got.Step != i+1 || got.Status != string(step.To) || got.Reason != string(step.Reason) || !got.DueAt.Equal(due) {
				t.Errorf("%s: step %d is %+v, due %s", s, i+1, got, due)
			}
		}
	}
}

func TestTriggerMovesADeliveryThatIsThereAndWaitsWhereItIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	id := inDir[triggered](t, dir, "trigger", "manual").Delivery.ID
	v := inDir[triggered](t, dir, "trigger", "cancelled_by_platform", "--delivery", id, "--step-seconds", "1", "--wait")
	if v.Delivery.ID != id || v.Delivery.Status != "cancelled" || v.Delivery.Simulation.Status != "completed" || len(v.Steps) != 2 ||
		len(v.Events) != 3 {
		t.Errorf("%+v", v)
	}
	o := command(t, nil, "trigger", "delivered", "--delivery", id, "--data-dir", dir)
	if o.code != term.ExitFailure || !strings.HasPrefix(o.stderr, "error: A simulation starts from booked, and the delivery is cancelled.") ||
		o.stdout != "" {
		t.Errorf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	o = command(t, nil, "trigger", "delivered", "--delivery", "dlv_"+strings.Repeat("0", 32), "--data-dir", dir, "--json")
	var told struct{ Error struct{ Code string } }
	if err := json.Unmarshal([]byte(o.stderr), &told); err != nil || o.code != term.ExitFailure || told.Error.Code != domain.CodeNotFound {
		t.Errorf("exit code %d\n%s", o.code, o.stderr)
	}

	o = command(t, nil, "trigger", "failed_at_pickup", "--data-dir", dir)
	for _, want := range []string{"Delivery   dlv_", "Scenario   failed_at_pickup, running\n", "Step 1     due ", "Z  assigned\n",
		"Z  failed (pickup_unavailable)\n", "Follow it, in a shell after  . " + dir + "/dev.env\n", "/events \\\n"} {
		if o.code != term.ExitOK || !strings.Contains(o.stdout, want) {
			t.Errorf("exit code %d without %q\n%s%s", o.code, want, o.stdout, o.stderr)
		}
	}
	if strings.Contains(o.stdout, vars["WAYBILL_TEST_KEY"]) {
		t.Error("the key shows")
	}
	o = command(t, nil, "trigger", "failed_at_pickup", "--data-dir", dir, "--step-seconds", "1", "--wait")
	if o.code != term.ExitOK || !strings.HasSuffix(o.stdout, "  failed (pickup_unavailable)\n") {
		t.Errorf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	o = command(t, nil, "trigger", "manual", "--data-dir", dir)
	if o.code != term.ExitOK || !strings.Contains(o.stdout, "Move it:\n") || !strings.Contains(o.stdout, `-d '{"status":"assigned"}'`) {
		t.Errorf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

func TestTriggerListsTheScenarios(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"none":             {nil, "waybill trigger takes one scenario: "},
		"two":              {[]string{"delivered", "delayed"}, "waybill trigger takes one scenario: "},
		"a typing error":   {[]string{"cod_refusd"}, `"cod_refusd" is no scenario; did you mean cod_refused? There are `},
		"the beginning":    {[]string{"no_rider"}, `"no_rider" is no scenario; did you mean no_rider_found? There are `},
		"something else":   {[]string{"lost_at_sea"}, `"lost_at_sea" is no scenario. There are `},
		"no ID":            {[]string{"delivered", "--delivery", "x"}, `"x" is no ID of a delivery`},
		"faster than ever": {[]string{"delivered", "--step-seconds", "-1"}, "--step-seconds is -1; it is 1 to 300"},
		"no number":        {[]string{"delivered", "--step-seconds", "soon"}, "invalid argument \"soon\" for \"--step-seconds\" flag\n"},
		"no such flag":     {[]string{"delivered", "--pace", "1"}, "unknown flag: --pace\n"},
	} {
		o := command(t, nil, append([]string{"trigger"}, c.args...)...)
		if o.code != term.ExitUsage || !strings.HasPrefix(o.stderr, "error: "+c.want) {
			t.Errorf("%s: exit code %d\n%s", name, o.code, o.stderr)
		}
		if strings.HasSuffix(c.want, "There are ") || strings.HasSuffix(c.want, ": ") {
			if !strings.Contains(o.stderr, term.Joined(domain.Scenarios())) {
				t.Errorf("%s: the scenarios are not listed\n%s", name, o.stderr)
			}
		}
	}
	help := command(t, nil, "trigger", "--help").stdout
	offered := command(t, nil, "__complete", "trigger", "").stdout
	flag := command(t, nil, "__complete", "demo", "--scenario", "").stdout
	for _, s := range domain.Scenarios() {
		if !strings.Contains(help, "  "+string(s)+" ") || !strings.Contains(offered, string(s)+"\t") || !strings.Contains(flag, string(s)+"\t") {
			t.Errorf("%s is not offered\n%s\n%s\n%s", s, help, offered, flag)
		}
	}
}

func TestTriggerIsNotForALiveServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	o := command(t, []string{"WAYBILL_TEST_KEY=" + vars["WAYBILL_TEST_KEY"]}, "trigger", "delivered", "--url", vars["WAYBILL_LIVE_URL"])
	if o.code != term.ExitFailure || !strings.HasPrefix(o.stderr, "error: This is a sandbox key on the live host.") ||
		!strings.Contains(o.stderr, "set in:   WAYBILL_TEST_KEY\n") {
		t.Errorf("exit code %d\n%s", o.code, o.stderr)
	}
	if code, answer := call(t, http.MethodGet, vars["WAYBILL_LIVE_URL"]+"/deliveries", vars["WAYBILL_LIVE_KEY"], ""); code != http.StatusOK ||
		len(answer["data"].([]any)) != 0 {
		t.Errorf("%d: %v", code, answer)
	}
}
