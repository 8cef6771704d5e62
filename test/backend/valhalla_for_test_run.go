package backend

import (
	"errors"
	"os"
	"strconv"
	"testing"
)

// ValhallaForTest starts an engine that ends with the test. Without one on this machine
// the test is skipped; with CI=true it fails.
func ValhallaForTest(t testing.TB) *Valhalla {
	t.Helper()
	s, err := StartValhalla(t.Context())
	if err != nil {
		ci, _ := strconv.ParseBool(os.Getenv("CI")) // anything unreadable is not CI
		if errors.Is(err, ErrNoValhalla) && !ci {
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
