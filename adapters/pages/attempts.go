package pages

import (
	"net/http"
	"strconv"
	"strings"

	"waybill/domain"
)

// failures maps the ways in which an attempt gets no response to texts.
var failures = map[domain.ErrorClass]string{
	domain.ErrorDNS: "Host name not found", domain.ErrorBlockedIP: "Private address, not called", domain.ErrorRefused: "Connection refused",
	domain.ErrorReset: "Connection closed", domain.ErrorTLS: "TLS certificate not accepted",
	domain.ErrorTimeoutConnect: "Connection timed out", domain.ErrorTimeoutResponse: "Response timed out",
	domain.ErrorBodyTooLarge: "Response too large",
}

// AttemptText describes the result of an attempt of a webhook, such as "204 No Content (12 ms)" or
// "Connection refused (1 ms)".
func AttemptText(r domain.WebhookResult) string {
	text := failures[r.Error]
	switch {
	case r.StatusCode > 0:
		text = strings.TrimSpace(strconv.Itoa(r.StatusCode) + " " + http.StatusText(r.StatusCode))
	case text == "":
		text = "No response"
	}
	return text + " (" + Took(r.Duration) + ")"
}
