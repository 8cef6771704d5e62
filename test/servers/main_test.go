package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
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

func TestASignalEndsTheCommandWithItsChildrenAndTheServers(t *testing.T) {
	// Not below t.TempDir, which is closed to the user that runs Postgres.
	tmp, err := os.MkdirTemp("", "waybill-servers-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	if err := os.Chmod(tmp, 0o777); err != nil {
		t.Fatal(err)
	}
	pidFile := filepath.Join(tmp, "pid")
	cmd, output := program(t, tmp, "--", "sh", "-c", fmt.Sprintf("sleep 600 & echo $! >%s.part; mv %s.part %s; wait", pidFile, pidFile,
		pidFile))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var grandchild int
	waitFor(t, "the command to run", func() bool {
		pid, err := os.ReadFile(pidFile)
		return err == nil && len(pid) > 0 && scan(pid, &grandchild)
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the code is looked at below
	if got := cmd.ProcessState.ExitCode(); got != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d, want 143; output:\n%s", got, output)
	}
	waitFor(t, "the command's child to end", func() bool { return ended(grandchild) })
	if left, _ := filepath.Glob(filepath.Join(tmp, "waybill-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func scan(text []byte, pid *int) bool {
	_, err := fmt.Sscan(string(text), pid)
	return err == nil
}

// ended reports whether the process is gone, or only waits to be reaped by an
// init that does not hurry.
func ended(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}
