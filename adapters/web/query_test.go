package web

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waybill/domain"
)

func parsed(t *testing.T, raw string) Query {
	t.Helper()
	q, err := ParseQuery(raw, []string{"search", "limit", "created_after", "active"})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestAQueryStringIsRefusedWhole(t *testing.T) {
	for _, raw := range []string{"serach=x", "search=%zz", "search=x&limt=1", "SEARCH=x"} {
		_, err := ParseQuery(raw, []string{"search", "limit"})
		if !domain.HasCode(err, domain.CodeInvalidRequest) {
			t.Fatalf("%s: domain.HasCode(err, domain.CodeInvalidRequest) is false", raw)
		}
	}
}

func TestParametersAreJudgedTogether(t *testing.T) {
	q := parsed(t, "search=&limit=0&created_after=yesterday&active=true&active=false")
	q.Text("search", 128)
	q.Limit()
	q.Time("created_after")
	q.OneOf("active", "true", "false")
	var e *domain.Error
	if !errors.As(q.Err(), &e) {
		t.Fatal("errors.As(q.Err(), &e) is false")
	}
	codes := map[string]string{}
	for _, f := range e.Fields {
		codes[f.Field] = f.Code
	}
	if diff := cmp.Diff(map[string]string{
		"search": domain.FieldTooShort, "limit": domain.FieldOutOfRange,
		"created_after": domain.FieldInvalidFormat, "active": domain.FieldInvalidFormat,
	}, codes); diff != "" {
		t.Fatalf("codes (-want +got):\n%s", diff)
	}
	if len(e.Fields) != 4 {
		t.Fatalf("each is told once: %v, want 4 of them", e.Fields)
	}
}

func TestALimitIsAPlainNumber(t *testing.T) {
	for raw, want := range map[string]int{"": 25, "limit=1": 1, "limit=100": 100, "limit=007": 7} {
		q := parsed(t, raw)
		if got := q.Limit(); got != want {
			t.Fatalf("%s: %d, want %d", raw, got, want)
		}
		if err := q.Err(); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
	}
	for _, raw := range []string{"limit=0", "limit=101", "limit=-1", "limit=%2B5", "limit=5.0", "limit=1e1", "limit=99999999999999999999"} {
		q := parsed(t, raw)
		q.Limit()
		if q.Err() == nil {
			t.Fatalf("%s: no error", raw)
		}
	}
}

func TestATimeIsMovedUpToTheMillisecondItBounds(t *testing.T) {
	at := func(raw string) *time.Time {
		q := parsed(t, "created_after="+raw)
		got := q.Time("created_after")
		if err := q.Err(); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		return got
	}
	exact := time.Date(2026, 11, 21, 10, 0, 0, 123e6, time.UTC)
	if got := *at("2026-11-21T10:00:00.123Z"); got != exact {
		t.Fatalf("*at(2026-11-21T10:00:00.123Z): %v, want %v", got, exact)
	}
	if got := *at("2026-11-21T10:00:00.123000001Z"); got != exact.Add(time.Millisecond) {
		t.Fatalf("*at(2026-11-21T10:00:00.123000001Z): %v, want %v", got, exact.Add(time.Millisecond))
	}
	if got := *at("2026-11-21T12:00:00.123+02:00"); got != exact {
		t.Fatalf("a + that came unencoded: %v, want %v", got, exact)
	}
	if got := *at("9999-12-31T23:59:59-12:00"); got != latest {
		t.Fatalf("*at(9999-12-31T23:59:59-12:00): %v, want %v", got, latest)
	}
	if got := *at("0000-01-01T00:00:00Z"); got != earliest {
		t.Fatalf("*at(0000-01-01T00:00:00Z): %v, want %v", got, earliest)
	}
}

func TestATimeIsWrittenAsRFC3339Has(t *testing.T) {
	for _, raw := range []string{
		"2026-11-21T1:00:00Z", "2026-11-21T10:00:00,5Z", "2026-11-21", "2026-11-21T10:00:00", "2026-11-21T10:00Z",
		"20261121T100000Z", "2026-11-21T24:00:00Z", "2026-02-30T10:00:00Z", "2026-11-21T10:00:00%2B2:00", "2026-11-21T10:00:00.Z",
	} {
		q := parsed(t, "created_after="+raw)
		q.Time("created_after")
		if !domain.HasCode(q.Err(), domain.CodeValidation) {
			t.Fatalf("%s: domain.HasCode(q.Err(), domain.CodeValidation) is false", raw)
		}
	}
	for _, raw := range []string{"2026-11-21t10:00:00z", "2026-11-21T10:00:00.000000000Z", "2026-11-21T10:00:00-00:00"} {
		q := parsed(t, "created_after="+raw)
		if got := *q.Time("created_after"); got != time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) {
			t.Fatalf("%s: %v, want %v", raw, got, time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
		}
		if err := q.Err(); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
	}
}

func TestAnUnknownParameterIsNamed(t *testing.T) {
	for raw, want := range map[string]string{
		"page=2":                       "Unknown query parameter page. This call takes search, limit.",
		"=5":                           "A query parameter has no name. This call takes search, limit.",
		"a%0Ab%FF=":                    "Unknown query parameter a\\nb\ufffd. This call takes search, limit.",
		strings.Repeat("p", 65) + "=1": "Unknown query parameter " + strings.Repeat("p", 64) + "... This call takes search, limit.",
	} {
		_, err := ParseQuery(raw, []string{"search", "limit"})
		var e *domain.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: errors.As(err, &e) is false", raw)
		}
		if e.Message != want {
			t.Fatalf("e.Message: %q, want %q", e.Message, want)
		}
	}
	_, err := ParseQuery("page=2", nil)
	if err == nil || !strings.Contains(err.Error(), "Unknown query parameter page. This call takes none.") {
		t.Fatalf("err: %v, want Unknown query parameter page. This call takes none. in it", err)
	}
}

func TestABearerHasOneSpaceAndOneHeader(t *testing.T) {
	for _, c := range []struct {
		headers   []string
		key       string
		malformed bool
	}{
		{nil, "", false},
		{[]string{""}, "", false},
		{[]string{"Bearer abc"}, "abc", false},
		{[]string{"Bearer  abc"}, "", true},
		{[]string{"Bearer abc "}, "", true},
		{[]string{"Bearer\tabc"}, "", true},
		{[]string{"bearer abc"}, "", true},
		{[]string{"Basic abc"}, "", true},
		{[]string{"Bearer "}, "", true},
		{[]string{"Bearer"}, "", true},
		{[]string{"Bearer abc", "Bearer abc"}, "", true},
	} {
		key, malformed := Bearer(http.Header{"Authorization": c.headers})
		if key != c.key {
			t.Fatalf("%v: %q, want %q", c.headers, key, c.key)
		}
		if malformed != c.malformed {
			t.Fatalf("%v: %v, want %v", c.headers, malformed, c.malformed)
		}
	}
}
