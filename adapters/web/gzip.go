package web

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
)

// TakesGzip reports whether a client accepts responses compressed by gzip. A weight of zero in
// Accept-Encoding is a refusal.
func TakesGzip(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, weight, weighted := strings.Cut(strings.ToLower(strings.TrimSpace(part)), ";")
		if name := strings.TrimSpace(coding); name != "gzip" && name != "*" {
			continue
		}
		q := strings.TrimPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
		return !weighted || strings.Trim(q, "0.") != ""
	}
	return false
}

// Gzip returns content compressed by gzip, at a level of package compress/gzip.
func Gzip(content []byte, level int) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		panic(err) // the levels are constants
	}
	_, _ = w.Write(content) // writes to a buffer never fail
	_ = w.Close()
	return b.Bytes()
}
