package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"waybill/adapters/cli/integrator"
	"waybill/adapters/cli/term"
	"waybill/domain"
)

func TestTailPrintsThePayloadsOfTheFeed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	before := inDir[triggered](t, dir, "trigger", "manual").Delivery.ID

	all := start(t, nil, "tail", "events", "--since", "1h", "--json", "--data-dir", dir)
	fresh := start(t, nil, "tail", "events", "--data-dir", dir, "--type", "delivery.failed")
	of := start(t, nil, "tail", "events", "--data-dir", dir, "--delivery", before, "--since", "1d")
	eventually(t, "what was before is told", func() bool { return all.stdout.String() != "" && of.stdout.String() != "" })
	eventually(t, "it tails", func() bool { return strings.HasPrefix(fresh.stderr.String(), "Tailing events from ") })
	v := inDir[triggered](t, dir, "trigger", "failed_at_pickup", "--step-seconds", "1", "--wait")
	eventually(t, "all is told", func() bool {
		return strings.Count(all.stdout.String(), "\n") == 4 && strings.Count(fresh.stdout.String(), "\n") == 1
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, vars["WAYBILL_SANDBOX_URL"]+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+vars["WAYBILL_TEST_KEY"])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var page struct{ Data []json.RawMessage } // to the byte
	if err := json.NewDecoder(res.Body).Decode(&page); err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, e := range page.Data {
		want += string(e) + "\n"
	}
	if all.stdout.String() != want {
		t.Errorf("%s\nwant\n%s", all.stdout.String(), want)
	}
	if line := fresh.stdout.String(); !strings.HasSuffix(line, "  delivery.failed       "+v.Delivery.ID+"   3  pickup_unavailable\n") {
		t.Errorf("%q", line)
	}
	if line := of.stdout.String(); !strings.HasSuffix(line, "  delivery.created      "+before+"   1\n") || strings.Count(line, "\n") != 1 {
		t.Errorf("%q", line)
	}
	for _, r := range []*running{all, fresh, of} {
		if r.terminate(t); strings.Count(r.stderr.String(), "\n") != 1 {
			t.Errorf("%s", r.stderr.String())
		}
	}
}

func TestTailPrintsEachAttemptOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	var calls atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer receiver.Close()
	register := func(address string) string {
		code, answer := call(t, http.MethodPost, vars["WAYBILL_SANDBOX_URL"]+"/webhook-endpoints", vars["WAYBILL_TEST_KEY"],
			`{"url":"`+address+`"}`)
		if code != http.StatusCreated {
			t.Fatalf("%d: %v", code, answer)
		}
		return answer["data"].(object)["id"].(string)
	}
	r := start(t, nil, "tail", "attempts", "--data-dir", dir)
	eventually(t, "it looks", func() bool { return strings.Contains(r.stderr.String(), "There is no webhook endpoint yet") })
	endpoint := register(receiver.URL)
	only := start(t, nil, "tail", "attempts", "--data-dir", dir, "--endpoint", endpoint, "--json")
	eventually(t, "it tails", func() bool { return strings.Contains(only.stderr.String(), "Tailing attempts; ") })
	delivery := inDir[triggered](t, dir, "trigger", "manual").Delivery.ID
	eventually(t, "both attempts are told", func() bool {
		return strings.Count(r.stdout.String(), "\n") == 2 && strings.Count(only.stdout.String(), "\n") == 2
	})
	lines := strings.Split(r.stdout.String(), "\n")
	if want := "  delivery.created           " + delivery + "  " + endpoint + "  503 Service Unavailable, "; !strings.Contains(lines[0],
		want) || !strings.Contains(lines[0], ", attempt 1, next at ") {
		t.Errorf("%s, want %s", lines[0], want)
	}
	if !strings.Contains(lines[1], "  200 OK, ") || !strings.HasSuffix(lines[1], ", attempt 2") {
		t.Errorf("%s", lines[1])
	}
	var second integrator.AttemptRecord
	if err := json.Unmarshal([]byte(strings.Split(only.stdout.String(), "\n")[1]), &second); err != nil || second.EndpointID != endpoint ||
		second.DeliveryID != delivery || !strings.Contains(string(second.Attempt), `"attempt":2`) {
		t.Errorf("%v, %+v", err, second)
	}
	only.terminate(t)
	r.terminate(t)
	if strings.Count(r.stdout.String(), "\n") != 2 {
		t.Errorf("%s", r.stdout.String())
	}
}

func TestTailTellsWhatItTakes(t *testing.T) {
	t.Parallel()
	live := domain.MakeAPIKey(domain.Live, [32]byte{})
	for name, c := range map[string]struct {
		environ, args []string
		code          int
		want          string
	}{
		"nothing": {nil, nil, term.ExitUsage, "error: waybill tail needs one of: attempts, events\n"},
		"no such type": {nil, []string{"events", "--type", "delivery.booked"}, term.ExitUsage,
			`error: "delivery.booked" is no type in the feed. There are delivery.created, `},
		"no delivery": {nil, []string{"events", "--delivery", "x"}, term.ExitUsage, `error: "x" is no ID of a delivery`},
		"no time": {nil, []string{"events", "--since", "yesterday"}, term.ExitUsage,
			`error: --since is "yesterday"; it is a number and a unit, such as 90s, 2h or 30d`},
		"too long ago": {nil, []string{"events", "--since", "31d"}, term.ExitUsage,
			`error: --since is "31d"; events are kept for 30 days: --since 30d is the longest`},
		"no endpoint": {nil, []string{"attempts", "--endpoint", "x"}, term.ExitUsage, `error: "x" is no ID of a webhook endpoint`},
		"a live key": {[]string{integrator.TestKeyEnv + "=" + live}, []string{"events", "--url", "http://127.0.0.1:1/v1"}, term.ExitFailure,
			"error: that is a live key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if o := command(t, c.environ, append([]string{"tail"}, c.args...)...); o.code != c.code || !strings.HasPrefix(o.stderr, c.want) {
				t.Errorf("exit code %d\n%s", o.code, o.stderr)
			}
		})
	}
}
