package toystore_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// root is that of the module, from here.
const root = "../../.."

// readme is what it says of swapping an adapter, and edits are just that: the file,
// what stands there, and what comes behind it.
var readme = []string{
	"with the methods of `ports.Database`", "`storage.Examine(t, open)`", "`storages` in `cmd/waybill/adapters.go`", "`configs/checks.go`",
}

var edits = []struct{ file, behind, add string }{
	{"cmd/waybill/adapters.go", `"waybill/ports"`, "\n\t" + `"waybill/test/conformance/toystore"`},
	{"cmd/waybill/adapters.go", `"sqlite": onGORM`, `, "toy": {open: openToy}`},
	{"cmd/waybill/adapters.go", "return storages[scheme]\n}", `

func openToy(_ context.Context, c *configs.Config, _ *slog.Logger) (ports.Database, error) {
	return toystore.Open(c.DatabaseURL.Reveal()), nil
}`},
	{"configs/checks.go", `"postgresql://", "sqlite://"`, `, "toy://"`},
}

// A newcomer has the README alone: its steps, and nothing else, make a program
// that starts on the new store and books on it.
func TestAStoreThatIsPutInByTheREADMEStartsAndBooks(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	text := strings.Join(strings.Fields(read(t, "README.md")), " ")
	for _, said := range readme {
		if !strings.Contains(text, said) {
			t.Errorf("the README does not say %q any more; keep this test to what it says", said)
		}
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "waybill")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay(t, dir), "-o", program, "./cmd/waybill")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	dev := exec.CommandContext(t.Context(), program, "dev", "--data-dir", filepath.Join(dir, "data"),
		"--live-addr", "127.0.0.1:0", "--sandbox-addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0")
	dev.Env = append(os.Environ(), "WAYBILL_DATABASE_URL=toy://box")
	var said bytes.Buffer
	dev.Stdout, dev.Stderr = &said, &said
	if err := dev.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- dev.Wait() }()
	vars := await(t, filepath.Join(dir, "data", "dev.env"), ended, &said)

	const order = `{"external_id": "order-1", "vehicle_type": "bike", "payment": {"type": "delivery_only"}, "pickup_location_id": "$PICKUP",
		"recipient": {"name": "Ama Mensah", "phone_number": "024 412 3456",
			"address": {"address": "7 Independence Avenue, Accra", "latitude": 5.6037, "longitude": -0.1870}}}`
	post := func() (status int, body []byte) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, vars["WAYBILL_SANDBOX_URL"]+"/deliveries",
			strings.NewReader(strings.Replace(order, "$PICKUP", vars["WAYBILL_PICKUP_ID"], 1)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+vars["WAYBILL_TEST_KEY"])
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", "the-first-on-a-toy")
		return answer(t, request)
	}
	status, booked := post()
	if status != http.StatusCreated {
		t.Fatalf("booked: %d\n%s", status, booked)
	}
	if status, replayed := post(); status != http.StatusCreated || !bytes.Equal(replayed, booked) {
		t.Errorf("sent again: %d\n%s\nwant the bytes of before:\n%s", status, replayed, booked)
	}
	var view struct {
		Data struct{ ID, Status string }
	}
	if err := json.Unmarshal(booked, &view); err != nil || view.Data.Status != "booked" {
		t.Fatalf("it answers %s (%v)", booked, err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, vars["WAYBILL_SANDBOX_URL"]+"/deliveries/"+view.Data.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+vars["WAYBILL_TEST_KEY"])
	if status, got := answer(t, request); status != http.StatusOK || !strings.Contains(string(got), view.Data.ID) {
		t.Errorf("read: %d\n%s", status, got)
	}
	if err := dev.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v\n%s", err, said.String())
		}
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file)) //nolint:gosec // of this module
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// overlay makes the edits without touching a file of the module.
func overlay(t *testing.T, dir string) (file string) {
	t.Helper()
	edited, replace := map[string]string{}, map[string]string{}
	for _, e := range edits {
		text := edited[e.file]
		if text == "" {
			text = read(t, e.file)
		}
		if strings.Count(text, e.behind) != 1 {
			t.Fatalf("%s has %q not once; mend the edit", e.file, e.behind)
		}
		edited[e.file] = strings.Replace(text, e.behind, e.behind+e.add, 1)
	}
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range edited {
		to := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(absolute, name)] = to
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// await returns what dev writes down once it serves.
func await(t *testing.T, file string, ended <-chan error, said *bytes.Buffer) map[string]string {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for ; time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v\n%s", err, said.String())
		default:
		}
		text, err := os.ReadFile(file) //nolint:gosec // of this test
		if err != nil {
			continue
		}
		vars := map[string]string{}
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "export ")), "="); ok {
				vars[name] = strings.Trim(value, `'"`)
			}
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, vars["WAYBILL_SANDBOX_URL"]+"/openapi.json", nil)
		if err != nil {
			continue
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
			return vars
		}
	}
	t.Fatal("it does not start within a minute")
	return nil
}

func answer(t *testing.T, request *http.Request) (status int, body []byte) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}
