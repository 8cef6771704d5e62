package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/cli/admin"
	"waybill/test/backend"
)

// sandboxPost calls the sandbox API of a server.
func sandboxPost(t *testing.T, v admin.ServingView, key, path, body string) (data map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.Sandbox+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "fanout-news-"+path)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct{ Data map[string]any }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode >= 300 {
		t.Fatalf("%s: %d, %v", path, response.StatusCode, err)
	}
	return answer.Data
}

// What one server commits, a listener that waits at another hears of by way of Redis,
// and not when it looks by itself, which would be most of a second later.
func TestAListenerAtOneServerHearsAtOnceWhatAnotherCommits(t *testing.T) {
	t.Parallel()
	environ := append(served(t), "WAYBILL_REDIS_URL="+backend.OwnRedis(t).URL)
	here, hereV := startServe(t, environ)
	there, thereV := startServe(t, environ)
	key := sandboxKey(t, environ)
	listener := sandboxPost(t, hereV, key, "/webhook-listeners", `{"event_types": ["delivery.created"]}`)["id"].(string)
	results := "[]"
	var late []time.Duration
	for len(late) < 5 {
		fetched := make(chan map[string]any, 1)
		go func() {
			fetched <- sandboxPost(t, hereV, key, "/webhook-listeners/"+listener+"/fetch", `{"wait_seconds": 20, "results": `+results+`}`)
		}()
		book(t, thereV, key, "no_rider_found", 300)
		got := (<-fetched)["webhooks"].([]any)
		if len(got) != 1 {
			t.Fatalf("fetched %v", got)
		}
		webhook := got[0].(map[string]any)
		var event struct {
			OccurredAt time.Time `json:"timestamp"`
		}
		if err := json.Unmarshal([]byte(webhook["body"].(string)), &event); err != nil || event.OccurredAt.IsZero() {
			t.Fatalf("%v: no time in %s", err, webhook["body"])
		}
		late = append(late, time.Since(event.OccurredAt))
		results = `[{"webhook_delivery_id": "` + webhook["webhook_delivery_id"].(string) + `", "status_code": 200, "duration_ms": 1}]`
	}
	t.Logf("from the event at one server to the answer at the other: %v", late)
	slices.Sort(late)
	if late[2] > 500*time.Millisecond {
		t.Errorf("it took %v in the middle", late[2])
	}
	here.terminate(t)
	there.terminate(t)
}
