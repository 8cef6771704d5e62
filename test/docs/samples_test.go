package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"waybill/adapters/httpapi"
	"waybill/domain"
)

// letter is a message as a receiver gets it, and whether it is to be believed.
type letter struct {
	What    string            `json:"what"`
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Now     int64             `json:"now"`

	valid bool
}

// letters are the published one and fresh ones, each also spoilt in every way.
func letters(t *testing.T) []letter {
	t.Helper()
	published := publishedLetter(t)
	now := time.Now()
	secret, older := bytes.Repeat([]byte{7}, domain.SigningSecretBytes), bytes.Repeat([]byte{9}, domain.SigningSecretBytes)
	sign := func(what, body string, at time.Time, secrets ...[]byte) letter {
		const id = "evt_0198f3b1f0427a5c8e1b6d93f72a04c1"
		return letter{
			What: what, Secret: domain.FormatSigningSecret(secret), Body: body, Now: now.Unix(), valid: true,
			Headers: map[string]string{
				domain.HeaderWebhookID: id, domain.HeaderWebhookTimestamp: strconv.FormatInt(at.Unix(), 10),
				domain.HeaderWebhookSignature: domain.SignWebhook(secrets, id, at, []byte(body)),
			},
		}
	}
	good := []letter{
		published,
		sign("fresh", `{"id":"1"}`, now, secret),
		sign("beyond ASCII", `{"name":"Kofi Agyemañ, Ɔkra"}`, now, secret),
		sign("while the secret is rotated, the new one first", `{}`, now, secret, older),
		sign("while the secret is rotated, the old one first", `{}`, now, older, secret),
		sign("nearly too old", `{}`, now.Add(-290*time.Second), secret),
		sign("nearly too new", `{}`, now.Add(290*time.Second), secret),
	}
	all := append([]letter{}, good...)
	refuse := func(l letter, what string, spoil func(*letter)) {
		headers := map[string]string{}
		for name, value := range l.Headers {
			headers[name] = value
		}
		l.Headers, l.What, l.valid = headers, l.What+": "+what, false
		spoil(&l)
		all = append(all, l)
	}
	for _, l := range good {
		refuse(l, "another body", func(l *letter) { l.Body = strings.Replace(l.Body, "{", "{ ", 1) })
		refuse(l, "another ID", func(l *letter) { l.Headers[domain.HeaderWebhookID] += "0" })
		refuse(l, "another time", func(l *letter) {
			seconds, _ := strconv.Atoi(l.Headers[domain.HeaderWebhookTimestamp])
			l.Headers[domain.HeaderWebhookTimestamp] = strconv.Itoa(seconds - 1)
		})
		refuse(l, "another secret", func(l *letter) {
			l.Secret = domain.FormatSigningSecret(bytes.Repeat([]byte{1}, domain.SigningSecretBytes))
		})
		refuse(l, "another signature", func(l *letter) {
			signatures := strings.Fields(l.Headers[domain.HeaderWebhookSignature])
			for i, s := range signatures { // each begins with its version
				other := "A"
				if s[3:4] == other {
					other = "B"
				}
				signatures[i] = s[:3] + other + s[4:]
			}
			l.Headers[domain.HeaderWebhookSignature] = strings.Join(signatures, " ")
		})
		refuse(l, "another version", func(l *letter) {
			l.Headers[domain.HeaderWebhookSignature] = strings.ReplaceAll(l.Headers[domain.HeaderWebhookSignature], "v1,", "v2,")
		})
		refuse(l, "a signature cut short", func(l *letter) {
			l.Headers[domain.HeaderWebhookSignature] = l.Headers[domain.HeaderWebhookSignature][:20]
		})
		for name := range l.Headers {
			refuse(l, "no "+name, func(l *letter) { delete(l.Headers, name) })
		}
		refuse(l, "a time that is none", func(l *letter) { l.Headers[domain.HeaderWebhookTimestamp] = "yesterday" })
		refuse(l, "read an hour later", func(l *letter) { l.Now += 3600 })
		refuse(l, "read an hour earlier", func(l *letter) { l.Now -= 3600 })
	}
	return all
}

