package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waybill/test/program"
)

// sampleLanguages are those of the quickstart, by the extension of its files.
var sampleLanguages = []struct {
	name, extension, program string
	args                     []string // before the file
}{
	{"curl", ".sh", "bash", []string{"-e"}},
	{"php", ".php", "php", nil},
	{"python", ".py", "python3", nil},
	{"node", ".mjs", "node", nil},
	{"go", ".go", "go", []string{"run"}},
}

// sampleSteps are those of the quickstart, in its order.
var sampleSteps = []string{"api_key", "quote", "book", "follow"}

// sampleText returns a program as the quickstart shows it.
func (s *server) sampleText(t *testing.T, step, extension string) string {
	t.Helper()
	file := step + extension
	if extension == ".go" {
		file += ".txt"
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "adapters", "docsite", "samples", file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "http://127.0.0.1:8081/v1", s.Vars["WAYBILL_SANDBOX_URL"])
}

// runSample saves a program, with another external_id where one is given, and runs it.
func (s *server) runSample(t *testing.T, language int, step, order, key string) (out, problems string, err error) {
	t.Helper()
	l := sampleLanguages[language]
	needs(t, l.program)
	text := s.sampleText(t, step, l.extension)
	if order != "" {
		text = strings.ReplaceAll(text, "first-order", order)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, step+l.extension), text)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.program, append(l.args[:len(l.args):len(l.args)], step+l.extension)...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append(os.Environ(), "GOFLAGS=", "WAYBILL_API_KEY="+key)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// sampleAnswer is what samples print, as far as the tests look at it.
type sampleAnswer struct {
	Success bool
	Data    struct {
		ID, Status, Currency, Environment string
		ExternalID                        string `json:"external_id"`
		Fee                               float64
		Application                       struct{ ID string }
	}
}

// TestTheQuickstartRunsInEveryLanguage does its steps in order, with an order of its own for each
// language.
func TestTheQuickstartRunsInEveryLanguage(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.Vars["WAYBILL_TEST_KEY"]
	for i, l := range sampleLanguages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			order := "order-in-" + l.name
			run := func(step string) string {
				t.Helper()
				out, problems, err := s.runSample(t, i, step, order, key)
				if err != nil || l.name != "curl" && problems != "" {
					t.Fatalf("%s: %v\n%s%s", step, err, problems, out)
				}
				return out
			}
			read := func(step string) (answer sampleAnswer) {
				t.Helper()
				out := run(step)
				if err := json.Unmarshal([]byte(out), &answer); err != nil || !answer.Success {
					t.Fatalf("%s printed %q: %v", step, out, err)
				}
				if l.name != "curl" && (!strings.Contains(out, "\n  ") || !strings.HasSuffix(out, "}\n")) {
					t.Errorf("%s does not indent what it prints: %q", step, out)
				}
				return answer
			}
			if a := read("api_key"); a.Data.Environment != "sandbox" || a.Data.Application.ID != s.Vars["WAYBILL_APP_ID"] {
				t.Errorf("api_key printed %+v", a)
			}
			if a := read("quote"); a.Data.Currency != "GHS" || a.Data.Fee <= 0 {
				t.Errorf("quote printed %+v", a)
			}
			booked := read("book")
			if booked.Data.Status != "booked" || booked.Data.ExternalID != order {
				t.Errorf("book printed %+v", booked)
			}
			if again := read("book"); again != booked {
				t.Errorf("book printed %+v, and again %+v", booked, again)
			}
			timeline := run("follow")
			// curl asks once; the programs wait for the end.
			for deadline := time.Now().Add(patience); l.name == "curl" && !strings.Contains(timeline, "delivery.delivered") &&
				time.Now().Before(deadline); timeline = run("follow") {
				time.Sleep(time.Second)
			}
			at := 0
			for _, want := range []string{"created", "assigned", "picked_up", "in_transit", "delivered"} {
				next := strings.Index(timeline[at:], "delivery."+want)
				if next < 0 {
					t.Fatalf("the timeline lacks delivery.%s: %s", want, timeline)
				}
				at += next
			}
			if l.name != "curl" && !strings.Contains(timeline, "delivered\n1 delivery.created 20") {
				t.Errorf("follow does not print status and timeline: %s", timeline)
			}
		})
	}
}

// TestTheQuickstartBooksTheSameInEveryLanguage relies on the Idempotency-Key that all share: it
// replays the response only to the same request.
func TestTheQuickstartBooksTheSameInEveryLanguage(t *testing.T) {
	s := serve(t)
	var first string
	for i, l := range sampleLanguages {
		t.Run(l.name, func(t *testing.T) {
			out, problems, err := s.runSample(t, i, "book", "", s.Vars["WAYBILL_TEST_KEY"])
			var answer sampleAnswer
			if err == nil {
				err = json.Unmarshal([]byte(out), &answer)
			}
			if err != nil || answer.Data.ID == "" {
				t.Fatalf("%v\n%s%s", err, problems, out)
			}
			if first == "" {
				first = answer.Data.ID
			}
			if answer.Data.ID != first {
				t.Errorf("it books %s, and another language %s", answer.Data.ID, first)
			}
		})
	}
}

func TestTheQuickstartPrintsTheCodeOfAnError(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for i, l := range sampleLanguages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for _, step := range sampleSteps {
				out, problems, err := s.runSample(t, i, step, "", "svc_test_key_wrong")
				if l.name == "curl" {
					if !strings.Contains(out, `"INVALID_API_KEY"`) {
						t.Errorf("%s printed %s%s", step, problems, out)
					}
					continue
				}
				var exit *exec.ExitError
				if !errors.As(err, &exit) || !strings.Contains(problems, "INVALID_API_KEY: ") || out != "" {
					t.Errorf("%s: %v, printed %q and %q", step, err, problems, out)
				}
			}
		})
	}
}

// TestTheQuickstartSaysInOneLineWhatIsMissing runs the programs without a key, and without a server.
func TestTheQuickstartSaysInOneLineWhatIsMissing(t *testing.T) {
	t.Parallel()
	nobody := &server{Process: &program.Process{Vars: map[string]string{"WAYBILL_SANDBOX_URL": "http://" + freeAddress(t) + "/v1"}}}
	for i, l := range sampleLanguages[1:] {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for _, step := range sampleSteps {
				for key, want := range map[string]string{"": "Set WAYBILL_API_KEY first.", "svc_test_key_any": "refused"} {
					out, problems, err := nobody.runSample(t, i+1, step, "", key)
					problems = strings.TrimSuffix(problems, "exit status 1\n") // of `go run`
					if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 || out != "" ||
						strings.Count(problems, "\n") != 1 || !strings.Contains(strings.ToLower(problems), strings.ToLower(want)) {
						t.Errorf("%s: %v, printed %q and %q, want one line with %q", step, err, out, problems, want)
					}
				}
			}
		})
	}
}

// TestTheQuickstartShowsTheSamples looks for each as it is run above.
func TestTheQuickstartShowsTheSamples(t *testing.T) {
	s := serve(t)
	page := s.page(t, "/quickstart.md")
	at := 0
	for _, step := range sampleSteps {
		for _, l := range sampleLanguages {
			next := strings.Index(page[at:], strings.TrimSpace(s.sampleText(t, step, l.extension)))
			if next < 0 {
				t.Errorf("the page does not show %s%s, or not in this order", step, l.extension)
				continue
			}
			at += next
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
