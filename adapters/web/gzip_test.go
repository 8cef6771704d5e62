package web_test

import (
	"net/http"
	"testing"

	"waybill/adapters/web"
)

func TestARefusalOfGzipCounts(t *testing.T) {
	t.Parallel()
	for accepted, want := range map[string]bool{"": false, "gzip": true, "br, GZIP;q=0.8": true, "*": true, "br": false,
		"gzip;q=0": false, "gzip; q=0.0, br": false} {
		if got := web.TakesGzip(http.Header{"Accept-Encoding": {accepted}}); got != want {
			t.Errorf("Accept-Encoding %q takes gzip: %v, want %v", accepted, got, want)
		}
	}
}