// publishedLetter is the test vector of the description.
func publishedLetter(t *testing.T) letter {
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
	l := letter{What: "published", Secret: v["secret"], Body: v["body"], Headers: map[string]string{}, valid: true}
	for _, name := range []string{domain.HeaderWebhookID, domain.HeaderWebhookTimestamp, domain.HeaderWebhookSignature} {
		l.Headers[name] = v[name]
	}
	at, err := strconv.ParseInt(v[domain.HeaderWebhookTimestamp], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	l.Now = at + 3
	return l
}

// Each harness reads letters as JSON, shows them to the sample, and prints true
// or false for each.
const (
	goHarness = `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"receiver/hooks"
)

func main() {
	var letters []struct {
		Secret, Body string
		Headers      map[string]string
		Now          int64
	}
	if err := json.NewDecoder(os.Stdin).Decode(&letters); err != nil {
		panic(err)
	}
	for _, l := range letters {
		header := http.Header{}
		for name, value := range l.Headers {
			header.Set(name, value)
		}
		fmt.Println(hooks.Verify(l.Secret, header, []byte(l.Body), time.Unix(l.Now, 0)) == nil)
	}
}
`
	nodeHarness = `import { verify } from "./verify.mjs";
import { readFileSync } from "node:fs";
for (const l of JSON.parse(readFileSync(0))) {
  try {
    verify(l.secret, l.headers, Buffer.from(l.body), l.now);
    console.log("true");
  } catch (e) {
    if (!e.message.startsWith("webhook: ")) throw e;
    console.log("false");
  }
}
`
	pythonHarness = `import json, sys
from verify import verify
for l in json.load(sys.stdin):
    try:
        verify(l["secret"], l["headers"], l["body"].encode(), l["now"])
        print("true")
    except ValueError as e:
        if not str(e).startswith("webhook: "):
            raise
        print("false")
`
)

// TestTheProgramsThatVerifyDoSo takes them from the page, as a reader would.
func TestTheProgramsThatVerifyDoSo(t *testing.T) {
	s := serve(t)
	shown := blocks(s.page(t, "/webhooks"), reCode)
	for _, c := range []struct {
		tool, begins, file, harness, harnessFile string
		args                                     []string
	}{
		{"go", "// Package hooks", "hooks/verify.go", goHarness, "main.go", []string{"run", "."}},
		{"node", "// Verifies webhooks. Node", "verify.mjs", nodeHarness, "main.mjs", []string{"main.mjs"}},
		{"python3", `"""Verifies webhooks. Python`, "verify.py", pythonHarness, "main.py", []string{"main.py"}},
	} {
		t.Run(c.tool, func(t *testing.T) {
			needs(t, c.tool)
			dir := t.TempDir()
			sample := ""
			for _, text := range shown {
				if strings.HasPrefix(text, c.begins) {
					sample = text
				}
			}
			if sample == "" {
				t.Fatalf("the page shows no program that begins with %s", c.begins)
			}
			write(t, filepath.Join(dir, c.file), sample)
			write(t, filepath.Join(dir, c.harnessFile), c.harness)
			write(t, filepath.Join(dir, "go.mod"), "module receiver\n\ngo 1.24\n")
			judge(t, letters(t), func(input string) string { return output(t, dir, input, c.tool, c.args...) })
		})
	}
}

func judge(t *testing.T, letters []letter, show func(input string) string) {
	t.Helper()
	input, err := json.Marshal(letters)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := strings.Fields(show(string(input)))
	if len(verdicts) != len(letters) {
		t.Fatalf("%d verdicts on %d letters", len(verdicts), len(letters))
	}
	for i, l := range letters {
		if verdicts[i] != fmt.Sprint(l.valid) {
			t.Errorf("%s: taken is %s, want %t", l.What, verdicts[i], l.valid)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestThePageShowsTheProgramsThatAreKept compares it with the files.
func TestThePageShowsTheProgramsThatAreKept(t *testing.T) {
	s := serve(t)
	shown := blocks(s.page(t, "/webhooks"), reCode)
	for _, file := range []string{"verify.go.txt", "verify.mjs", "verify.py"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "adapters", "docsite", "samples", file))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, block := range shown {
			found = found || block == string(text)
		}
		if !found {
			t.Errorf("the page does not show %s as it is", file)
		}
	}
	if res, err := http.Get(s.site + "/samples/verify.py"); err != nil || res.StatusCode != http.StatusNotFound {
		t.Errorf("the files are not meant to be served: %v", err)
	} else {
		res.Body.Close()
	}
}
