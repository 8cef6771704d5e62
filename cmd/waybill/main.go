// Command waybill is the whole product: the API servers, and the commands by
// which operators run them. It composes: adapters.go chooses the technology behind
// each port; wire.go says what is joined to what; serve, worker and dev run it. The
// other commands are in adapters/cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	letGarbageGather()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
