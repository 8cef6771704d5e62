package clients

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waybill/test/program"
)

// The collection is played as by a person who clicks from top to bottom: each
// request finds what it needs and is answered as its test says.
func TestTheBrunoCollectionPlaysFromTopToBottom(t *testing.T) {
	t.Parallel()
	modules := filepath.Join(tools(t), "node_modules")
	s := program.Shared(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer receiver.Close()
	told := output(t, "", []string{"WEBHOOK_URL=" + receiver.URL, "BASE_URL=" + s.Vars["WAYBILL_SANDBOX_URL"],
		"API_KEY=" + s.Vars["WAYBILL_TEST_KEY"]},
		"node", filepath.Join("bruno", "play.mjs"), filepath.Join(adapters, "bruno"), "sandbox", modules)
	missing := operations(t)
	for line := range strings.Lines(told) {
		var got struct {
			File, Method, Path, Failed string
			Status, Asserted           int
			Documented                 bool
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if got.Failed != "" || got.Asserted == 0 || !got.Documented {
			t.Errorf("%s: %s", got.File, line)
		}
		for id, op := range missing {
			if op.method == got.Method && op.path == got.Path {
				if !slices.Contains(op.successes, got.Status) && got.Failed == "" {
					t.Errorf("%s: its test lets %d pass, which the description does not", got.File, got.Status)
				}
				delete(missing, id)
			}
		}
	}
	for id := range missing {
		t.Errorf("the collection has no request for %s", id)
	}
}
