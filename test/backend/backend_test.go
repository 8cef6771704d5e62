package backend_test

import (
	"errors"
	"os"
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
