package web

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waybill/domain"
)

func parsed(t *testing.T, raw string) Query {
	t.Helper()
	q, err := ParseQuery(raw, []string{"search", "limit", "created_after", "active"})
	require.NoError(t, err)
	return q
}

func TestAQueryStringIsRefusedWhole(t *testing.T) {
	for _, raw := range []string{"serach=x", "a;b", "search=%zz", "search=x&limt=1", "SEARCH=x"} {
		_, err := ParseQuery(raw, []string{"search", "limit"})
		require.True(t, domain.HasCode(err, domain.CodeInvalidRequest), raw)
	}
}

func TestParametersAreJudgedTogether(t *testing.T) {
	q := parsed(t, "search=&limit=0&created_after=yesterday&active=true&active=false")
	q.Text("search", 128)
	q.Limit()
	q.Time("created_after")
	q.OneOf("active", "true", "false")
	var e *domain.Error
	require.True(t, errors.As(q.Err(), &e))
	codes := map[string]string{}
	for _, f := range e.Fields {
		codes[f.Field] = f.Code
	}
	require.Equal(t, map[string]string{
		"search": domain.FieldTooShort, "limit": domain.FieldOutOfRange,
		"created_after": domain.FieldInvalidFormat, "active": domain.FieldInvalidFormat,
	}, codes)
	require.Len(t, e.Fields, 4, "each is told once")
}

func TestALimitIsAPlainNumber(t *testing.T) {
	for raw, want := range map[string]int{"": 25, "limit=1": 1, "limit=100": 100, "limit=007": 7} {
		q := parsed(t, raw)
		require.Equal(t, want, q.Limit(), raw)
		require.NoError(t, q.Err(), raw)
	}
	for _, raw := range []string{"limit=0", "limit=101", "limit=-1", "limit=%2B5", "limit=5.0", "limit=1e1", "limit=99999999999999999999"} {
		q := parsed(t, raw)
		q.Limit()
		require.Error(t, q.Err(), raw)
	}
}

func TestATimeIsMovedUpToTheMillisecondItBounds(t *testing.T) {
	at := func(raw string) *time.Time {
		q := parsed(t, "created_after="+raw)
		got := q.Time("created_after")
		require.NoError(t, q.Err(), raw)
		return got
	}
	exact := time.Date(2026, 11, 21, 10, 0, 0, 123e6, time.UTC)
	require.Equal(t, exact, *at("2026-11-21T10:00:00.123Z"))
	require.Equal(t, exact.Add(time.Millisecond), *at("2026-11-21T10:00:00.123000001Z"))
	require.Equal(t, exact, *at("2026-11-21T12:00:00.123+02:00"), "a + that came unencoded")
	require.Equal(t, latest, *at("9999-12-31T23:59:59-12:00"))
	require.Equal(t, earliest, *at("0000-01-01T00:00:00Z"))
}

func TestATimeIsWrittenAsRFC3339Has(t *testing.T) {
	for _, raw := range []string{
		"2026-11-21T1:00:00Z", "2026-11-21T10:00:00,5Z", "2026-11-21", "2026-11-21T10:00:00", "2026-11-21T10:00Z",
		"20261121T100000Z", "2026-11-21T24:00:00Z", "2026-02-30T10:00:00Z", "2026-11-21T10:00:00%2B2:00", "2026-11-21T10:00:00.Z",
	} {
		q := parsed(t, "created_after="+raw)
		q.Time("created_after")
		require.True(t, domain.HasCode(q.Err(), domain.CodeValidation), raw)
	}
	for _, raw := range []string{"2026-11-21t10:00:00z", "2026-11-21T10:00:00.000000000Z", "2026-11-21T10:00:00-00:00"} {
		q := parsed(t, "created_after="+raw)
		require.Equal(t, time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), *q.Time("created_after"), raw)
		require.NoError(t, q.Err(), raw)
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
		require.True(t, errors.As(err, &e), raw)
		require.Equal(t, want, e.Message)
	}
	_, err := ParseQuery("page=2", nil)
	require.ErrorContains(t, err, "Unknown query parameter page. This call takes none.")
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
		require.Equal(t, c.key, key, c.headers)
		require.Equal(t, c.malformed, malformed, c.headers)
	}
}
