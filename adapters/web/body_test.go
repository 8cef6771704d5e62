package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"waybill/adapters/web/server"
	"waybill/adapters/web/strictjson"
	"waybill/domain"
)

func posted(t *testing.T, body string, headers ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func codeOf(err error) string {
	var e *domain.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestABodyIsJSONOfItsShapeAndSize(t *testing.T) {
	t.Parallel()
	shape := strictjson.Object{"name": strictjson.Leaf}
	const ofJSON = "application/json"
	for _, c := range []struct {
		body    Body
		sent    string
		headers []string
		code    string // empty: read
		isNil   bool
	}{
		{Body{Shape: shape, Most: 64}, `{"name":"A"}`, []string{"Content-Type", ofJSON}, "", false},
		{Body{Shape: shape, Most: 64}, `{"name":"A"}`, nil, "", false},
		{Body{Shape: shape, Most: 64}, `{"name":"A"}`, []string{"Content-Type", ofJSON + "; charset=UTF-8"}, "", false},
		{Body{Shape: shape, Most: 64}, `{"nome":"A"}`, nil, domain.CodeInvalidRequest, true},
		{Body{Shape: shape, Most: 64}, ``, nil, domain.CodeInvalidRequest, true},
		{Body{Shape: shape, Most: 64, MayBeEmpty: true}, ``, nil, "", true},
		{Body{Most: 64}, ``, nil, "", true},
		{Body{Most: 64}, `{}`, nil, "", false},
		{Body{Most: 64}, " \t[ \r\n]\n", nil, "", true},
		{Body{Most: 64}, "\v[]", nil, domain.CodeInvalidRequest, true},
		{Body{Most: 64}, "[]\u00a0", nil, domain.CodeInvalidRequest, true},
		{Body{Most: 64}, "[\u0085]", nil, domain.CodeInvalidRequest, true},
		{Body{Most: 64}, `[1]`, nil, domain.CodeInvalidRequest, true},
		{Body{Shape: shape, Most: 64, MayBeEmpty: true}, `[]`, nil, domain.CodeInvalidRequest, true},
		{Body{Most: 64}, `{"name":"A"}`, nil, domain.CodeInvalidRequest, true},
		{Body{Shape: shape, Most: 11}, `{"name":"A"}`, nil, CodePayloadTooLarge, true},
		{Body{Shape: shape, Most: 64}, `{"name":"A"}`, []string{"Content-Type", "text/plain"}, CodeUnsupportedMediaType, true},
		{Body{Shape: shape, Most: 64}, `{"name":"A"}`, []string{"Content-Type", ofJSON, "Content-Type", ofJSON}, CodeUnsupportedMediaType, true},
		{Body{Shape: shape, Most: 64}, `{"name":"A"}`, []string{"Content-Type", ofJSON + "; charset=latin1; v=1"}, "", false},
		{Body{Shape: shape, Most: 64}, `{"name":"A"}`, []string{"Content-Type", ofJSON + "; charset"}, CodeUnsupportedMediaType, true},
		{Body{Shape: shape, Most: 64}, `{"name":"A"}`, []string{"Content-Encoding", "gzip"}, CodeUnsupportedMediaType, true},
	} {
		for _, announced := range []bool{true, false} {
			r := posted(t, c.sent, c.headers...)
			if !announced {
				r.ContentLength = -1
			}
			root, err := c.body.Read(httptest.NewRecorder(), r)
			if got := codeOf(err); got != c.code {
				t.Fatalf("%s %v: %q, want %q", c.sent, c.headers, got, c.code)
			}
			if isNil := root == nil; isNil != c.isNil {
				t.Fatalf("%s %v: no root: %v, want %v", c.sent, c.headers, isNil, c.isNil)
			}
		}
	}
}

func TestAFormIsToldFromJSONThatLacksItsType(t *testing.T) {
	t.Parallel()
	_, err := Body{Shape: strictjson.Object{}, Most: 64}.Read(httptest.NewRecorder(),
		posted(t, `{}`, "Content-Type", "application/x-www-form-urlencoded"))
	if err == nil || !strings.Contains(err.Error(), "curl -d") {
		t.Fatalf("err: %v, want curl -d in it", err)
	}
}

func TestATextIsReadAsItIs(t *testing.T) {
	t.Parallel()
	table := "name,address\nOsu,12 Oxford Street\n"
	raw, err := ReadText(httptest.NewRecorder(), posted(t, table, "Content-Type", "text/csv; charset=utf-8"), "text/csv", 64)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(raw); got != table {
		t.Fatalf("string(raw): %q, want %q", got, table)
	}
	for code, r := range map[string]*http.Request{
		CodeUnsupportedMediaType: posted(t, table),
		CodePayloadTooLarge:      posted(t, strings.Repeat("a", 65), "Content-Type", "text/csv"),
	} {
		_, err := ReadText(httptest.NewRecorder(), r, "text/csv", 64)
		if got := codeOf(err); got != code {
			t.Fatalf("codeOf(err): %q, want %q", got, code)
		}
	}
	for charset, code := range map[string]string{"windows-1252": "", "UTF-16": "", "koi8-r": CodeUnsupportedMediaType} {
		_, err := ReadText(httptest.NewRecorder(), posted(t, table, "Content-Type", "text/csv; charset="+charset), "text/csv", 64)
		if got := codeOf(err); got != code {
			t.Errorf("charset %s: %q, want %q", charset, got, code)
		}
	}
	_, err = ReadText(httptest.NewRecorder(), posted(t, table, "Content-Type", "text/csv", "Content-Encoding", "gzip"), "text/csv", 64)
	if got := codeOf(err); got != CodeUnsupportedMediaType {
		t.Fatalf("codeOf(err): %q, want UNSUPPORTED_MEDIA_TYPE", got)
	}
}

func TestABodyThatHasNoPlaceToArriveIsAskedForAgain(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", iotest.ErrReader(server.ErrBodiesArriving))
	r.Header.Set("Content-Type", "text/csv")
	_, asJSON := Body{Most: 64}.Read(httptest.NewRecorder(), r)
	_, asText := ReadText(httptest.NewRecorder(), r, "text/csv", 64)
	for _, err := range []error{asJSON, asText} {
		if e := ErrorOf(err); Status(e.Kind) != http.StatusServiceUnavailable || e.Code != domain.CodeServiceUnavailable || e.RetryAfter != time.Second {
			t.Errorf("%v, want SERVICE_UNAVAILABLE for a second", err)
		}
	}
}

func TestASizeIsToldInTheUnitsOfTheDocumentation(t *testing.T) {
	t.Parallel()
	if err := tooLarge(1 << 20); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB,") {
		t.Fatalf("tooLarge(1<<20): %v, want larger than 1 MiB, in it", err)
	}
	if err := tooLarge(MaxBody); err == nil || !strings.Contains(err.Error(), "larger than 64 KiB,") {
		t.Fatalf("tooLarge(MaxBody): %v, want larger than 64 KiB, in it", err)
	}
}

func TestASecretInTheWrongPlaceIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{domain.KeyPrefix(domain.Live), domain.KeyPrefix(domain.Sandbox), domain.OperatorTokenPrefix} {
		if got := Shown("see " + prefix + "0123456789abcdef"); got != prefix+"..." {
			t.Fatalf("%q, want %q", got, prefix+"...")
		}
	}
	if got := Shown("plain"); got != "plain" {
		t.Fatalf("Shown(plain): %q, want plain", got)
	}
}

