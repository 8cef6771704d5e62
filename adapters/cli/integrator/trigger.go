package integrator

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

func (p *Commands) trigger() *cobra.Command {
	var (
		a       access
		on      string
		seconds int
		wait    bool
	)
	cmd := &cobra.Command{
		Use: "trigger SCENARIO", Short: "Let a scenario move a sandbox delivery, a new one or one that is booked",
		Long: "Let a scenario move a sandbox delivery: a new one, or with --delivery one that is booked.\n\nScenarios:" + scenarioList(),
		Example: `  waybill trigger delivered
  waybill trigger failed_at_dropoff --step-seconds 1 --wait
  waybill trigger stalled --delivery dlv_0198f3a27c4e7b1d9a6e5c2f10d3b847`,
		ValidArgsFunction: completeScenarios,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return term.Usagef(cmd, "%s takes one scenario: %s", cmd.CommandPath(), term.Joined(domain.Scenarios()))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := parsePlan(cmd, args[0], seconds)
			if err != nil {
				return err
			}
			if on != "" {
				if _, err := term.ParseID(cmd, "a delivery", domain.PrefixDelivery, on); err != nil {
					return err
				}
			}
			c, err := p.sandbox(cmd, a)
			if err != nil {
				return err
			}
			return p.startScenario(cmd.Context(), c, on, plan, wait)
		},
	}
	cmd.Flags().StringVar(&on, "delivery", "", "ID of a booked sandbox delivery; without it a new one is booked")
	cmd.Flags().BoolVar(&wait, "wait", false, "follow the delivery until the scenario has ended")
	addPaceFlag(cmd, &seconds)
	a.addFlags(cmd)
	return cmd
}

// stepView is a step that will happen.
type stepView struct {
	Step   int    `json:"step"`
	Status string `json:"status"`
	Reason string `json:"reason_code,omitempty"`
	DueAt  string `json:"due_at"` // if none before it is late
}

// triggerView is a scenario that was started.
type triggerView struct {
	Delivery json.RawMessage   `json:"delivery"`
	Steps    []stepView        `json:"steps"`
	Events   []json.RawMessage `json:"events,omitempty"` // with --wait
}

// startScenario books a delivery unless one is named, starts the scenario on it, and reports
// what will happen when.
func (p *Commands) startScenario(ctx context.Context, c *apiClient, on string, plan domain.Plan, wait bool) error {
	call := post("/test-helpers/deliveries/"+on+"/simulation", "trigger-"+settings.RandomHex()[:12], newSandboxRequest(plan))
	if on == "" {
		order := demoOrder(0)
		order.Sandbox = newSandboxRequest(plan)
		call = post("/deliveries", call.IdempotencyKey, order)
	}
	d, answer, err := ask[waybillapi.Delivery](ctx, c, call)
	if err != nil {
		return interrupted(ctx, err, "the scenario may have been started or not")
	}
	v := triggerView{Delivery: answer.Data, Steps: stepsOf(d, plan)}
	if !p.AsJSON {
		if err := p.Show(nil, func(w io.Writer) { printSteps(w, d, v.Steps) }); err != nil {
			return err
		}
	}
	if !wait {
		p.sayHowToFollow(c, d)
	} else {
		f, err := p.followAloud(ctx, c, "Its timeline:", d.ID, p.sayEvent)
		if err != nil {
			return err
		}
		v.Delivery, v.Events = f.raw, f.events
	}
	if p.AsJSON {
		return p.Show(v, nil)
	}
	return nil
}

// stepsOf returns what a scenario that has just begun will do.
func stepsOf(d waybillapi.Delivery, plan domain.Plan) []stepView {
	steps := []stepView{}
	at, running := nextStep(&d)
	if !running {
		return steps
	}
	for i, s := range plan.Scenario.Steps() {
		if i > 0 { // the server gives the time of the first one
			at = at.Add(time.Duration(s.Wait*plan.StepSeconds) * time.Second)
		}
		steps = append(steps, stepView{Step: i + 1, Status: string(s.To), Reason: string(s.Reason), DueAt: domain.FormatTime(at)})
	}
	return steps
}

func printSteps(w io.Writer, d waybillapi.Delivery, steps []stepView) {
	term.Row(w, "Delivery", d.ID)
	term.Row(w, "Reference", d.Reference)
	term.Row(w, "Status", string(d.Status))
	term.Row(w, "Scenario", string(d.Simulation.Scenario)+", "+string(d.Simulation.Status))
	for _, s := range steps {
		what := s.Status
		if s.Reason != "" {
			what += " (" + s.Reason + ")"
		}
		term.Row(w, "Step "+strconv.Itoa(s.Step), "due "+term.ClockTime(s.DueAt)+"  "+what)
	}
}

func (p *Commands) sayHowToFollow(c *apiClient, d waybillapi.Delivery) {
	title := "Follow it:"
	if c.preparation != "" {
		title = "Follow it, in a shell after  " + c.preparation
	}
	p.Say("", title, "", indented(c.curl(get("/deliveries/"+d.ID+"/events"))))
	if d.Simulation.Status == waybillapi.SimulationStatusIdle {
		move := post("/test-helpers/deliveries/"+d.ID+"/transition", "",
			waybillapi.TransitionRequest{Status: waybillapi.TransitionTargetAssigned})
		p.Say("", "Move it:", "", indented(c.curl(move)))
	}
}
