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
	"waybill/adapters/web"
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
		for _, part := range []string{`id="causes"`, `id="what-to-do"`, `id="retry"`, `id="example-response`, `"code": "` + code + `"`, `"statusCode": 4`} {
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

// rows returns the rows of the tables of a page in Markdown, by the text of their first cells.
func rows(t *testing.T, s *docsite.Site, path string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(get(t, s, path+".md").Body.String()) {
		if first, rest, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "| "), " | "); found {
			all[strings.Trim(first, "`")] = rest
		}
	}
	return all
}

func TestTheTablesAreThoseOfTheProgram(t *testing.T) {
	t.Parallel()
	s, operators := newSite(), newOperatorsSite()
	check := func(s *docsite.Site, path string, names []string) {
		t.Helper()
		all := rows(t, s, path)
		for _, name := range names {
			if rest, found := all[name]; !found || strings.Contains("| "+rest, "|  |") {
				t.Errorf("%s has the row %q, %v for %s", path, rest, found, name)
			}
		}
	}
	check(s, "/docs/sandbox", web.Texts(domain.Scenarios()))
	check(s, "/docs/webhooks", web.Texts(domain.EventTypes()))
	check(s, "/docs/authentication", web.Texts(domain.AllScopes()))
	check(operators, "/docs/email", web.Texts(domain.MailKinds()))
	check(operators, "/docs/dispatch", web.Texts(domain.MoveOutcomes()))
	for _, c := range []struct {
		site  *docsite.Site
		path  string
		wants []string
	}{
		{s, "/docs/limits", []string{"601 in 1 minute", "1203 in 1 min 30 s", "61 in 1 minute", "36 hours", "30 days"}},
		{s, "/docs/idempotency", []string{"36 hours"}},
		{s, "/docs/webhooks", []string{"| 2 | 5 seconds |", "| 12 | 24 hours | about 71 hours |"}},
		{s, "/docs/errors/CURSOR_EXPIRED", []string{"The same cursor fails again"}},
		{operators, "/docs/email", []string{"10 seconds, 30 seconds, 2 minutes, 5 minutes, 15 minutes, 30 minutes, 1 hour, and then every 2 hours"}},
	} {
		text := get(t, c.site, c.path+".md").Body.String()
		for _, want := range c.wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", c.path, want)
			}
		}
	}
}

// The drawing says in words which transitions there are.
func TestTheDrawingOfTheStatusesHasEveryTransition(t *testing.T) {
	t.Parallel()
	text := get(t, newSite(), "/docs/deliveries.md").Body.String()
	for _, tr := range domain.Transitions() {
		if !regexp.MustCompile(`(?s)` + spaced(tr.From) + `.{0,250}` + spaced(tr.To)).MatchString(text) {
			t.Errorf("it lacks %s to %s", tr.From, tr.To)
		}
	}
}

func spaced(s domain.Status) string { return strings.ReplaceAll(string(s), "_", "[ _]") }
