package docs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/test/program"
)

// placeholder is what a reader replaces by a key.
const placeholder = "svc_test_key_..."

// marker stands between the outputs of commands.
const marker = "\n=== next ===\n"

// command is a fence of a guide that is marked as run, with the fences marked as answer below it.
type command struct {
	text    string
	answers []string
}

var reFence = regexp.MustCompile("(?ms)^([ \t]*)```([a-z]+)((?: [^\n]*)?)\n(.*?)^[ \t]*```[ \t]*$")

// commandsOf returns the commands that a page in Markdown marks.
func commandsOf(t *testing.T, page string) (all []command) {
	t.Helper()
	for _, m := range reFence.FindAllStringSubmatch(page, -1) {
		marks := strings.Fields(m[3])
		code := strings.ReplaceAll("\n"+m[4], "\n"+m[1], "\n")[1:]
		switch {
		case slices.Contains(marks, "run"):
			all = append(all, command{text: code})
		case slices.Contains(marks, "answer") && len(all) == 0:
			t.Errorf("an answer stands before all commands:\n%s", code)
		case slices.Contains(marks, "answer"):
			all[len(all)-1].answers = append(all[len(all)-1].answers, code)
		}
	}
	return all
}

// TestTheGuidesShowCommandsThatWork runs the commands of each guide in the order of reading, on a
// sandbox that was just started, and compares what they print with what the guide shows.
func TestTheGuidesShowCommandsThatWork(t *testing.T) {
	needs(t, "curl")
	needs(t, "bash")
	for _, site := range []struct {
		folder, base string   // of the sources, and the variable with the address of its host
		vars         []string // that a reader sets
		fewest       int      // commands
	}{
		{"guides", "WAYBILL_SANDBOX_URL", []string{"WAYBILL_API_KEY"}, 40},
		{"operators", "WAYBILL_OPS_URL", []string{"WAYBILL_OPS_URL", "WAYBILL_OPS_TOKEN"}, 2},
	} {
		files, err := os.ReadDir(filepath.Join("..", "..", "adapters", "docsite", site.folder))
		if err != nil {
			t.Fatal(err)
		}
		s, many := serve(t), 0
		pages := map[string][]command{}
		for _, file := range files {
			name := strings.TrimSuffix(file.Name(), ".md")
			path := name
			if name == "start" {
				path = "index"
			}
			if all := commandsOf(t, fetch(t, strings.TrimSuffix(s.Vars[site.base], "/v1")+"/docs/"+path+".md")); len(all) > 0 {
				pages[name] = all
				many += len(all)
			}
		}
		if many < site.fewest {
			t.Errorf("the %s show %d commands, want %d or more", site.folder, many, site.fewest)
		}
		for name, all := range pages {
			t.Run(site.folder+"/"+name, func(t *testing.T) {
				t.Parallel()
				s.tryPage(t, all, site.vars)
			})
		}
	}
}

// tryPage runs the commands of a page on a server of their own.
func (s *server) tryPage(t *testing.T, all []command, names []string) {
	t.Helper()
	own := fresh(t)
	own.Vars["WAYBILL_API_KEY"] = own.Vars["WAYBILL_TEST_KEY"]
	var swap, env []string
	for _, name := range []string{"WAYBILL_SANDBOX_URL", "WAYBILL_LIVE_URL", "WAYBILL_OPS_URL", "WAYBILL_PORTAL_URL"} {
		of := func(s *server) string { return strings.TrimSuffix(s.Vars[name], "/v1") }
		swap = append(swap, of(s), of(own))
	}
	for _, name := range names {
		env = append(env, name+"="+own.Vars[name])
	}
	here := strings.NewReplacer(append(swap, placeholder, own.Vars["WAYBILL_TEST_KEY"])...)
	script := ""
	for _, c := range all {
		script += here.Replace(c.text) + "\nprintf '" + strings.ReplaceAll(marker, "\n", "\\n") + "%d\\n' $?\n"
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "page.sh"), script)
	outputs := strings.Split(outputWith(t, dir, program.Environment(env...), "", "bash", "page.sh"), marker)
	if len(outputs) != len(all)+1 {
		t.Fatalf("%d commands gave %d outputs: %q", len(all), len(outputs)-1, outputs)
	}
	printed := outputs[0]
	for i, c := range all {
		status, next, _ := strings.Cut(outputs[i+1], "\n")
		if status != "0" {
			t.Errorf("command\n%s\nended with %s and printed %s", c.text, status, printed)
		}
		for _, answer := range c.answers {
			if differs := compare(here.Replace(answer), printed); differs != "" {
				t.Errorf("command\n%s\nprinted %s\nand the guide shows another answer: %s", c.text, printed, differs)
			}
		}
		printed = next
	}
}

