package backend_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"waybill/test/backend"
)

// Tests of crashes show nothing on a server that does not wait for its disk.
func TestPostgresIsDurableAndListensOnLoopbackOnly(t *testing.T) {
	server, err := backend.StartPostgres(t.Context())
	if errors.Is(err, backend.ErrNoPostgres) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	conn, err := pgx.Connect(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for setting, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "listen_addresses": "127.0.0.1",
	} {
		var got string
		if err := conn.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %q", setting, got, err, want)
		}
	}
}

func TestWithoutAServerATestIsSkippedAndFailsInCI(t *testing.T) {
	t.Setenv(backend.PostgresURLEnv, "")
	t.Setenv(backend.RedisURLEnv, "")
	for ci, want := range map[string]string{"": "skipped", "true": "failed"} {
		t.Setenv("CI", ci)
		for name, ask := range map[string]func(testing.TB){
			backend.PostgresURLEnv: func(t testing.TB) { backend.Database(t, nil, "aaaaaaaaaaaa") },
			backend.RedisURLEnv:    func(t testing.TB) { backend.RedisURL(t) },
		} {
			r := &recorder{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				ask(r)
			}()
			<-done
			if r.outcome != want || !strings.Contains(r.message, name) {
				t.Errorf("CI=%q: %s with %q, want %s", ci, r.outcome, r.message, want)
			}
		}
	}
}

// recorder is a test that may fail or skip without the real one doing so. Run the code under
// test in a goroutine: both end it.
type recorder struct {
	testing.TB
	outcome, message string
}

func (r *recorder) Fatal(args ...any) { r.end("failed", fmt.Sprint(args...)) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.end("failed", fmt.Sprintf(format, args...))
}
func (r *recorder) Skip(args ...any) { r.end("skipped", fmt.Sprint(args...)) }

func (r *recorder) end(outcome, message string) {
	r.outcome, r.message = outcome, message
	runtime.Goexit()
}
