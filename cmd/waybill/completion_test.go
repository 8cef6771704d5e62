package main

import (
	"strings"
	"testing"

	"waybill/adapters/cli/term"
)

func TestEveryShellGetsAScript(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if o := command(t, nil, "completion", shell); o.code != term.ExitOK || o.stderr != "" || strings.Count(o.stdout, "\n") < 100 {
			t.Errorf("%s: exit code %d, %d bytes\n%s", shell, o.code, len(o.stdout), o.stderr)
		}
	}
	for args, want := range map[string]string{"completion": "needs one of: bash, fish, powershell, zsh",
		"completion tcsh": `has no command "tcsh"`, "completion bash x": "takes no arguments",
		"help kye": `waybill has no command "kye"; did you mean key?`, "help key nothing": `waybill key has no command "nothing"`} {
		if o := command(t, nil, strings.Fields(args)...); o.code != term.ExitUsage || !strings.Contains(o.stderr, want) {
			t.Errorf("%s: exit code %d\n%s", args, o.code, o.stderr)
		}
	}
	if o := command(t, nil, "--help"); !strings.Contains(o.stdout, "completion ") || !strings.Contains(o.stdout, "doctor ") ||
		!strings.Contains(o.stdout, "healthcheck ") {
		t.Errorf("the help does not show them\n%s", o.stdout)
	}
}

func TestTheScriptsAskTheProgramForWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{"do": "doctor", "completion b": "bash", "healthcheck --u": "--url", "help key cr": "create",
		"serve --routing-": "--routing-url"} {
		if o := command(t, nil, append([]string{"__complete"}, strings.Fields(line)...)...); o.code != term.ExitOK ||
			!strings.Contains(o.stdout, want) {
			t.Errorf("%s: exit code %d\n%s", line, o.code, o.stdout)
		}
	}
}
