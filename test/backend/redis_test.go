package backend_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"waybill/test/backend"
)

func TestWithoutAServerATestIsSkippedAndFailsInCI(t *testing.T) {
	t.Setenv(backend.RedisURLEnv, "")
	for _, c := range []struct{ ci, want string }{{"", "skipped"}, {"true", "failed"}} {
		t.Setenv("CI", c.ci)
		r := &recorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			backend.RedisURL(r)
		}()
		<-done
		if r.outcome != c.want || !strings.Contains(r.message, backend.RedisURLEnv) {
			t.Errorf("CI=%q: %s with %q, want %s", c.ci, r.outcome, r.message, c.want)
		}
	}
}

// recorder is a test that may fail or skip without the real one doing so.
type recorder struct {
	testing.TB
	outcome, message string
}

func (r *recorder) Fatal(args ...any) { r.end("failed", args) }
func (r *recorder) Skip(args ...any)  { r.end("skipped", args) }

func (r *recorder) end(outcome string, args []any) {
	r.outcome, r.message = outcome, fmt.Sprint(args...)
	runtime.Goexit()
}
