package main

import (
	"strings"
	"testing"

	"waybill/adapters/cli/term"
)

func TestTheListOfEndpointsTellsHowWhatIsHeldIsSent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	list := []string{"webhook", "list", "--app", vars["WAYBILL_APP_ID"], "--env", "sandbox", "--data-dir", dir}
	if o := command(t, nil, list...); o.code != term.ExitOK || o.stderr != "" {
		t.Errorf("without an endpoint: exit code %d\n%s", o.code, o.stderr)
	}
	if code, answer := call(t, "POST", vars["WAYBILL_SANDBOX_URL"]+"/webhook-endpoints", vars["WAYBILL_TEST_KEY"],
		`{"url":"http://127.0.0.1:9/hooks","enabled":false}`); code != 201 {
		t.Fatal(answer)
	}
	o := command(t, nil, list...)
	for _, want := range []string{"--status held", `/recover {"since": `, `"only": "held"}`} {
		if o.code != term.ExitOK || !strings.Contains(o.stderr, want) || !strings.Contains(o.stdout, "disabled") {
			t.Errorf("exit code %d, no %s\n%s%s", o.code, want, o.stdout, o.stderr)
		}
	}
	if endpoints := inDir[[]object](t, dir, list[:6]...); len(endpoints) != 1 { // says nothing on stderr
		t.Errorf("endpoints %v", endpoints)
	}
}

func TestAnAttemptWithoutAnAnswerHasNoStatus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	_, made := call(t, "POST", vars["WAYBILL_SANDBOX_URL"]+"/webhook-endpoints", vars["WAYBILL_TEST_KEY"],
		`{"url":"http://127.0.0.1:1/hooks"}`)
	inDir[triggered](t, dir, "trigger", "manual")
	of := []string{"--app", vars["WAYBILL_APP_ID"], "--env", "sandbox", "--data-dir", dir}
	sent := inDir[[]object](t, dir, append([]string{"webhook", "list", "--endpoint", made["data"].(object)["id"].(string)}, of[:4]...)...)
	list := append([]string{"webhook", "attempts", sent[0]["id"].(string)}, of...)
	var cells []string
	eventually(t, "it is attempted", func() bool {
		_, row, _ := strings.Cut(command(t, nil, list...).stdout, "\n")
		cells = strings.Fields(row)
		return len(cells) > 0
	})
	if len(cells) < 5 || cells[3] != "-" || cells[4] != "refused" {
		t.Errorf("%q, want the status - and the error refused", cells)
	}
}

func TestWhatIsMissingIsNamedWithItsOwner(t *testing.T) {
	t.Parallel()
	environ := served(t)
	_, app := madeApp(t, environ)
	const whe, whd = "whe_0198f3b0a1c27d33a4f5e6b7c8d90a1b", "whd_0198f3a27c4e7b23a1d4c8e9f0b51a60"
	for line, want := range map[string]string{
		"list --endpoint " + whe: "error: No webhook endpoint " + whe + " in this database for " + app +
			" (live); `waybill webhook list` shows them.",
		"attempts " + whd: "error: No webhook " + whd + " in this database for " + app +
			" (live); `waybill webhook list --endpoint ID` shows them.",
		"resend " + whd: "error: No webhook " + whd + " in this database for " + app +
			" (live); `waybill webhook list --endpoint ID` shows them.",
	} {
		o := command(t, environ, append(append([]string{"webhook"}, strings.Fields(line)...), "--app", app, "--env", "live")...)
		if o.code != term.ExitFailure || !strings.HasPrefix(o.stderr, want) {
			t.Errorf("%s: exit code %d\n%s", line, o.code, o.stderr)
		}
	}
}
