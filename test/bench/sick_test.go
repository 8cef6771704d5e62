package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestEachAilmentIsWhatItsNameSays(t *testing.T) {
	t.Parallel()
	var r mailroom
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go r.accept(l, 0)
	beside, err := listenBeside()
	if err != nil {
		t.Fatal(err)
	}
	timeout := func(err error) bool { var e net.Error; return errors.As(err, &e) && e.Timeout() }
	status := func(want int) func(*http.Response, error) bool {
		return func(res *http.Response, err error) bool { return err == nil && res.StatusCode == want }
	}
	late := func(_ *http.Response, err error) bool { return timeout(err) }
	refused := func(of error) func(*http.Response, error) bool {
		return func(_ *http.Response, err error) bool { return errors.Is(err, of) }
	}
	failed := func(_ *http.Response, err error) bool { return err != nil && !timeout(err) }
	endless := func(res *http.Response, err error) bool {
		if err != nil {
			return false
		}
		n, err := io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20))
		return n == 1<<20 || timeout(err)
	}
	want := map[string]func(*http.Response, error) bool{
		"hang": late, "reset": refused(syscall.ECONNRESET), "fails": status(500), "drips": late, "body-drips": endless, "redirects": status(302),
		"huge-head": failed, "huge-body": endless, "garbage": failed, "slow": late, "TLS refused": failed, "TLS hangs": late,
		"no connection": late, "no such host": failed, "refused": refused(syscall.ECONNREFUSED),
	}
	for _, a := range ailments {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url(l.Addr().String(), beside), strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			client := &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			}}
			defer client.CloseIdleConnections()
			res, err := client.Do(req)
			if res != nil {
				defer res.Body.Close()
			}
			var unwrapped *url.Error
			if a.name == "no such host" && errors.As(err, &unwrapped) {
				return // however long the resolver of this machine takes to say so
			}
			if check := want[a.name]; check == nil || !check(res, err) {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
	if len(ailments) != len(want) {
		t.Errorf("%d ailments are tested, there are %d", len(want), len(ailments))
	}
}

func TestTheP95OfAWindowIsOfTheEventsWithinIt(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	o := outcome{begun: begun}
	for i := range 20 { // one each 100 ms, late by as many milliseconds as its number
		at := begun.Add(time.Duration(i) * 100 * time.Millisecond)
		o.First = append(o.First, arrival{Order: i, Happened: at, Came: at.Add(time.Duration(i) * time.Millisecond)})
	}
	if first, second := (window{0, time.Second}).p95(o), (window{time.Second, 2 * time.Second}).p95(o); first > 9 || first < 8 ||
		second > 19 || second < 18 {
		t.Errorf("%v ms in the first second, %v in the second", first, second)
	}
}
