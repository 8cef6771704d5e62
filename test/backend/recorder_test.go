package backend_test

import (
	"fmt"
	"runtime"
	"testing"
)

// failureRecorder is a test that may fail or skip without the real one doing
// so. Run the code under test in a goroutine: both end it.
type failureRecorder struct {
	testing.TB
	outcome, message string
}

func (r *failureRecorder) Fatal(args ...any) { r.end("failed", fmt.Sprint(args...)) }
func (r *failureRecorder) Fatalf(format string, args ...any) {
	r.end("failed", fmt.Sprintf(format, args...))
}
func (r *failureRecorder) Skip(args ...any) { r.end("skipped", fmt.Sprint(args...)) }

func (r *failureRecorder) end(outcome, message string) {
	r.outcome, r.message = outcome, message
	runtime.Goexit()
}
