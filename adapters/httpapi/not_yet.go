package httpapi

import (
	"io"
	"net/http"
	"strings"

	"waybill/adapters/web"
	"waybill/domain"
	"waybill/ports"
)

// NotYet responds in place of an API and its sites while their process cannot serve: 503 with
// the headers of every response. Keys cannot be looked up yet, so the response shows the rate
// limit of client addresses, without counting the request. Programs get the JSON envelope.
// Browsers, and every request below one of the prefixes, get a line of text.
func NotYet(ids ports.Identifiers, perAddress domain.RateLimit, pages ...string) http.Handler {
	a := &API{UseCases: UseCases{Identifiers: ids}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := domain.ServiceUnavailable(nil)
		header := w.Header()
		web.NameRequest(a.newRequestID(), r.Header).SetHeader(header)
		web.SetPrivate(header)
		header.Set("Retry-After", web.Seconds(e.RetryAfter, 1))
		if forABrowser(r) || isPage(r, pages) {
			header.Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(web.Status(e.Kind))
			_, _ = io.WriteString(w, "This page cannot be shown at the moment. Try again in a few seconds.\n")
			return
		}
		e = addRetryAdvice(e, kindOf(r.Header.Get("Idempotency-Key") != ""))
		setAllowance(header, ports.Allowance{Limit: perAddress, Remaining: perAddress.Limit, Reset: perAddress.Window})
		header.Set("Content-Type", web.JSONType)
		w.WriteHeader(web.Status(e.Kind))
		_, _ = w.Write(web.Failure(web.Status(e.Kind), e, a.docURL(e.Code)))
	})
}

// isPage reports whether the request opens a page at one of the prefixes or below it.
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
