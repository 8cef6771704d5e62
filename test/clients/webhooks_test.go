package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"waybill/adapters/clients/go/waybillapi"
	"waybill/adapters/httpapi"
	"waybill/domain"
	"waybill/test/devserver"
)

// letter is a webhook as a receiver gets it.
type letter struct {
	What    string            `json:"what"`
	Secrets []string          `json:"secrets"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Now     int64             `json:"now"`
	Good    bool              `json:"-"`
}

// letters are the published one, others as the service signs them, and each of
// them spoilt.
func letters(t *testing.T) []letter {
	t.Helper()
	var doc struct {
		Webhooks struct {
			Event struct {
				Post struct {
					Vector map[string]string `yaml:"x-waybill-test-vector"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(httpapi.OpenAPI.YAML(), &doc); err != nil {
		t.Fatal(err)
	}
	v := doc.Webhooks.Event.Post.Vector
	signed, err := strconv.ParseInt(v[domain.HeaderWebhookTimestamp], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(signed, 0)
	published := letter{What: "published", Secrets: []string{v["secret"]}, Body: v["body"], Now: at.Unix(), Good: true,
		Headers: map[string]string{}}
	for _, name := range []string{domain.HeaderWebhookID, domain.HeaderWebhookTimestamp, domain.HeaderWebhookSignature} {
		published.Headers[name] = v[name]
	}
	one, other := bytes.Repeat([]byte{7}, domain.SigningSecretBytes), bytes.Repeat([]byte{9}, domain.SigningSecretBytes)
	sign := func(what string, now time.Time, known []byte, by ...[]byte) letter {
		const id, body = "evt_1", `{"id":"evt_1","type":"delivery.created"}`
		return letter{What: what, Secrets: []string{domain.FormatSigningSecret(known)}, Body: body, Now: now.Unix(), Good: true,
			Headers: map[string]string{
				domain.HeaderWebhookID: id, domain.HeaderWebhookTimestamp: strconv.FormatInt(at.Unix(), 10),
				domain.HeaderWebhookSignature: domain.SignWebhook(by, id, at, []byte(body)),
			}}
	}
	both := sign("both secrets are known", at, other, one)
	both.Secrets = append(both.Secrets, domain.FormatSigningSecret(one))
	all := []letter{
		published, both,
		sign("two signatures, ours first", at, one, one, other),
		sign("two signatures, ours last", at, other, one, other),
		sign("nearly too old", at.Add(300*time.Second), one, one),
		sign("nearly from the future", at.Add(-300*time.Second), one, one),
	}
	for _, l := range all {
		spoil := func(what string, change func(*letter)) {
			bad := l
			bad.What, bad.Good, bad.Headers = l.What+": "+what, false, map[string]string{}
			for name, value := range l.Headers {
				bad.Headers[name] = value
			}
			change(&bad)
			all = append(all, bad)
		}
		spoil("another body", func(l *letter) { l.Body += " " })
		spoil("another ID", func(l *letter) { l.Headers[domain.HeaderWebhookID] += "0" })
		spoil("another time", func(l *letter) { l.Headers[domain.HeaderWebhookTimestamp] = strconv.FormatInt(at.Unix()-1, 10) })
		spoil("a time that is none", func(l *letter) { l.Headers[domain.HeaderWebhookTimestamp] = "now" })
		spoil("another secret", func(l *letter) { l.Secrets = []string{domain.FormatSigningSecret(bytes.Repeat([]byte{1}, 32))} })
		spoil("another version", func(l *letter) {
			l.Headers[domain.HeaderWebhookSignature] = strings.ReplaceAll(l.Headers[domain.HeaderWebhookSignature], "v1,", "v2,")
		})
		spoil("no version", func(l *letter) {
			l.Headers[domain.HeaderWebhookSignature] = strings.ReplaceAll(l.Headers[domain.HeaderWebhookSignature], "v1,", "")
		})
		spoil("a signature cut short", func(l *letter) { l.Headers[domain.HeaderWebhookSignature] = "v1,AAAA" })
		spoil("too old", func(l *letter) { l.Now = at.Unix() + 301 })
		spoil("from the future", func(l *letter) { l.Now = at.Unix() - 301 })
		for name := range l.Headers {
			spoil("no "+name, func(l *letter) { delete(l.Headers, name) })
		}
	}
	return all
}

func TestTheClientInGoBelievesWhatIsSignedAndNothingElse(t *testing.T) {
	for _, l := range letters(t) {
		v, err := waybillapi.NewVerifier(l.Secrets...)
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{}
		for name, value := range l.Headers {
			header.Set(name, value)
		}
		event, err := v.WithClock(func() time.Time { return time.Unix(l.Now, 0) }).Event(header, []byte(l.Body))
		if l.Good != (err == nil) || !l.Good && !errors.Is(err, waybillapi.ErrWebhook) || l.Good &&
			event.ID != l.Headers[domain.HeaderWebhookID] {
			t.Errorf("%s: %+v, %v", l.What, event, err)
		}
	}
}

func TestTheClientInTypeScriptBelievesWhatIsSignedAndNothingElse(t *testing.T) {
	t.Parallel()
	program := filepath.Join(compiled(t), "test", "clients", "typescript", "verify.mjs")
	all := letters(t)
	input, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := strings.Fields(output(t, string(input), nil, "node", program))
	if len(verdicts) != len(all) {
		t.Fatalf("%d verdicts on %d letters", len(verdicts), len(all))
	}
	for i, l := range all {
		if verdicts[i] != strconv.FormatBool(l.Good) {
			t.Errorf("%s: believed is %s, want %t", l.What, verdicts[i], l.Good)
		}
	}
}

func TestTheClientInTypeScriptBooksAndVerifiesTheWebhook(t *testing.T) {
	t.Parallel()
	program := filepath.Join(compiled(t), "test", "clients", "typescript", "book.mjs")
	s := devserver.For(t)
	var got struct {
		Delivery, Status, Code, Event, Of, First string
		Same, Replayed, RefusedSpoilt            bool
		Listed                                   int
	}
	told := output(t, "", []string{"BASE_URL=" + s.Vars["WAYBILL_SANDBOX_URL"], "API_KEY=" + s.Vars["WAYBILL_TEST_KEY"]}, "node", program)
	if err := json.Unmarshal([]byte(told), &got); err != nil {
		t.Fatalf("%v\n%s", err, told)
	}
	if got.Status != "booked" || !got.Same || !got.Replayed || got.Listed < 3 || got.First != got.Delivery || got.Code != "NOT_FOUND" {
		t.Errorf("the calls came out as %s", told)
	}
	if got.Event != "delivery.created" || got.Of != got.Delivery || !got.RefusedSpoilt {
		t.Errorf("the webhook came out as %s", told)
	}
}

var compile sync.Mutex

// compiled checks the client in TypeScript and the programs that use it, as
// strictly as there is, and returns the folder of what node runs. It is made
// once.
func compiled(t *testing.T) string {
	t.Helper()
	modules := filepath.Join(tools(t), "node_modules")
	compile.Lock()
	defer compile.Unlock()
	out := filepath.Join(devserver.Home, "compiled")
	done := filepath.Join(out, "package.json")
	if _, err := os.Stat(done); err == nil {
		return out
	}
	output(t, "", nil, filepath.Join(modules, ".bin", "tsc"), "-p", "typescript", "--typeRoots", filepath.Join(modules, "@types"), "--outDir",
		out)
	write(t, done, `{"type":"module"}`)
	return out
}

func TestTheClientInTypeScriptCompilesAlone(t *testing.T) {
	t.Parallel()
	modules := filepath.Join(tools(t), "node_modules")
	dir := t.TempDir()
	for _, name := range files(t, filepath.Join(adapters, "typescript")) {
		text, err := os.ReadFile(filepath.Join(adapters, "typescript", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(text))
	}
	output(t, "", nil, filepath.Join(modules, ".bin", "tsc"), "-p", dir, "--typeRoots", filepath.Join(modules, "@types"))
	output(t, "", nil, "node", "--input-type=module", "-e",
		`const c = await import(`+strconv.Quote(filepath.Join(dir, "dist", "index.js"))+`);
if (typeof c.createClient({ baseUrl: "http://127.0.0.1/v1", apiKey: "k" }).createDelivery !== "function") process.exit(1);`)
}
