package traces

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/test/program"
)

var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "waybill-traces-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if binary, err = program.Build(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// server is a running `waybill dev`.
type server struct {
	*program.Process
	t *testing.T
}

func start(t *testing.T, variables ...string) *server {
	t.Helper()
	dir := t.TempDir()
	p, err := program.Start(binary, dir, slices.Concat(program.FreePorts, variables), "dev", "--data-dir", dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if err := p.Await(); err != nil {
		t.Fatal(err)
	}
	return &server{p, t}
}

// stop ends the server as an operator would.
func (s *server) stop() {
	s.t.Helper()
	if err := s.Stop(); err != nil {
		s.t.Error(err)
	}
}

// post calls the sandbox and returns the data of a 201.
func (s *server) post(path, requestID string, body map[string]any, headers ...string) map[string]any {
	s.t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, s.Vars["WAYBILL_SANDBOX_URL"]+path, bytes.NewReader(encoded))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Vars["WAYBILL_TEST_KEY"])
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "key-of-"+requestID)
	req.Header.Set("X-Request-ID", requestID)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		Data map[string]any `json:"data"`
	}
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusCreated || json.Unmarshal(text, &answer) != nil {
		s.t.Fatalf("POST %s: %d %v %s", path, res.StatusCode, err, text)
	}
	return answer.Data
}

func (s *server) order(externalID string) map[string]any {
	return map[string]any{
		"external_id": externalID, "pickup_location_id": s.Vars["WAYBILL_PICKUP_ID"], "vehicle_type": "bike",
		"recipient": map[string]any{
			"name": "Ama Mensah-Traced", "phone_number": "024 412 3456",
			"address": map[string]any{"address": "7 Independence Avenue, Accra", "latitude": 5.6037, "longitude": -0.1870},
		},
		"payment": map[string]any{"type": "delivery_only"},
	}
}

func (s *server) eventually(what string, done func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(program.Patience); !done(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("after %s: not so that %s\n%s", program.Patience, what, s.Tail())
		}
	}
}