func TestARequestHasTheNameItsCallerGaveItWhereThatWillDo(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{"": "req_1", "order-1": "order-1", "a b": "req_1", strings.Repeat("x", 129): "req_1"} {
		id := NameRequest("req_1", http.Header{"X-Request-Id": {sent}})
		if got := id.Shown(); got != want {
			t.Fatalf("id.Shown(): %q, want %q", got, want)
		}
		if id.Drawn != "req_1" {
			t.Fatalf("id.Drawn: %q, want req_1", id.Drawn)
		}
	}
	for _, secret := range []string{domain.MakeAPIKey(domain.Live, [32]byte{1}), domain.MakeOperatorToken([32]byte{2}), "whsec_c2VjcmV0",
		"a:" + domain.MakeAPIKey(domain.Sandbox, [32]byte{3})[:20]} {
		sent := http.Header{"X-Request-Id": {secret}}
		header := "X-Request-ID" // in this spelling, which is not the canonical one
		id, answer := NameRequest("req_1", sent), http.Header{}
		id.SetHeader(answer)
		if logged := id.LogAttr().String(); id.Shown() != "req_1" || logged != "request_id=req_1" || answer[header][0] != "req_1" {
			t.Fatalf("a secret as a name: %q, logged as %s, answered as %q", id.Shown(), logged, answer)
		}
	}
	if got := NameRequest("req_1", http.Header{"X-Request-Id": {"a", "b"}}).Shown(); got != "req_1" {
		t.Fatalf("two names are none: %q, want req_1", got)
	}
}
