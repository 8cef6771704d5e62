package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
		{Body{Most: 64}, `{"name":"A"}`, nil, domain.CodeInvalidRequest, true},
		{Body{Shape: shape, Most: 11}, `{"name":"A"}`, nil, CodePayloadTooLarge, true},
		{Body{Shape: shape, Most: 64}, `{"name":"A"}`, []string{"Content-Type", "text/plain"}, CodeUnsupportedMediaType, true},
		{Body{Shape: shape, Most: 64}, `{"name":"A"}`, []string{"Content-Type", ofJSON, "Content-Type", ofJSON}, CodeUnsupportedMediaType, true},
		{Body{Shape: shape, Most: 64}, `{"name":"A"}`, []string{"Content-Type", ofJSON + "; charset=latin1"}, CodeUnsupportedMediaType, true},
		{Body{Shape: shape, Most: 64}, `{"name":"A"}`, []string{"Content-Encoding", "gzip"}, CodeUnsupportedMediaType, true},
	} {
		for _, announced := range []bool{true, false} {
			r := posted(t, c.sent, c.headers...)
			if !announced {
				r.ContentLength = -1
			}
			root, err := c.body.Read(httptest.NewRecorder(), r)
			require.Equal(t, c.code, codeOf(err), "%s %v", c.sent, c.headers)
			require.Equal(t, c.isNil, root == nil, "%s %v", c.sent, c.headers)
		}
	}
}

func TestAFormIsToldFromJSONThatLacksItsType(t *testing.T) {
	t.Parallel()
	_, err := Body{Shape: strictjson.Object{}, Most: 64}.Read(httptest.NewRecorder(), posted(t, `{}`, "Content-Type", "application/x-www-form-urlencoded"))
	require.ErrorContains(t, err, "curl -d")
}

func TestATextIsReadAsItIs(t *testing.T) {
	t.Parallel()
	table := "name,address\nOsu,12 Oxford Street\n"
	raw, err := ReadText(httptest.NewRecorder(), posted(t, table, "Content-Type", "text/csv; charset=utf-8"), "text/csv", 64)
	require.NoError(t, err)
	require.Equal(t, table, string(raw))
	for code, r := range map[string]*http.Request{
		CodeUnsupportedMediaType: posted(t, table),
		CodePayloadTooLarge:      posted(t, strings.Repeat("a", 65), "Content-Type", "text/csv"),
	} {
		_, err := ReadText(httptest.NewRecorder(), r, "text/csv", 64)
		require.Equal(t, code, codeOf(err))
	}
	_, err = ReadText(httptest.NewRecorder(), posted(t, table, "Content-Type", "text/csv", "Content-Encoding", "gzip"), "text/csv", 64)
	require.Equal(t, CodeUnsupportedMediaType, codeOf(err))
}

func TestASizeIsToldInTheUnitsOfTheDocumentation(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, tooLarge(1<<20), "larger than 1 MiB,")
	require.ErrorContains(t, tooLarge(MaxBody), "larger than 64 KiB,")
}

func TestASecretInTheWrongPlaceIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{domain.KeyPrefix(domain.Live), domain.KeyPrefix(domain.Sandbox), domain.OperatorTokenPrefix} {
		require.Equal(t, prefix+"...", Shown("see "+prefix+"0123456789abcdef"))
	}
	require.Equal(t, "plain", Shown("plain"))
}

func TestARequestHasTheNameItsCallerGaveItWhereThatWillDo(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{"": "req_1", "order-1": "order-1", "a b": "req_1", strings.Repeat("x", 129): "req_1"} {
		id := NameRequest("req_1", http.Header{"X-Request-Id": {sent}})
		require.Equal(t, want, id.Shown())
		require.Equal(t, "req_1", id.Drawn)
	}
	require.Equal(t, "req_1", NameRequest("req_1", http.Header{"X-Request-Id": {"a", "b"}}).Shown(), "two names are none")
}
