package httpapi

import (
	"cmp"
	"io"
	"net/http"
	"strings"

	"waybill/domain"
	"waybill/ports"
)

// NotYet answers in place of an API, and of what is beside it, while their process
// cannot serve: a 503 with the headers of every answer but the limits, which are
// not known yet. Programs get the envelope; people, and whoever opens a page below
// one of the prefixes, get a line of text.
func NotYet(ids ports.Identifiers, pages ...string) http.Handler {
	a := &API{UseCases: UseCases{Identifiers: ids}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := domain.ServiceUnavailable(nil)
		header := w.Header()
		header["X-Request-ID"] = []string{cmp.Or(theirRequestID(r.Header["X-Request-Id"]), a.newRequestID())}
		header["X-Content-Type-Options"] = noSniff
		header["Cache-Control"] = noStore
		header.Set("Retry-After", seconds(e.RetryAfter, 1))
		if forABrowser(r) || isPage(r, pages) {
			header.Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(statusOf(e.Kind))
			_, _ = io.WriteString(w, "This page cannot be shown at the moment. Try again in a few seconds.\n")
			return
		}
		if r.Header.Get("Idempotency-Key") == "" {
			e = inMoment(e)
		}
		header.Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(statusOf(e.Kind))
		_, _ = w.Write(a.errorJSON(statusOf(e.Kind), e))
	})
}

// isPage reports whether a page at one of the prefixes, or below it, is opened.
func isPage(r *http.Request, prefixes []string) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	for _, prefix := range prefixes {
		if r.URL.Path == prefix || strings.HasPrefix(r.URL.Path, prefix+"/") {
			return true
		}
	}
	return false
}