// fresh starts a server of its own for a test.
func fresh(t *testing.T) *server {
	t.Helper()
	serve(t) // builds the program
	dir := t.TempDir()
	p, err := program.Start(filepath.Join(program.Home, "waybill"), dir, program.FreePorts, "dev", "--data-dir", dir)
	if err == nil {
		err = p.Await()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return &server{Process: p}
}

// compare returns how an answer of a guide differs from one of the JSON texts that a command
// printed, or from its lines.
func compare(shown, printed string) (differs string) {
	var want any
	if err := json.Unmarshal([]byte(shown), &want); err != nil {
		for line := range strings.Lines(shown) {
			if !strings.Contains(printed, strings.TrimSpace(line)) {
				return fmt.Sprintf("it lacks the line %q (the answer is no JSON: %v)", line, err)
			}
		}
		return ""
	}
	differs = "it printed no JSON"
	for rest := printed; ; {
		start := strings.IndexAny(rest, "{[")
		if start < 0 {
			return differs
		}
		var got any
		d := json.NewDecoder(strings.NewReader(rest[start:]))
		if d.Decode(&got) != nil {
			rest = rest[start+1:] // not of JSON
			continue
		}
		if differs = lacks("", want, got); differs == "" {
			return ""
		}
		rest = rest[start+int(d.InputOffset()):]
	}
}

// Values that differ each time are compared by their form.
var (
	varying = []struct {
		form *regexp.Regexp
		name string
	}{
		{regexp.MustCompile(`\b([a-z]{2,4})_[0-9a-f]{32}\b`), "${1}_ID"},
		{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
		{regexp.MustCompile(`\b[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}\b`), "REFERENCE"},
		{regexp.MustCompile(`\bwhsec_[A-Za-z0-9+/=]+`), "SECRET"},
	}
	varyingFields = []string{"last_four", "next_cursor", "resume_cursor", "duration_ms"}
)

// lacks returns what a JSON value lacks of another one. An object has all fields that are shown; an
// array has all elements that are shown, in any order.
func lacks(at string, shown, got any) string {
	switch want := shown.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is not an object but %v", at, got)
		}
		for name, value := range want {
			if _, ok := object[name]; !ok {
				return fmt.Sprintf("%s.%s is missing", at, name)
			}
			if slices.Contains(varyingFields, name) && (value == nil) == (object[name] == nil) {
				continue
			}
			if problem := lacks(at+"."+name, value, object[name]); problem != "" {
				return problem
			}
		}
		return ""
	case []any:
		array, ok := got.([]any)
		if !ok || len(want) > 0 && len(array) == 0 || len(want) == 0 && len(array) > 0 {
			return fmt.Sprintf("%s is %v, shown is %v", at, got, want)
		}
		for i, value := range want {
			problem := ""
			for _, one := range array {
				if problem = lacks(fmt.Sprintf("%s[%d]", at, i), value, one); problem == "" {
					break
				}
			}
			if problem != "" {
				return problem
			}
		}
		return ""
	case string:
		text, ok := got.(string)
		for _, v := range varying {
			want, text = v.form.ReplaceAllString(want, v.name), v.form.ReplaceAllString(text, v.name)
		}
		if !ok || want != text {
			return fmt.Sprintf("%s is %v, shown is %v", at, got, shown)
		}
		return ""
	}
	if shown != got {
		return fmt.Sprintf("%s is %v, shown is %v", at, got, shown)
	}
	return ""
}

func TestTheDocumentationIsOnTheSandboxAlone(t *testing.T) {
	s := serve(t)
	for base, want := range map[string]int{"WAYBILL_SANDBOX_URL": http.StatusOK, "WAYBILL_LIVE_URL": http.StatusNotFound} {
		for _, path := range []string{"/docs", "/docs/index.md", "/llms.txt"} {
			res, err := http.Get(strings.TrimSuffix(s.Vars[base], "/v1") + path)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("%s has documentation at %s: %d, want %d", base, path, res.StatusCode, want)
			}
		}
	}
}

// TestEveryErrorWithDetailsLeadsToItsPage asks both hosts for errors.
func TestEveryErrorWithDetailsLeadsToItsPage(t *testing.T) {
	s := serve(t)
	sandbox, live := s.Vars["WAYBILL_SANDBOX_URL"], s.Vars["WAYBILL_LIVE_URL"]
	testKey, liveKey := s.Vars["WAYBILL_TEST_KEY"], s.Vars["WAYBILL_LIVE_KEY"]
	for _, c := range []struct {
		base, key, path, body, code string
		bare                        bool // the code has no details
	}{
		{sandbox, "", "/deliveries", "", "INVALID_API_KEY", false},
		{live, "", "/deliveries", "", "INVALID_API_KEY", false},
		{live, testKey, "/deliveries", "", "ENVIRONMENT_MISMATCH", false},
		{sandbox, testKey, "/deliveries?page=2", "", "INVALID_REQUEST", false},
		{live, liveKey, "/quotes", `{"vehicle_type": 5}`, "VALIDATION_ERROR", false},
		{sandbox, testKey, "/deliveries/bulk", `{"deliveries": [{"vehicle_type": "bike"}]}`, "BULK_VALIDATION_FAILED", false},
		{sandbox, testKey, "/deliveries/dlv_0", "", "NOT_FOUND", true},
		{sandbox, testKey, "/deliveries/bulk", `{"deliveries": [{"vehicle_type": "bike"}]}`, "IDEMPOTENCY_KEY_REQUIRED", true},
	} {
		method, body := http.MethodGet, strings.NewReader(c.body)
		if c.body != "" {
			method = http.MethodPost
		}
		req, err := http.NewRequestWithContext(t.Context(), method, c.base+c.path, body)
		if err != nil {
			t.Fatal(err)
		}
		if c.key != "" {
			req.Header.Set("Authorization", "Bearer "+c.key)
		}
		if c.code != "IDEMPOTENCY_KEY_REQUIRED" {
			req.Header.Set("Idempotency-Key", "a-key-of-its-own-"+c.code)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Error struct {
				Code    string
				Details map[string]any
			}
		}
		err = json.NewDecoder(res.Body).Decode(&answer)
		res.Body.Close()
		url, _ := answer.Error.Details["doc_url"].(string)
		want := s.site + "/errors/" + c.code
		if c.bare {
			want = ""
		}
		if err != nil || answer.Error.Code != c.code || url != want {
			t.Errorf("%s%s: %s with doc_url %q, want %s with %q (%v)", c.base, c.path, answer.Error.Code, url, c.code, want, err)
			continue
		}
		if !c.bare && !strings.Contains(s.page(t, strings.TrimPrefix(url, s.site)), c.code) {
			t.Errorf("the page at %s is not about %s", url, c.code)
		}
	}
}
