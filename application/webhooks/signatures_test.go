package webhooks_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"waybill/application/webhooks"
	"waybill/domain"
)

var (
	now   = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	id    = domain.MakeID(domain.PrefixEvent, [16]byte{7})
	ours  = bytes.Repeat([]byte{1}, 32)
	old   = bytes.Repeat([]byte{2}, 32)
	other = bytes.Repeat([]byte{3}, 32)
	body  = []byte(`{"id":"evt_1","type":"delivery.created","data":{"note":"Caf\u00e9 \u003cOsu\u003e","fee":25.50,"at":"a/b","n":[1,2]}}`)
)

func headers(at time.Time, secrets ...[]byte) string {
	return fmt.Sprintf("Webhook-Id: %s\r\nwebhook-timestamp: %d\nWEBHOOK-SIGNATURE: %s", id, at.Unix(), domain.SignWebhook(secrets,
		id, at, body))
}

func pasted(secret []byte) webhooks.PossibleSecret {
	return webhooks.PossibleSecret{Bytes: secret, Name: "secret that was pasted", Pasted: true}
}

// asked is a webhook that verifies, and the changes to it.
func asked(change func(*webhooks.ReceivedRequest)) webhooks.SignatureVerdict {
	q := webhooks.ReceivedRequest{Headers: headers(now, ours), Body: body, Raw: true, At: now, Secrets: []webhooks.PossibleSecret{pasted(ours)}}
	change(&q)
	return webhooks.ExamineSignature(q)
}

// want fails unless the steps had these outcomes, one letter each, and a text is among the
// findings.
func want(t *testing.T, name string, v webhooks.SignatureVerdict, steps, text string) {
	t.Helper()
	got, all := "", ""
	for _, r := range v.Results {
		got += string(r.Outcome[0])
		all += r.Text + "\n"
	}
	if got != steps || !strings.Contains(all, text) || v.Verified != (steps == "pppp" || steps == "pfpp") {
		t.Errorf("%s: %s, verified %v, want %s and %q\n%s", name, got, v.Verified, steps, text, all)
	}
}

func TestEachStepThatFailsIsNamed(t *testing.T) {
	t.Parallel()
	type q = webhooks.ReceivedRequest
	line := func(n int, with string) func(*q) {
		return func(q *q) {
			lines := strings.Split(q.Headers, "\n")
			lines[n] = with
			q.Headers = strings.Join(lines, "\n")
		}
	}
	before, later := now.Add(-time.Hour), now.Add(time.Hour)
	for name, c := range map[string]struct {
		change      func(*q)
		steps, text string
	}{
		"all is well":        {func(*q) {}, "pppp", "byte for byte"},
		"a header is gone":   {line(0, ""), "fuuu", "Missing: webhook-id."},
		"as PHP has them":    {line(0, "HTTP_WEBHOOK_ID => "+string(id)), "pppp", ""},
		"as curl shows them": {line(0, "> webhook-id: "+string(id)), "pppp", ""},
		"as JSON":            {line(0, `"webhook-id": "`+string(id)+`",`), "pppp", ""},
		"milliseconds":       {line(1, "webhook-timestamp: 1773489600000"), "fuuu", "in milliseconds"},
		"a date":             {line(1, "webhook-timestamp: today"), "fuuu", "no number of seconds"},
		"another ID":         {line(0, "webhook-id: msg_1"), "fuuu", "no ID of an event"},
		"a cut signature":    {line(2, "webhook-signature: v1,abc="), "fuuu", "malformed"},
		"no version":         {line(2, "webhook-signature: abc"), "fuuu", "no signature that begins with v1"},
		"late":               {func(q *q) { q.At = now.Add(12*time.Minute + 5*time.Second) }, "pfpp", "off by 12m5s"},
		"early":              {func(q *q) { q.At = now.Add(-6 * time.Minute) }, "pfpp", "is behind"},
		"wrong secret": {func(q *q) { q.Secrets, q.Sent = []webhooks.PossibleSecret{pasted(other)}, body }, "ppfp",
			"Wrong secret"},
		"wrong secret, and nothing is known of the body": {func(q *q) { q.Secrets = []webhooks.PossibleSecret{pasted(other)} }, "ppfu", "None of the"},
		"another endpoint's secret": {func(q *q) {
			q.Secrets = []webhooks.PossibleSecret{pasted(other), {Bytes: ours, Name: "secret of https://b.example"}}
		}, "ppfp", "signed with the secret of https://b.example"},
		"the old secret, which signs on": {func(q *q) {
			q.Headers = headers(now, ours, old)
			q.Secrets = []webhooks.PossibleSecret{pasted(old), {Bytes: ours, Name: "new"}, {Bytes: old, Name: "old", EndedAt: &later}}
		}, "pppp", "before the last rotation. It signs until"},
		"the old secret, which has ended": {func(q *q) {
			q.Secrets = []webhooks.PossibleSecret{pasted(old), {Bytes: ours, Name: "new"}, {Bytes: old, Name: "old", EndedAt: &before}}
		}, "ppfp", "has not signed since"},
		"no secret": {func(q *q) { q.Secrets = nil }, "ppuu", "no secret to try"},
	} {
		want(t, name, asked(c.change), c.steps, c.text)
	}
}

