// Command waybill is the whole product: the API servers, and the commands by which
// operators run them. It composes: adapters.go chooses the technology behind each port,
// wire.go joins them, serve, worker and dev run them. Other commands are in adapters/cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"waybill/adapters/runtime/garbage"
)

func main() {
	garbage.LetGather()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
