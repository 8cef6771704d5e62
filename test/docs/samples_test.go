package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waybill/test/sample"
)

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
			judge(t, func(input string) string { return output(t, dir, input, c.tool, c.args...) })
		})
	}
}

func judge(t *testing.T, show func(input string) string) {
	t.Helper()
	// The programs know one secret.
	all := slices.DeleteFunc(sample.All(t), func(l sample.Letter) bool { return len(l.Secrets) > 1 })
	input, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := strings.Fields(show(string(input)))
	if len(verdicts) != len(all) {
		t.Fatalf("%d verdicts on %d letters", len(verdicts), len(all))
	}
	for i, l := range all {
		if verdicts[i] != fmt.Sprint(l.Good) {
			t.Errorf("%s: taken is %s, want %t", l.What, verdicts[i], l.Good)
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
