package httpapi

import (
	"net/http"
	"strconv"

	"waybill/adapters/web"
	"waybill/ports"
)

// showAllowance sets the headers of the limit that will be reached first. The names are spelled
// as in the contract. Go's own spelling would be Ratelimit-Limit.
func showAllowance(c *call, a ports.Allowance) { setAllowance(c.Writer.Header(), a) }

func setAllowance(header http.Header, a ports.Allowance) {
	header["RateLimit-Limit"] = []string{strconv.Itoa(a.Limit.Limit)}
	header["RateLimit-Remaining"] = []string{strconv.Itoa(max(a.Remaining, 0))}
	header["RateLimit-Reset"] = []string{web.Seconds(a.Reset, 0)}
}
