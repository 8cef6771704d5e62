package faults

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
)

// fullWithin is how long a create may take to fail on a full disk: waiting for
// room is for the caller to do.
const fullWithin = 2 * time.Second

func TestAFullDiskCostsNoOrderAndStopsNoReads(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server; left out in short mode")
	}
	disk := smallDisk(t)
	url := "sqlite://" + filepath.Join(disk, "waybill.db")
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	shop := serve(t, url, 1)
	shop.may = append(shop.may, away)
	post := func(j *job) reply {
		t.Helper()
		r, err := shop.sender.post(t.Context(), j, shop.sender.targets[0])
		if err != nil {
			t.Fatal(err)
		}
		if shop.sender.judge(j, r); r.status != http.StatusCreated && r.String() != away {
			t.Fatalf("a create was answered %s", r)
		}
		return r
	}

	_, jobs := demand{singles: 300, shared: 50}.jobs()
	shop.remember(jobs...)
	ballast := fill(t, disk)
	next, refused := 0, 0
	for ; next < 100 && refused < 3; next++ { // what is written already has room for some
		if post(jobs[next]).status != http.StatusCreated {
			refused++
		}
	}
	if refused < 3 {
		t.Fatalf("%d creates found room on a full disk", next)
	}
	if slowest := shop.watch.slowest(); slowest > fullWithin {
		t.Errorf("a create took %s to fail, want at most %s", slowest, fullWithin)
	}
	if r, err := shop.list(t.Context()); err != nil || r.status != http.StatusOK {
		t.Errorf("a list is answered %s (error %v) on a full disk", r, err)
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs { // those that were refused too, under the same keys
		if r := post(j); r.status != http.StatusCreated {
			t.Errorf("with room again: %s", r)
		}
	}
	shop.settle(t, "SQLite on a disk that was full", openDatabase(t, url), SQLite)
}

// smallDisk is a file system of its own, which only root can make.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	switch err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "size=24m,mode=0700"); {
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
