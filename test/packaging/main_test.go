package packaging

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waybill/test/program"
)

const (
	root = "../.."
	// builtVersion is what the build is told to name itself.
	builtVersion = "9.8.7-packaging"
)

// binary is the program as the Dockerfile builds it.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "waybill-packaging-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if binary, err = followDockerfile(dir); err != nil {
			fmt.Fprintln(os.Stderr, "follow the steps of configs/Dockerfile:", err)
			return 1
		}
		return m.Run()
	}())
}

// read is a file of configs.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "configs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// isCommand reports why the program does not take these arguments, or "".
func isCommand(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, append(slices.Clone(args), "--help")...)
	cmd.Env, cmd.Dir = program.Environment(), t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("waybill %s: %v: %s", strings.Join(args, " "), err, out)
	}
	// What cobra does not know it shows the help of the level above for.
	if words := commandWords(args); !strings.Contains(string(out), "waybill "+strings.Join(words, " ")) {
		return fmt.Sprintf("waybill %s: its help is that of another command: %s", strings.Join(args, " "), out)
	}
	return ""
}

func commandWords(args []string) []string {
	if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") }); i >= 0 {
		return args[:i]
	}
	return args
}

// accepted reports what the program finds odd about variables, misspelled ones
// included, and the settings as it reads them.
func accepted(t *testing.T, variables map[string]string) (odd []string, settings map[string]string) {
	t.Helper()
	cmd := exec.Command(binary, "config", "--json")
	cmd.Dir = t.TempDir()
	cmd.Env = program.Environment()
	for name, value := range variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return []string{complaints.String()}, nil
	}
	var view struct {
		Settings []struct{ Name, Value, Source string }
		Warnings []string
	}
	if err := json.Unmarshal(out, &view); err != nil {
		t.Fatal(err)
	}
	settings = map[string]string{}
	for _, s := range view.Settings {
		if s.Source != "default" {
			settings[s.Name] = s.Value
		}
	}
	return view.Warnings, settings
}
