package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/domain"
)

// bookLive books live deliveries, whose dispatch is the company's.
func (s *server) bookLive(t *testing.T, many int) (booked []struct{ ID, Reference string }) {
	t.Helper()
	for range many {
		order := `{"recipient":{"phone_number":"024 412 3456","address":{"address":"7 Independence Avenue","latitude":5.6037,` +
			`"longitude":-0.187}},"pickup":{"name":"Depot","contact":"030 212 3456","address":"12 Oxford Street","latitude":5.5571,` +
			`"longitude":-0.1818},"payment":{"type":"delivery_only"},"vehicle_type":"bike"}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Vars["WAYBILL_LIVE_URL"]+"/deliveries", strings.NewReader(order))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+s.Vars["WAYBILL_LIVE_KEY"])
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano()))
		var answer struct {
			Data struct{ ID, Reference string }
		}
		if status := s.read(t, req, &answer); status != http.StatusCreated {
			t.Fatalf("the create answers %d", status)
		}
		booked = append(booked, answer.Data)
	}
	return booked
}

func (s *server) read(t *testing.T, req *http.Request, into any) (status int) {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

// moves are the statuses that a delivery had, as operators see them.
func (s *server) moves(t *testing.T, id string) (statuses []string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Vars["WAYBILL_OPS_URL"]+"/ops/v1/deliveries/"+id, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Vars["WAYBILL_OPS_TOKEN"])
	var answer struct {
		Data struct {
			Timeline []struct{ Status string }
		}
	}
	if status := s.read(t, req, &answer); status != http.StatusOK {
		t.Fatalf("%s: %d", id, status)
	}
	for _, e := range answer.Data.Timeline {
		statuses = append(statuses, e.Status)
	}
	return statuses
}

// unkind stands before the operations API. It swallows the first answer to a move,
// breaks off the second, and says once that a cursor has expired.
type unkind struct {
	*httputil.ReverseProxy
	mu    sync.Mutex
	keys  []string // of the moves, in the order in which they came
	gone  bool
	reads int
}

func (u *unkind) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.Method == http.MethodGet {
		if u.reads++; !u.gone && r.URL.Query().Get("cursor") != "" {
			u.gone = true
			w.WriteHeader(http.StatusGone)
			_, _ = io.WriteString(w, `{"error":{"code":"`+domain.CodeCursorExpired+`"}}`)
			return
		}
		u.ReverseProxy.ServeHTTP(w, r)
		return
	}
	u.keys = append(u.keys, r.Header.Get("Idempotency-Key"))
	answer := httptest.NewRecorder()
	u.ReverseProxy.ServeHTTP(answer, r)
	switch len(u.keys) {
	case 1:
		panic(http.ErrAbortHandler) // it was done, and the caller does not learn it
	case 2:
		w.Header().Set("Content-Length", fmt.Sprint(answer.Body.Len()))
		_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(answer.Code)
	_, _ = io.Copy(w, answer.Body)
}

// TestTheProgramOfADispatchAssignsEachDeliveryOnce takes it from the page, loses its
// answers and its cursor, and ends it between its request and the answer.
func TestTheProgramOfADispatchAssignsEachDeliveryOnce(t *testing.T) {
	needs(t, "python3")
	s := serve(t)
	kept, err := os.ReadFile(filepath.Join("..", "..", "adapters", "docsite", "samples", "dispatch.py"))
	if err != nil {
		t.Fatal(err)
	}
	program := strings.TrimSpace(string(kept))
	if page := fetch(t, s.Vars["WAYBILL_OPS_URL"]+"/docs/dispatch.md"); !strings.Contains(page, "\n"+program+"\n```") {
		t.Fatalf("the page does not show the program: %s", page)
	}
	booked := s.bookLive(t, 3)
	ops, err := url.Parse(s.Vars["WAYBILL_OPS_URL"])
	if err != nil {
		t.Fatal(err)
	}
	front := &unkind{ReverseProxy: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(ops) }}}
	between := httptest.NewServer(front)
	t.Cleanup(between.Close)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "dispatch.py"), program)
	start := func(told *bytes.Buffer) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "python3", "dispatch.py", "--once")
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, told, told
		cmd.Env = append(os.Environ(), "WAYBILL_OPS_URL="+between.URL, "WAYBILL_OPS_TOKEN="+s.Vars["WAYBILL_OPS_TOKEN"])
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	var first, second bytes.Buffer
	killed := start(&first)
	for deadline := time.Now().Add(patience); ; <-time.After(10 * time.Millisecond) {
		front.mu.Lock()
		sent := len(front.keys)
		front.mu.Unlock()
		if sent > 0 {
			break
		}
		if time.Now().After(deadline) {
			_ = killed.Process.Kill()
			_ = killed.Wait()
			t.Fatalf("after %v it has moved nothing: %s", patience, first.String())
		}
	}
	_ = killed.Process.Kill() // it waits for a second before it sends again
	_ = killed.Wait()
	if err := start(&second).Wait(); err != nil {
		t.Fatalf("%v: %s%s", err, first.String(), second.String())
	}
	front.mu.Lock()
	defer front.mu.Unlock()
	if len(front.keys) < 3 || front.keys[0] != front.keys[1] || front.keys[0] != front.keys[2] || !front.gone {
		t.Errorf("its keys were %q after an answer that was lost and one that broke off; the cursor expired: %t", front.keys, front.gone)
	}
	for _, d := range booked {
		if had := s.moves(t, d.ID); !slices.Equal(had, []string{"booked", "assigned"}) {
			t.Errorf("%s was %v", d.ID, had)
		}
		if strings.Count(second.String(), d.ID+" "+string(domain.MoveAdvanced)) != 1 {
			t.Errorf("it does not tell once of %s: %s", d.ID, second.String())
		}
	}
}
