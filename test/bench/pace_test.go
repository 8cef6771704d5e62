package main

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestCreatesBeginAtMomentsOfChanceAndAtThePaceAskedFor(t *testing.T) {
	t.Parallel()
	all := moments(200, 50*time.Second, rand.New(rand.NewPCG(1, 2)))
	if n := len(all); n < 9500 || n > 10500 { // five times the deviation
		t.Errorf("%d moments in 50 s at 200 a second", n)
	}
	if !slices.IsSorted(all) || all[0] != 0 || all[len(all)-1] >= 50*time.Second {
		t.Errorf("from %v to %v", all[0], all[len(all)-1])
	}
	close := 0
	for i := range all[1:] {
		if all[i+1]-all[i] < 500*time.Microsecond { // a tenth of the average
			close++
		}
	}
	if close < 700 || close > 1200 { // 951 of 10,000, by e^-x
		t.Errorf("%d of %d are close to the one before", close, len(all))
	}
}

func TestALatencyIsCountedFromTheMomentAtWhichACreateWasToBegin(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	hold := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if served.Add(1) <= paceConnections {
			<-hold // all connections are busy
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(s.Close)
	numbers := 0
	numbered := make(chan int)
	go func() {
		for {
			numbers++
			select {
			case numbered <- numbers:
			case <-t.Context().Done():
				return
			}
		}
	}()
	const held = time.Second
	time.AfterFunc(held, func() { close(hold) })
	l := paceLoad{addresses: []string{strings.TrimPrefix(s.URL, "http://")}, of: []application{{key: "k"}}, duration: 250 * time.Millisecond,
		number: func() int { return <-numbered }}
	m, err := l.openLoop(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if m.operations <= paceConnections {
		t.Fatalf("%d creates are no more than connections", m.operations)
	}
	// Those behind the held ones were answered at once, but not when they were due.
	if fastest := m.quantile(0); fastest < 100*time.Millisecond {
		t.Errorf("the fastest took %v: it was not counted from its moment", fastest)
	}
}
