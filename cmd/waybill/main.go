// Command waybill is the whole product: the API servers, and the commands with which operators run
// them. adapters.go chooses the technology behind each port, wire.go joins them, and serve, worker
// and dev run them. Other commands are in adapters/cli.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// gcPercent lets the heap, some 10 MB for an idle process, grow to five times the memory in
// use. Go's default of 100 spends more processor time on collections than small requests take.
// GOMEMLIMIT, which the units and the compose file set, limits the memory.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	// The program logs with slog. Only net/http writes here, and it writes the text of a stranger:
	// unexpected bytes from a receiver of webhooks.
	log.SetOutput(io.Discard)
	os.Exit(run(untilSignal(context.Background()), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// untilSignal returns a context that ends with the first SIGTERM, Ctrl+C or SIGHUP. The second
// SIGTERM or Ctrl+C ends the process at once. A second SIGHUP does nothing: closing a terminal may
// send several.
func untilSignal(ctx context.Context) context.Context {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if signal.Ignored(syscall.SIGHUP) { // started by nohup
		return ctx
	}
	ctx, _ = signal.NotifyContext(ctx, syscall.SIGHUP) // caught until the process ends
	return ctx
}
