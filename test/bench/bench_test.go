package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestEveryCreateIsAnotherOneAndAReplayIsTheSame(t *testing.T) {
	t.Parallel()
	type request struct {
		key, externalID, phone, bearer string
	}
	seen := make(chan request, 1000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			ExternalID string `json:"external_id"`
			Recipient  struct {
				Phone string `json:"phone_number"`
			}
		}
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if err != nil {
			t.Errorf("the request cannot be read: %v\n%s", err, text)
		}
		key := r.Header.Get("Idempotency-Key")
		select {
		case seen <- request{key, body.ExternalID, body.Recipient.Phone, r.Header.Get("Authorization")}:
		default:
		}
		if key == "bench-order-0000007" {
			w.Header()["Idempotent-Replayed"] = []string{"true"}
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"success":true}`)
	}))
	t.Cleanup(s.Close)

	l := &load{address: strings.TrimPrefix(s.URL, "http://"), keys: []string{"one", "two"}, connections: 2, recipients: 3}
	if err := l.connect(t.Context(), createRequest); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{7, 1234567} {
		for i, c := range l.conns {
			a, err := c.create(n, n%l.recipients)
			if err != nil || a.status != http.StatusCreated || a.replayed != (n == 7) || string(a.body) != `{"success":true}` {
				t.Errorf("create %d: %+v, %v", n, a, err)
			}
			want := request{"bench-order-0000007", "order-0000007", "+233240000001", "Bearer one"}
			if n != 7 {
				want = request{"bench-order-1234567", "order-1234567", "+233240000001", "Bearer one"}
			}
			if i == 1 {
				want.bearer = "Bearer two"
			}
			if got := <-seen; got != want {
				t.Errorf("the server got %+v, want %+v", got, want)
			}
		}
	}

	l.disconnect()

	m, err := l.send(t.Context(), 50*time.Millisecond, false, func(int) int { return 7 })
	if err != nil {
		t.Fatal(err)
	}
	if m.operations == 0 || m.unexpected != m.operations || m.example == "" {
		t.Errorf("%d operations, %d of them not what they should be (%s); want all", m.operations, m.unexpected, m.example)
	}
}

func TestMediansAndQuantiles(t *testing.T) {
	t.Parallel()
	if got := median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("median %v, want 5", got)
	}
	if got := median([]float64{4, 1, 2, 9}); got != 3 {
		t.Errorf("median %v, want 3", got)
	}
	m := measurement{}
	for i := range 100 {
		m.latencies = append(m.latencies, time.Duration(i))
	}
	if m.quantile(0.5) != 50 || m.quantile(0.99) != 99 || (measurement{}).quantile(0.5) != 0 {
		t.Errorf("quantiles %v and %v", m.quantile(0.5), m.quantile(0.99))
	}
}

func TestBothScriptsBookWithTheSameStatements(t *testing.T) {
	t.Parallel()
	tables := func(script string) (found []string) {
		for line := range strings.SplitSeq(script, "\n") {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "INSERT INTO "); ok {
				found = append(found, rest)
			}
		}
		return found
	}
	_, function, _ := strings.Cut(seedSQL, "CREATE FUNCTION")
	byFunction, byStatement := tables(function), tables(statementsSQL)
	if strings.Join(byFunction, "\n") != strings.Join(byStatement, "\n") || inserts() != len(byStatement) {
		t.Errorf("the function inserts\n%q\nthe statements\n%q", byFunction, byStatement)
	}
}

func TestWhatWasNotMeasuredHasNoRatio(t *testing.T) {
	t.Parallel()
	if r := ratios(nil, &subject{rounds: []measurement{{perSecond: 1}}}); len(r) != 0 {
		t.Errorf("ratios %v, want none", r)
	}
}
