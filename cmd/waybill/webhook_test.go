package main

import (
	"strings"
	"testing"
)

func TestTheListOfEndpointsTellsHowWhatIsHeldIsSent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	list := []string{"webhook", "list", "--app", vars["WAYBILL_APP_ID"], "--env", "sandbox", "--data-dir", dir}
	if o := command(t, nil, list...); o.code != exitOK || o.stderr != "" {
		t.Errorf("without an endpoint: exit code %d\n%s", o.code, o.stderr)
	}
	if code, answer := call(t, "POST", vars["WAYBILL_SANDBOX_URL"]+"/webhook-endpoints", vars["WAYBILL_TEST_KEY"],
		`{"url":"http://127.0.0.1:9/hooks","enabled":false}`); code != 201 {
		t.Fatal(answer)
	}
	o := command(t, nil, list...)
	for _, want := range []string{"--status held", `/recover {"since": `, `"only": "held"}`} {
		if o.code != exitOK || !strings.Contains(o.stderr, want) || !strings.Contains(o.stdout, "disabled") {
			t.Errorf("exit code %d, no %s\n%s%s", o.code, want, o.stdout, o.stderr)
		}
	}
	if endpoints := inDir[[]object](t, dir, list[:6]...); len(endpoints) != 1 { // says nothing on stderr
		t.Errorf("endpoints %v", endpoints)
	}
}
