package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestEachServerGetsItsShareOfTheCreatesOfEachApplication(t *testing.T) {
	t.Parallel()
	const servers = 4
	var mu sync.Mutex
	got := map[string]int{}
	l := paceLoad{of: []application{{key: "one"}, {key: "two"}}, duration: time.Second}
	var numbers atomic.Int64
	l.number = func() int { return int(numbers.Add(1)) }
	for range servers {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			mu.Lock()
			got[r.Host+" "+r.Header.Get("Authorization")]++
			mu.Unlock()
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{}`)
		}))
		t.Cleanup(s.Close)
		l.addresses = append(l.addresses, strings.TrimPrefix(s.URL, "http://"))
	}
	m, err := l.openLoop(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != servers*len(l.of) {
		t.Errorf("creates came as %v", got)
	}
	for who, n := range got {
		if share := m.operations / len(got); n < share/2 || n > 2*share {
			t.Errorf("%s had %d of %d creates", who, n, m.operations)
		}
	}
}

func TestTheMostProcessesAreComparedWithOneOfTheSameRoundAndPace(t *testing.T) {
	t.Parallel()
	trials := fleetTrials([]int{200, 600})
	for _, tr := range trials {
		for round := range 2 {
			took := time.Duration(tr.pace*(tr.serves+10*tr.workers+tr.bare*tr.bare)+round) * time.Microsecond
			tr.figures = append(tr.figures, paceFigure{measurement: measurement{operations: 1}, spent: spent{serve: took}})
		}
	}
	goals := slices.DeleteFunc(growths(trials), func(g goal) bool { return g.atMost < 0 })
	if len(goals) != 6 {
		t.Fatalf("%d goals", len(goals))
	}
	for i, want := range []float64{18.0 / 11, 18.0 / 11 / 64, 18.0 / 11, 18.0 / 11 / 64, 41.0 / 11, 41.0 / 11 / 16} {
		if g := goals[i]; g.value() < want-0.01 || g.value() > want+0.01 || g.missed() != (want > 1.1) || len(g.values) != 2 {
			t.Errorf("%s is %v, want %.2f", g.name, g.values, want)
		}
	}
}
