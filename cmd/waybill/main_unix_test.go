//go:build unix

package main

import (
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// A closed terminal, or a rotation of logs, sends SIGHUP: it ends a process as SIGTERM does, and
// does so however often it comes. Not caught, it would end this test.
func TestAHangupEndsTheProcessAsSIGTERMDoes(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("this test was started with SIGHUP ignored, as by nohup")
	}
	ctx := untilSignal(t.Context())
	for range 2 {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(patience):
			t.Fatal("the process goes on after SIGHUP")
		}
	}
}
