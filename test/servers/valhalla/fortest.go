package valhalla

import (
	"errors"
	"os"
	"strconv"
	"testing"
)

// ForTest starts an engine that ends with the test. Without one on this machine
// the test is skipped; with CI=true it fails.
func ForTest(t testing.TB) *Server {
	t.Helper()
	s, err := Start(t.Context())
	if err != nil {
		ci, _ := strconv.ParseBool(os.Getenv("CI")) // anything unreadable is not CI
		if errors.Is(err, ErrNotInstalled) && !ci {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}
