package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestTheReceiverTellsWhatCameAndWhatCameAgain(t *testing.T) {
	t.Parallel()
	var r mailroom
	var urls []string
	for inbox := range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go r.accept(l, inbox)
		urls = append(urls, "http://"+l.Addr().String()+"/hooks")
	}
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	post := func(url, event string, order int) {
		body := fmt.Sprintf(`{"id":"x","timestamp":"2026-03-14T09:26:53.589Z","data":{"delivery":{"external_id":"order-%07d"}}}`, order)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("webhook-id", event)
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusNoContent {
			t.Errorf("it answers %d", res.StatusCode)
		}
	}
	post(urls[0], "evt_1", 41)
	post(urls[1], "evt_1", 41)
	post(urls[0], "evt_2", 1234567)
	post(urls[0], "evt_1", 41)

	if a := r.told(false); a.Count != 3 || a.Again != 1 || a.First != nil {
		t.Errorf("counted %+v", a)
	}
	a := r.told(true)
	if a.Count != 3 || len(a.First) != 3 || a.Bytes == 0 {
		t.Fatalf("taken %+v", a)
	}
	want := time.Date(2026, 3, 14, 9, 26, 53, 589_000_000, time.UTC)
	if f := a.First[2]; f.Order != 1234567 || !f.Happened.Equal(want) || time.Since(f.Came) > time.Minute {
		t.Errorf("the last is %+v", f)
	}
	if a := r.told(true); a.Count != 0 || a.Again != 0 {
		t.Errorf("taken again %+v", a)
	}
}

func TestFiguresOfAnOutcome(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	o := outcome{expected: 3, begun: begun, answered: map[int]time.Time{1: begun, 2: begun.Add(10 * time.Millisecond)}}
	for i := 1; i <= 2; i++ {
		o.First = append(o.First, arrival{Order: i, Happened: begun, Came: begun.Add(time.Duration(i) * 20 * time.Millisecond)})
	}
	o.Count, o.spent = 2, spent{worker: 100 * time.Microsecond, receiver: time.Second}
	for name, got := range map[string][2]float64{
		"lost":           {missing(o), 1},
		"last":           {last(o), 0.04},
		"per CPU-second": {throughput[1].of(o), 20000},
		"p95 from event": {latency(20)[1].of(o), 40},
		"p95 answered":   {latency(20)[4].of(o), 30},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %v, want %v", name, got[0], got[1])
		}
	}
	f := figure{atLeast: 4000, atMost: -1}
	if f.judged(3999) != ">= 4000, missed" || f.judged(4000) != ">= 4000" || (figure{atMost: 0}).judged(1) != "<= 0, missed" ||
		(figure{atMost: -1}).judged(9) != "" {
		t.Error("an aim is judged wrongly")
	}
}
