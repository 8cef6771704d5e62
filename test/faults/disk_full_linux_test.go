package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waybill/adapters/storage/gormstore"
)

func TestAFullDiskOfPostgresCostsNoOrderAndStopsNoReads(t *testing.T) {
	database := ownPostgres(t)
	t.Parallel()
	dir := filepath.Join(database.Dir, "small")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	disk := smallDisk(t, dir, 64)
	root := openDatabase(t, database.URL)
	perform(t, root, "CREATE TABLESPACE small LOCATION '"+disk+"'")
	perform(t, root, "CREATE DATABASE shop TABLESPACE small")
	t.Cleanup(func() {
		_, _ = root.ExecContext(context.Background(), "DROP DATABASE shop WITH (FORCE)") // its files are on the disk
	})
	url := strings.Replace(database.URL, "/postgres?", "/shop?", 1)
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	shop := serve(t, url, 1)
	shop.may = append(shop.may, away)
	shop.admit(t.Context())
	const some = 30
	until(t, "orders are booked", goneWithin, func() bool { return shop.booked() >= some })

	ballast := fill(t, disk)
	until(t, "the server is not ready", backWithin, func() bool { return shop.operators(t, "/readyz") == http.StatusServiceUnavailable })
	shop.says(t, "the disk of the database was full")
	if status := shop.operators(t, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz answers %d; starting the process anew would not help", status)
	}
	if r, err := shop.list(t.Context()); err != nil || r.status != http.StatusOK {
		t.Errorf("a list is answered %s (error %v) on a full disk", r, err)
	}
	refused := shop.sender.count(away)
	until(t, "more creates are refused", backWithin, func() bool {
		if status := shop.operators(t, "/readyz"); status != http.StatusServiceUnavailable {
			t.Errorf("/readyz answers %d while creates are refused", status)
		}
		return t.Failed() || shop.sender.count(away) >= refused+3*some
	})

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	booked := shop.booked()
	until(t, "orders are booked again", backWithin, func() bool { return shop.booked() >= booked+some })
	until(t, "the server is ready", backWithin, func() bool { return shop.operators(t, "/readyz") == http.StatusOK })
	shop.settle(t, "Postgres on a disk that was full", openDatabase(t, url), Postgres)
}

// smallDisk makes a directory a file system of its own, of so many MiB and with the
// same owner, which only root can do.
func smallDisk(t *testing.T, dir string, size int) string {
	t.Helper()
	owner, err := os.Stat(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	uid := owner.Sys().(*syscall.Stat_t).Uid
	options := fmt.Sprintf("size=%dm,mode=0700,uid=%d", size, uid)
	switch err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, options); {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		t.Skip("no file system may be mounted here: ", err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Lazily: a server that is just ending may still hold a file.
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves no room on the disk but what the returned file takes.
func fill(t *testing.T, disk string) (ballast string) {
	t.Helper()
	file, err := os.Create(filepath.Join(disk, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 64<<10); len(block) > 0; {
		switch _, err := file.Write(block); {
		case errors.Is(err, syscall.ENOSPC):
			block = block[:len(block)/2]
		case err != nil:
			t.Fatal(err)
		}
	}
	return file.Name()
}

func perform(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
