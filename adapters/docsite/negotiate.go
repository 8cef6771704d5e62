package docsite

import (
	"net/http"
	"strconv"
	"strings"
)

// wantsMarkdown reports whether a request prefers Markdown to HTML. As RFC 9110 says, the most
// specific range in Accept gives the weight of a type. At equal weights Markdown wins only if it is
// named: a client that accepts anything is a browser, or is used to HTML.
func wantsMarkdown(h http.Header) bool {
	header := strings.Join(h.Values("Accept"), ",")
	markdown, named := weightOf(header, "text", "markdown")
	page, _ := weightOf(header, "text", "html")
	return markdown > page || named && markdown == page && markdown > 0
}

// weightOf returns the weight from 0 to 1 that Accept gives a type, and whether it names the type.
func weightOf(accept, kind, subtype string) (weight float64, named bool) {
	closest := 0
	for part := range strings.SplitSeq(accept, ",") {
		fields := strings.Split(strings.ToLower(part), ";")
		fit := map[string]int{kind + "/" + subtype: 3, kind + "/*": 2, "*/*": 1}[strings.TrimSpace(fields[0])]
		if fit < closest || fit == 0 {
			continue
		}
		q := 1.0
		for _, parameter := range fields[1:] {
			name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			if strings.TrimSpace(name) != "q" {
				continue
			}
			var err error
			if q, err = strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil || !(q >= 0 && q <= 1) {
				q = 0 // a malformed weight counts as zero
			}
		}
		if fit > closest || q > weight {
			weight, closest = q, fit
		}
	}
	return weight, closest == 3
}
