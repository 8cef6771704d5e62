package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asMainEnv turns the test binary into the program itself.
const asMainEnv = "WAYBILL_TEST_SERVERS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMainEnv) != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// program prepares a run with temporary files in tmp. The variables that name
// servers stay: under `make test` this run shares the outer one's.
func program(t *testing.T, tmp string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asMainEnv+"=1", "TMPDIR="+tmp)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	return cmd, &output
}

func TestTheCommandsExitCodeIsPassedOn(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -KILL $$": 137} {
		cmd, output := program(t, t.TempDir(), "--", "sh", "-c", script)
		_ = cmd.Run() // the code is looked at below
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: exit code %d, want %d; output:\n%s", script, got, want, output)
		}
	}
}

func TestANamedServerThatDoesNotAnswerIsAnErrorWithoutItsPassword(t *testing.T) {
	for _, named := range []string{
		postgresEnv + "=postgres://someone:hunter2@127.0.0.1:1/x",
		redisEnv + "=redis://:hunter2@127.0.0.1:1/0",
		redisEnv + "=redis://:hunter2/@127.0.0.1/0",
	} {
		cmd, output := program(t, t.TempDir(), "--", "echo", "the command ran")
		cmd.Env = append(cmd.Env, named)
		if err := cmd.Run(); err == nil {
			t.Errorf("%s: exit code 0", named)
		}
		for _, unwanted := range []string{"the command ran", "hunter2"} {
			if strings.Contains(output.String(), unwanted) {
				t.Errorf("%s: the output has %q:\n%s", named, unwanted, output)
			}
		}
	}
}
