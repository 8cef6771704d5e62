package webhooksend

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"waybill/domain"
)

// maxRetryAfter is the longest wait that any schedule uses.
const maxRetryAfter = 48 * time.Hour

// resultOf reads the result: status, headers, and the stored part of the body, as far as it
// arrives before the attempt ends.
func resultOf(res *http.Response) domain.WebhookResult {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	r := domain.WebhookResult{StatusCode: res.StatusCode, Error: statusClass(res.StatusCode), Excerpt: excerpt(body)}
	if r.Error != "" {
		r.RetryAfter = retryAfter(res.Header.Get("Retry-After"), time.Now())
	}
	return r
}

func statusClass(status int) domain.ErrorClass {
	switch status / 100 {
	case 2:
		return ""
	case 3:
		return domain.ErrorRedirect
	case 4:
		return domain.ErrorHTTP4xx
	}
	return domain.ErrorHTTP5xx
}

// retryAfter reads the header: seconds or a date. Anything else, or a past date, is zero.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.Atoi(value)
		if err != nil || seconds > int(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// excerpt returns the beginning of a body as text that can be stored and shown: valid UTF-8, on
// one line, without characters that control or reorder others.
func excerpt(body []byte) string {
	whole := len(body) <= domain.MaxExcerpt
	body = body[:min(len(body), domain.MaxExcerpt)]
	if plain(body) {
		return strings.TrimSpace(string(body))
	}
	var out strings.Builder
	space, bad := false, false
	for len(body) > 0 {
		r, size := utf8.DecodeRune(body)
		if r == utf8.RuneError && size == 1 && !whole && !utf8.FullRune(body) {
			break // cut in the middle of a character
		}
		invalid := r == utf8.RuneError && size == 1
		body = body[size:]
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space, bad = true, false
			continue
		case invalid && bad, !invalid && !unicode.IsPrint(r):
			continue // one mark for a run of junk; formatting characters are dropped
		}
		gap := 0
		if space && out.Len() > 0 {
			gap = 1
		}
		if out.Len()+gap+utf8.RuneLen(r) > domain.MaxExcerpt {
			break // a mark is longer than the byte it stands for
		}
		if gap == 1 {
			out.WriteByte(' ')
		}
		out.WriteRune(r)
		space, bad = false, invalid
	}
	return out.String()
}

// plain reports whether all bytes are printable ASCII, as in most responses.
func plain(body []byte) bool {
	for _, c := range body {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
