package integrator

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/term"
	"waybill/domain"
)

// playSeconds is the pace of what people watch. The API's own pace is slower.
const playSeconds = 2

// addPaceFlag adds the flag for the pace of a scenario.
func addPaceFlag(cmd *cobra.Command, seconds *int) {
	cmd.Flags().IntVar(seconds, "step-seconds", playSeconds, "seconds from one step to the next, 1 to "+strconv.Itoa(domain.MaxStepSeconds))
}

// parsePlan reads a scenario and its pace from the command line.
func parsePlan(cmd *cobra.Command, scenario string, seconds int) (domain.Plan, error) {
	known := false
	for _, s := range domain.Scenarios() {
		known = known || string(s) == scenario
	}
	if !known {
		hint := ""
		if near := nearScenarios(scenario); len(near) > 0 {
			hint = "; did you mean " + strings.Join(near, " or ") + "?"
		}
		return domain.Plan{}, term.Usagef(cmd, "%q is no scenario%s There are %s", scenario, ending(hint), term.Joined(domain.Scenarios()))
	}
	if seconds < 1 || seconds > domain.MaxStepSeconds {
		return domain.Plan{}, term.Usagef(cmd, "--step-seconds is %d; it is 1 to %d", seconds, domain.MaxStepSeconds)
	}
	return domain.Plan{Scenario: domain.Scenario(scenario), StepSeconds: seconds}, nil
}

func ending(hint string) string {
	if hint == "" {
		return "."
	}
	return hint
}

// nearScenarios returns scenarios with a similar name. Cobra measures the distance between
// names of commands, so the scenarios are commands here.
func nearScenarios(typed string) []string {
	names := &cobra.Command{SuggestionsMinimumDistance: 2} // letters of a typing mistake
	for _, s := range domain.Scenarios() {
		names.AddCommand(&cobra.Command{Use: string(s), Run: func(*cobra.Command, []string) {}})
	}
	return names.SuggestionsFor(typed)
}

// completeScenarios offers a shell the scenarios, each with its steps.
func completeScenarios(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offered []cobra.Completion
	for _, s := range domain.Scenarios() {
		offered = append(offered, cobra.CompletionWithDesc(string(s), course(s)))
	}
	return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// scenarioList returns a line for every scenario with its steps.
func scenarioList() string {
	var list strings.Builder
	for _, s := range domain.Scenarios() {
		fmt.Fprintf(&list, "\n  %-26s %s", s, course(s))
	}
	return list.String()
}

// course describes the steps of a scenario in words.
func course(s domain.Scenario) string {
	var words []string
	for _, step := range s.Steps() {
		word := string(step.To)
		if step.Reason != "" {
			word += " (" + string(step.Reason) + ")"
		}
		if step.Wait > 1 {
			word = "a wait of " + strconv.Itoa(step.Wait) + " steps, " + word
		}
		words = append(words, word)
	}
	if len(words) == 0 {
		return "stays booked until it is moved by hand"
	}
	return strings.Join(words, ", ")
}
