package main

import (
	"net/http"
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
