package docsite_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"waybill/adapters/docsite"
	"waybill/adapters/httpapi"
	"waybill/domain"
)

// operatorsOnly are codes that no answer of the API has: commands tell them.
var operatorsOnly = []string{domain.CodeKeyPepperMismatch, domain.CodeKeyPepperInUse, domain.CodeSecretKeyMismatch,
	domain.CodeTransitionInvalid}

var (
	reCodeLink = regexp.MustCompile(`href="/docs/errors/([A-Z_]+)"`)
	// Codes of a response, or of the items in one.
	reListed = regexp.MustCompile(`"x-waybill-(?:item-)?codes":\[([^]]+)\]`)
)

func TestEveryCodeHasAPageAndNoPageIsAboutNothing(t *testing.T) {
	t.Parallel()
	s := newSite()
	paged := map[string]bool{}
	for _, m := range reCodeLink.FindAllStringSubmatch(get(t, s, "/docs/errors").Body.String(), -1) {
		paged[m[1]] = true
	}
	documented := map[string]bool{}
	for _, list := range reListed.FindAllStringSubmatch(string(httpapi.OpenAPI.JSON()), -1) {
		for code := range strings.SplitSeq(list[1], ",") {
			documented[strings.Trim(code, `"`)] = true
		}
	}
	if len(documented) < 35 {
		t.Fatalf("found %d codes in openapi.yaml, so the test looks for them in the wrong way", len(documented))
	}
	want := maps.Clone(documented)
	for _, code := range domainCodes(t) {
		if !slices.Contains(operatorsOnly, code) {
			want[code] = true
		}
	}
	for code := range want {
		if !paged[code] {
			t.Errorf("%s has no page: add it to explanations", code)
		}
		if !documented[code] {
			t.Errorf("%s is in domain/errors.go and not in openapi.yaml", code)
		}
	}
	for code := range paged {
		if !want[code] {
			t.Errorf("there is a page about %s, which no answer has", code)
		}
	}
	if n := len(paged); n != len(docsite.Explained()) {
		t.Errorf("%d codes are explained and %d have a page: some explanation is about no code", len(docsite.Explained()), n)
	}
}

// domainCodes are the constants of domain/errors.go that are codes.
func domainCodes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../domain/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(spec.Names[0].Name, "Code") && len(spec.Values) == 1 {
			code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
		return true
	})
	if len(codes) < 30 {
		t.Fatalf("found %d codes in domain/errors.go", len(codes))
	}
	return codes
}

func TestThePageOfACodeSaysWhatHappenedAndWhatToDo(t *testing.T) {
	t.Parallel()
	s := newSite()
	for _, code := range docsite.Explained() {
		w := get(t, s, "/docs/errors/"+code)
		body := html.UnescapeString(w.Body.String())
		for _, part := range []string{`id="causes"`, `id="todo"`, `id="retry"`, `id="example"`, `"code": "` + code + `"`, `"statusCode": 4`} {
			if part == `"statusCode": 4` &&
				(slices.Contains([]string{domain.CodeInternal, domain.CodeQuoteUnavailable, domain.CodeServiceUnavailable}, code)) {
				part = `"statusCode": 5`
			}
			if !strings.Contains(body, part) {
				t.Errorf("the page about %s lacks %s", code, part)
			}
		}
		if strings.Contains(body, "doc_url") && !strings.Contains(body, "https://sandbox.example.com/docs/errors/") {
			t.Errorf("the example of %s leads elsewhere", code)
		}
	}
}

func TestTheTablesAreThoseOfTheProgram(t *testing.T) {
	t.Parallel()
	s := newSite()
	contains := func(path string, wants ...string) {
		t.Helper()
		body := html.UnescapeString(get(t, s, path).Body.String())
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not show %q", path, want)
			}
		}
	}
	for _, name := range domain.Scenarios() {
		contains("/docs/sandbox", "<td><code>"+string(name)+"</code>")
	}
	for _, tr := range domain.Transitions() {
		if slices.Contains(tr.By, domain.ActorHelper) {
			contains("/docs/sandbox", "<td><code>"+string(tr.From)+"</code></td><td><code>")
		}
	}
	for _, e := range domain.EventTypes() {
		contains("/docs/webhooks", "<td><code>"+string(e)+"</code></td><td>")
	}
	if body := get(t, s, "/docs/webhooks").Body.String(); strings.Contains(body, "<td></td>") {
		t.Error("an event type has no meaning")
	}
	for _, scope := range domain.AllScopes() {
		contains("/docs/limits", "<td><code>"+string(scope)+"</code></td><td>")
	}
	if body := get(t, s, "/docs/limits").Body.String(); strings.Contains(body, "<td><div") || strings.Contains(body, `"calls"></div>`) {
		t.Error("a scope allows nothing, or no call needs it")
	}
	for _, kind := range domain.MailKinds() {
		contains("/docs/mails", `<th scope="row"><code>`+string(kind)+"</code></th><td>A")
	}
	contains("/docs/mails", "<td>A person is invited: by an owner, by an operator, or by a command.</td><td>the person</td><td>7 days</td>",
		"An API key is revoked.</td><td>owners and developers of the business</td><td>3 days</td>",
		"after 10 seconds, 30 seconds, 2 minutes, 5 minutes, 15 minutes, 30 minutes, 1 hour, and then every 2 hours,", "kept for 30 days")
	for _, outcome := range domain.MoveOutcomes() {
		contains("/docs/dispatch", `<th scope="row"><code>`+string(outcome)+"</code></th><td>", "<td>200</td>", "<td>30 days</td>")
	}
	contains("/docs/limits", "601 in 1 minute", "1203 in 1 min 30 s", "61 in 1 minute", "36 hours", "30 days",
		"in each environment</td><td>50</td>", "<td>4; the next one waits, for 1 second</td>", "Bulk creates in progress beside them</td><td>4; 16 more wait for their turn, each for up to 10 s",
		"<code>concurrency</code>",
		"unless you send <code>limit</code>", "at least one request must be left")
	contains("/docs/errors/CURSOR_EXPIRED", "The same cursor fails again", "a program can do that by itself")
	contains("/docs/idempotency", "36 hours", "1 to 100")
	contains("/docs/webhooks", "<td>2</td><td>5 seconds</td>", "<td>12</td><td>24 hours</td><td>about 71 hours</td>")
	contains("/docs/going-live", "<td>5</td><td>12</td>")
}
