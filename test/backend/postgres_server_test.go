package backend_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waybill/test/backend"

	"github.com/jackc/pgx/v5"
)

func start(t *testing.T) *backend.Postgres {
	t.Helper()
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
	return server
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func TestWhatWasCommittedSurvivesAKillAndARestartOnTheSameURL(t *testing.T) {
	server := start(t)
	before := connect(t, server.URL)
	if _, err := before.Exec(t.Context(), "CREATE TABLE parcel AS SELECT 7 AS id"); err != nil {
		t.Fatal(err)
	}

	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := before.Ping(t.Context()); err == nil {
		t.Error("a connection outlived the kill")
	}
	if conn, err := pgx.Connect(t.Context(), server.URL); err == nil {
		conn.Close(t.Context())
		t.Error("a killed server accepts connections")
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}

	var id int
	if err := connect(t, server.URL).QueryRow(t.Context(), "SELECT id FROM parcel").Scan(&id); err != nil || id != 7 {
		t.Errorf("after the restart: %d, %v, want the committed 7", id, err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Errorf("restart of a running server: %v", err)
	}
}

func TestStopEndsTheServerAndRemovesItsData(t *testing.T) {
	server := start(t)
	open := connect(t, server.URL) // must not hold the stop up
	for range 2 {
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(server.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stat %s: %v, want it gone", server.Dir, err)
	}
	if err := open.Ping(t.Context()); err == nil {
		t.Error("a connection outlived the server")
	}
	if err := server.Restart(t.Context()); err == nil {
		t.Error("restarted a stopped server, whose data is gone")
	}
}

func TestTheServerIsDurableAndListensOnLoopbackOnly(t *testing.T) {
	server := start(t)
	conn := connect(t, server.URL)
	for setting, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
		"listen_addresses": "127.0.0.1", "server_encoding": "UTF8", "max_connections": "400",
	} {
		var got string
		if err := conn.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %q", setting, got, err, want)
		}
	}
}

func TestARestartOnATakenPortSaysSoAndWorksOnceItIsFree(t *testing.T) {
	server := start(t)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	taker, err := net.Listen("tcp", strings.Split(strings.Split(server.URL, "@")[1], "/")[0])
	if err != nil {
		t.Fatal(err)
	}
	err = server.Restart(t.Context())
	if err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("restart on a taken port: %v, want the log that says so", err)
	}
	taker.Close()
	if err := server.Restart(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestBinariesAreFoundOutsidePATHAndTooOldOnesNamed(t *testing.T) {
	dir := t.TempDir()
	for name, script := range map[string]string{"postgres": "#!/bin/sh\necho 'postgres (PostgreSQL) 9.6.24'\n", "initdb": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	found, err := backend.FindPostgres(t.Context())
	switch {
	case err == nil && found.Major < backend.PostgresMinMajor:
		t.Errorf("chose version %d in %s", found.Major, found.Dir)
	case err != nil && (!errors.Is(err, backend.ErrNoPostgres) || !strings.Contains(err.Error(), dir+": version 9")):
		t.Errorf("%v, want ErrNotInstalled that names %s and its version", err, dir)
	}
}
