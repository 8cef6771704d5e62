package main

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/web/server"
	"waybill/configs"
)

func TestConnectionsLeaveFilesForWhatAProcessAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ most, files, live, sandbox, ops int }{
		{8192, 1 << 20, 8192, 4096, 512},
		{8192, 65536, 8192, 4096, 512},
		{8192, 1024, 409, 204, 25},
		{8192, 256, 102, 51, 16},
		{64, 1 << 20, 64, 32, 16},
	} {
		live, sandbox, ops := server.Bounds(c.most, c.files)
		if live != c.live || sandbox != c.sandbox || ops != c.ops {
			t.Errorf("%d of %d files: %d, %d, %d; want %d, %d, %d", c.most, c.files, live, sandbox, ops, c.live, c.sandbox, c.ops)
		}
		if live+sandbox+ops > c.files*3/4 {
			t.Errorf("%d of %d files are for connections", live+sandbox+ops, c.files)
		}
	}
}

// A load balancer sends a request on an idle connection as long as it keeps it itself: the server
// has to keep it for longer.
func TestIdleConnectionsOfCustomersAreKeptForAsLongAsTheSettingSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  []string
		want time.Duration
	}{{nil, 75 * time.Second}, {[]string{"WAYBILL_HTTP_IDLE_TIMEOUT=620s"}, 620 * time.Second}} {
		settings, err := configs.Load(configs.Sources{Environ: c.set})
		if err != nil {
			t.Fatal(err)
		}
		bounds := newConnectionBounds(settings, prometheus.NewRegistry())
		for _, o := range []server.Options{bounds.live, bounds.sandbox, bounds.portal} {
			if got := server.New(&http.Server{}, o).IdleTimeout; got != c.want {
				t.Errorf("%v: the listener %s keeps idle connections for %v, want %v", c.set, o.Name, got, c.want)
			}
		}
		operations := &http.Server{IdleTimeout: time.Minute}
		if got := server.New(operations, bounds.ops).IdleTimeout; got != time.Minute {
			t.Errorf("operations: %v, want its own", got)
		}
	}
}

func TestAFloodOfTheSandboxStopsNeitherLiveNorOperations(t *testing.T) {
	t.Parallel()
	const most, flood = 64, 300
	r, v := startServe(t, append(served(t), "WAYBILL_MAX_CONNECTIONS=64"))
	sandbox, err := url.Parse(v.Sandbox)
	if err != nil {
		t.Fatal(err)
	}
	for range flood {
		c, err := net.DialTimeout("tcp", sandbox.Host, patience)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	// Each with a connection of its own: none may be left over from before.
	fresh := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	for range most / 4 {
		for _, address := range []string{v.Live + "/openapi.json", v.Ops + "/readyz"} {
			res, err := fresh.Get(address)
			if err != nil {
				t.Fatalf("while the sandbox is flooded: %v", err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			if _ = res.Body.Close(); res.StatusCode != http.StatusOK {
				t.Fatalf("%s answers %d while the sandbox is flooded", address, res.StatusCode)
			}
		}
	}
	res, err := fresh.Get(v.Ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	// How many depends on how long the flood took: after 5 s places are free again.
	for listener, refused := range map[string]bool{"sandbox": true, "live": false} {
		none := `waybill_connections_refused_total{listener="` + listener + `"} 0`
		if slices.Contains(strings.Split(string(metrics), "\n"), none) == refused {
			t.Errorf("connections of %s were refused: %t, want %t", listener, !refused, refused)
		}
	}
	r.terminate(t)
}

// The flood is over within the five seconds that a connection gets for its first
// request, without any action of an operator.
func TestLongTheSandboxIsBackAfterAFlood(t *testing.T) {
	t.Parallel()
	r, v := startServe(t, append(served(t), "WAYBILL_MAX_CONNECTIONS=64"))
	sandbox, err := url.Parse(v.Sandbox)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		c, err := net.DialTimeout("tcp", sandbox.Host, patience)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	eventually(t, "the sandbox answers again", func() bool { return status(v.Sandbox+"/openapi.json") == http.StatusOK })
	r.terminate(t)
}
