package backend_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"

	"waybill/test/backend"
)

// way asks for the way from PlaceA to a place and returns the status and the answer.
func way(t *testing.T, s *backend.Valhalla, question string) (int, string) {
	t.Helper()
	res, err := http.Post(s.URL+"/route", "application/json", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(answer)
}

func TestTheEngineAnswersAsItsDocumentationSays(t *testing.T) {
	t.Parallel()
	s := backend.ValhallaForTest(t)
	if backend.PlaceA.Latitude != 5.6 || backend.PlaceA.Longitude != -0.2 {
		t.Fatalf("A is at %v", backend.PlaceA)
	}
	const toMainRoad = `{"locations":[{"lat":5.6,"lon":-0.2},{"lat":5.6,"lon":-0.19}],"costing":"auto","units":"kilometers"}`
	if status, answer := way(t, s, toMainRoad); status != http.StatusOK || !strings.Contains(answer, `"units":"kilometers"`) {
		t.Errorf("%d, %.300s", status, answer)
	}
	for question, want := range map[string]string{
		`{`: `"error_code":100`,
		`{"locations":[{"lat":500,"lon":0}],"costing":"auto"}`:                      `"error_code":130`,
		strings.Replace(toMainRoad, "auto", "rocket", 1):                            `"error_code":125`,
		strings.Replace(toMainRoad, "-0.19", "0.5", 1):                              `"error_code":171`,
		strings.Replace(toMainRoad, `"lon":-0.19`, `"lon":`+"-0.01", 1):             `"error_code":442`, // the island
		strings.Replace(toMainRoad, `"lat":5.6,"lon":-0.19`, `"lat":50,"lon":0`, 1): `"error_code":154`,
	} {
		if status, answer := way(t, s, question); status != http.StatusBadRequest || !strings.Contains(answer, want) {
			t.Errorf("%s: %d, %s, want 400 and %s", question, status, answer, want)
		}
	}
}

func TestAnEngineIsKilledAndRestartedOnItsPortAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := backend.ValhallaForTest(t)
	url := s.URL
	s.Kill()
	if res, err := http.Get(url + "/status"); err == nil {
		res.Body.Close()
		t.Error("it answers after it was killed")
	}
	if err := s.Restart(t.Context()); err != nil || s.URL != url {
		t.Fatal(s.URL, err)
	}
	for range 2 {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", s.Dir, err)
	}
	if err := s.Restart(t.Context()); err == nil {
		t.Error("a stopped engine was restarted")
	}
}
