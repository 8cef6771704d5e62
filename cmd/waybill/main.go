// Command waybill is the whole product: the API servers, and the commands by which
// operators run them. It composes: adapters.go chooses the technology behind each port,
// wire.go joins them, serve, worker and dev run them. Other commands are in adapters/cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// gcPercent lets the heap, some 10 MB for an idle process, grow to five times what is in
// use. Go's default of 100 spends more processor time on collections than small requests
// take. GOMEMLIMIT, which the units and the compose file set, bounds the memory.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
