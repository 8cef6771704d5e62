//go:build unix

package main

import (
	"syscall"
	"testing"

	"waybill/adapters/web/server"
)

// Go does it before main runs; the shares of the listeners are of what it made.
func TestThisProcessMayOpenAllTheFilesItIsAllowedTo(t *testing.T) {
	t.Parallel()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur < limit.Max {
		t.Errorf("the limit of open files is %d of %d", limit.Cur, limit.Max)
	}
	if files := server.OpenFiles(); files <= 0 || uint64(files) > limit.Max && files != 1<<31-1 {
		t.Errorf("%d files of %d", files, limit.Max)
	}
}