// bodies lists the same body as frameworks change it.
var bodies = map[string]struct{ text, told string }{
	"byte order mark": {"\xef\xbb\xbf" + string(body), "byte order mark"},
	"newline":         {string(body) + "\n", "behind it"},
	"CRLF":            {string(body) + "\r\n", "behind it"},
	"spaces":          {strings.ReplaceAll(string(body), ":", ": "), "other spaces"},
	"pretty":          {strings.NewReplacer(`,"`, ",\n  \"", `{"`, "{\n  \"").Replace(string(body)), "other spaces"},
	"JavaScript":      {strings.NewReplacer(`\u00e9`, "é", `\u003c`, "<", `\u003e`, ">").Replace(string(body)), "escaped in another way"},
	"PHP":             {strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", "a/b", `a\/b`).Replace(string(body)), "escaped in another way"},
}

func TestABodyThatAFrameworkChangedIsRecognised(t *testing.T) {
	t.Parallel()
	for name, c := range bodies {
		want(t, name+", and the body that was sent is known", asked(func(q *webhooks.ReceivedRequest) {
			q.Body, q.Sent = []byte(c.text),
				body
		}), "pppf",
			c.told)
	}
	sorted := []byte(`{"data":{"at":"a/b","fee":25.50,"n":[1,2],"note":"Caf\u00e9 \u003cOsu\u003e"},"id":"evt_1","type":"delivery.created"}`)
	for name, c := range map[string]struct{ text, told string }{
		"keys in order":   {string(sorted), "another order"},
		"numbers":         {strings.Replace(string(body), "25.50", "25.5", 1), "numbers are written"},
		"a value changed": {strings.Replace(string(body), "25.50", "26", 1), "something else"},
		"cut off":         {string(body[:40]), "no JSON any more"},
	} {
		want(t, name, asked(func(q *webhooks.ReceivedRequest) { q.Body, q.Sent = []byte(c.text), body }), "pppf", c.told)
	}
}

func TestCandidatesFindWhatWasSentWithoutKnowingIt(t *testing.T) {
	t.Parallel()
	for _, how := range []struct {
		name, sent, got, told string
	}{
		{"byte order mark", string(body), bodies["byte order mark"].text, "byte order mark"},
		{"newline", string(body), bodies["newline"].text, "behind it"},
		{"spaces", string(body), bodies["spaces"].text, "other spaces"},
		{"Go sent what others write plainly", `{"a":"\u003cb\u003e","c":1}`, `{"a": "<b>", "c": 1}`, "escaped in another way"},
		{"plain text came as ASCII", `{"a":"Café 🙂","c":1}`, `{"a":"Caf\u00e9 \ud83d\ude42","c":1}`, "escaped in another way"},
		{"CRLF inside", "{\n\"a\":1\n}", "{\r\n\"a\":1\r\n}", "CRLF"},
	} {
		q := webhooks.ReceivedRequest{Body: []byte(how.got), Raw: true, At: now, Secrets: []webhooks.PossibleSecret{pasted(ours)}}
		q.Headers = fmt.Sprintf("webhook-id: %s\nwebhook-timestamp: %d\nwebhook-signature: %s", id, now.Unix(),
			domain.SignWebhook([][]byte{ours}, id, now, []byte(how.sent)))
		want(t, how.name, webhooks.ExamineSignature(q), "pppf", how.told)
	}
	alike := []byte(`{"id":"evt_2","type":"delivery.failed","data":{"note":"x","fee":1,"at":"y","n":[3]}}`)
	sorted := `{"data":{"at":"a/b","fee":25.50,"n":[1,2],"note":"Caf\u00e9 \u003cOsu\u003e"},"id":"evt_1","type":"delivery.created"}`
	want(t, "keys in order", asked(func(q *webhooks.ReceivedRequest) { q.Body, q.Alike = []byte(sorted), alike }), "pppf", "another order")
}

func TestWhatABrowserMakesOfLineBreaksIsNoChange(t *testing.T) {
	t.Parallel()
	q := webhooks.ReceivedRequest{Body: []byte("{\r\n}"), At: now, Secrets: []webhooks.PossibleSecret{pasted(ours)}}
	q.Headers = fmt.Sprintf("webhook-id: %s\nwebhook-timestamp: %d\nwebhook-signature: %s", id, now.Unix(),
		domain.SignWebhook([][]byte{ours}, id, now, []byte("{\n}")))
	want(t, "as text", webhooks.ExamineSignature(q), "pppp", "")
	q.Raw = true
	want(t, "to the byte", webhooks.ExamineSignature(q), "pppf", "CRLF")
}

func TestASecretIsReadAsItIsConfigured(t *testing.T) {
	t.Parallel()
	shown := domain.FormatSigningSecret(ours)
	for text, c := range map[string]struct {
		sound   bool
		problem string
	}{
		shown: {true, ""}, shown + "\n": {true, "around the secret"}, `"` + shown + `"`: {true, "around the secret"},
		strings.TrimPrefix(shown, "whsec_"): {true, "lacks whsec_"}, "svc_live_x": {false, "no signing secret"},
		"whsec_AAAA": {false, "no signing"},
	} {
		secret, problem := webhooks.ParseSecret(text)
		if (secret != nil) != c.sound || c.sound && !bytes.Equal(secret, ours) || !strings.Contains(problem, c.problem) ||
			c.problem == "" && problem != "" {
			t.Errorf("%q: %x, %q", text, secret, problem)
		}
	}
}

func FuzzExamine(f *testing.F) {
	f.Add("webhook-id: x", []byte(`{"a":[{}]}`))
	f.Add(headers(now, ours), body)
	f.Fuzz(func(_ *testing.T, lines string, text []byte) {
		webhooks.ExamineSignature(webhooks.ReceivedRequest{Headers: lines, Body: text, At: now, Secrets: []webhooks.PossibleSecret{pasted(other)},
			Sent: body, Alike: text})
		webhooks.ExamineSignature(webhooks.ReceivedRequest{Headers: headers(now, ours), Body: text, At: now, Secrets: []webhooks.PossibleSecret{pasted(other)},
			Sent: body, Alike: body})
	})
}
