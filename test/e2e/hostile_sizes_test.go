package e2e

import (
	"fmt"
	"strings"
	"testing"
)

const (
	tooLarge = "413 PAYLOAD_TOO_LARGE"
	mostBody = 64 << 10
	mostBulk = 1 << 20
)

// padded is a quote's body of exactly n bytes.
func padded(n int) string { return quoteBody + strings.Repeat(" ", n-len(quoteBody)) }

// bulkOf is a request to book what the text has as its items.
func bulkOf(items string) string { return bulkBody(`{"deliveries":[` + items + `]}`) }

func bulkBody(body string) string {
	return post("/v1/deliveries/bulk", body, "Idempotency-Key: {idem}")
}

// paddedBulk is the body of a sound bulk of exactly n bytes.
func paddedBulk(n int) string {
	body := `{"deliveries":[` + soundOrder + `]}`
	return body + strings.Repeat(" ", n-len(body))
}

// many is a list of n equal items that fills as much of a bulk as it can.
func many(item string) string {
	return strings.Repeat(item+",", (mostBulk-100)/(len(item)+1)) + item
}

// hostileSizes are bodies at and beyond the limit, and lengths that are lies.
var hostileSizes = []wire{
	{name: "a body of 64 KiB", bytes: post("/v1/quotes", padded(mostBody)), wants: answers("200")},
	{name: "a body of 64 KiB and a byte", bytes: post("/v1/quotes", padded(mostBody+1)), wants: answers(tooLarge)},
	{name: "a body of 1 MiB", bytes: post("/v1/quotes", padded(1<<20)), wants: answers(tooLarge)},
	{name: "a body of 8 MiB", bytes: post("/v1/quotes", padded(8<<20)), wants: answers(tooLarge)},
	{name: "a chunk of 64 KiB", bytes: trip(chunked, chunk(padded(mostBody))+last), wants: answers("200")},
	{name: "a chunk of 64 KiB and a byte", bytes: trip(chunked, chunk(padded(mostBody+1))+last), wants: answers(tooLarge)},
	{name: "chunks of 70 KiB", bytes: trip(chunked, strings.Repeat(chunk(strings.Repeat(" ", 1<<10)), 70)+last), wants: answers(tooLarge)},
	{name: "chunks of 4 MiB", bytes: trip(chunked, strings.Repeat(chunk(strings.Repeat(" ", 64<<10)), 64)+last), wants: answers(tooLarge)},
	{name: "a large body where none is taken", bytes: post("/v1/deliveries/{dlv}/cancel", strings.Repeat(" ", mostBody+1)),
		wants: answers(tooLarge)},
	{name: "a large body for a GET", bytes: open("GET /v1/api-key") + length(mostBody+1) + "\r\n" + strings.Repeat(" ", mostBody+1),
		wants: answers(tooLarge)},
	{name: "a large body for nobody", bytes: post("/v1/nothing", strings.Repeat(" ", 1<<20)), wants: answers("404")},
	{name: "a large body without a key", bytes: unsigned("POST /v1/quotes") + length(1<<20) + "\r\n" + strings.Repeat(" ", 1<<20),
		wants: answers(badKey)},
	{name: "a large body of another type", bytes: post("/v1/quotes", padded(mostBody+1), "Content-Type: text/plain"),
		wants: answers(tooLarge)},
	{name: "a large body that is waited for", bytes: trip("Expect: 100-continue\r\n"+length(1<<20), ""), wants: answers(tooLarge)},
	{name: "a body that is waited for", bytes: trip("Expect: 100-continue\r\n"+length(len(quoteBody)), quoteBody), wants: answers("200")},
	{name: "a body that is waited for, in capitals", bytes: trip("Expect: 100-CONTINUE\r\n"+length(len(quoteBody)), quoteBody),
		wants: answers("200")},
	{name: "a body that is waited for in vain", bytes: trip("Expect: 100-continue\r\n"+length(len(quoteBody)), ""), wants: answers("400"),
		half: true},
	{name: "an unknown expectation of a body", bytes: trip("Expect: a-miracle\r\n"+length(len(quoteBody)), quoteBody), wants: answers("417")},
	{name: "a length of 2^63-1", bytes: trip("Content-Length: 9223372036854775807\r\n", quoteBody), wants: answers(tooLarge)},
	{name: "a length of a terabyte", bytes: trip("Content-Length: 1099511627776\r\n", ""), wants: answers(tooLarge)},
	{name: "a length beyond what comes", bytes: trip(length(len(quoteBody)+1), quoteBody), wants: answers("400"), half: true},
	{name: "a length and nothing", bytes: trip(length(len(quoteBody)), ""), wants: answers("400"), half: true},
	{name: "half a body", bytes: trip(length(len(quoteBody)), quoteBody[:len(quoteBody)/2]), wants: answers("400"), half: true},
	{name: "a length short by one", bytes: trip(length(len(quoteBody)-1), quoteBody), wants: answers(invalidRequest), half: true},
	{name: "a length of zero before a body", bytes: trip(length(0), quoteBody), wants: answers(invalidRequest, invalidRequest), half: true},
	{name: "a body behind a GET", bytes: get("/v1/api-key") + quoteBody, wants: answers("200", invalidRequest), half: true},
	{name: "a body in a GET", bytes: open("GET /v1/api-key") + length(len(quoteBody)) + "\r\n" + quoteBody, wants: answers(invalidRequest)},
	{name: "an empty object in a GET", bytes: open("GET /v1/api-key") + length(2) + "\r\n{}", wants: answers("200")},
	{name: "a bulk of 1 MiB", bytes: bulkBody(paddedBulk(mostBulk)), wants: answers("201")},
	{name: "a bulk of 1 MiB and a byte", bytes: bulkBody(paddedBulk(mostBulk + 1)), wants: answers(tooLarge)},
	{name: "a bulk of 8 MiB", bytes: bulkBody(paddedBulk(8 << 20)), wants: answers(tooLarge)},
	{name: "a bulk in chunks of 1 MiB", bytes: open("POST /v1/deliveries/bulk") + "Idempotency-Key: {idem}\r\n" + chunked + "\r\n" +
		chunk(paddedBulk(mostBulk)) + last, wants: answers("201")},
	{name: "a bulk in chunks of 1 MiB and a byte", bytes: open("POST /v1/deliveries/bulk") + "Idempotency-Key: {idem}\r\n" + chunked + "\r\n" +
		chunk(paddedBulk(mostBulk+1)) + last, wants: answers(tooLarge)},
	{name: "a bulk of half a million numbers", bytes: bulkOf(many("0")), wants: answers(wrongValue)},
	{name: "a bulk of 350,000 empty orders", bytes: bulkOf(many("{}")), wants: answers(wrongValue)},
	{name: "a bulk of 20,000 nested items", bytes: bulkOf(many(strings.Repeat("[", 13) + "0" + strings.Repeat("]", 13))),
		wants: answers(wrongValue)},
	{name: "a bulk of a million brackets", bytes: bulkBody(strings.Repeat("[", mostBulk)), wants: answers(invalidRequest)},
	{name: "a bulk of a million open items", bytes: bulkOf(strings.Repeat(`{"payment":`, 90_000)), wants: answers(invalidRequest)},
	{name: "a bulk of 100,000 unknown names", bytes: bulkOf("{" + manyNames(100_000) + "}"), wants: answers(invalidRequest)},
	{name: "a bulk of 200,000 equal names", bytes: bulkOf("{" + many(`"a":1`) + "}"), wants: answers(invalidRequest)},
	{name: "a bulk of one long text", bytes: bulkOf(`"` + strings.Repeat("n", mostBulk-100) + `"`), wants: answers(wrongItems)},
	{name: "a bulk of one long number", bytes: bulkOf(strings.Repeat("7", mostBulk-100)), wants: answers(wrongItems)},
	{name: "a bulk of one long amount", bytes: bulkOf(swapped(`"delivery_only"`, `"cod","goods_value":1`+strings.Repeat("0", mostBulk-1000))),
		wants: answers(wrongItems)},
	{name: "a bulk of 100 empty orders", bytes: bulkOf(strings.Repeat("{},", 99) + "{}"), wants: answers(wrongItems)},
	{name: "a bulk of 100 long names", bytes: bulkOf(strings.Repeat(`{"recipient":{"name":"`+strings.Repeat("n", 10_000)+`"}},`, 99) + "{}"),
		wants: answers(wrongItems)},
	{name: "a bulk without an end", bytes: open("POST /v1/deliveries/bulk") + "Idempotency-Key: {idem}\r\n" + length(mostBulk) + "\r\n" +
		paddedBulk(1000), wants: answers(invalidRequest), half: true},
	{name: "a large body for the cancel of a bulk", bytes: post("/v1/deliveries/bulk/cancel", strings.Repeat(" ", mostBody+1)),
		wants: answers(nowhere)},
	{name: "no body for a POST", bytes: open("POST /v1/quotes") + "\r\n", wants: answers(invalidRequest)},
}

// hostileConversations are connections that are used in odd ways.
var hostileConversations = []wire{
	{name: "20 requests at once", bytes: strings.Repeat(get("/v1/api-key"), 20), wants: strings.Split(strings.Repeat("200,", 19)+"200", ",")},
	{name: "good and bad requests in turn", bytes: get("/v1/api-key") + get("/v1/nothing") + post("/v1/quotes", "{") + get("/v1/api-key"),
		wants: answers("200", "404", invalidRequest, "200")},
	{name: "a good request, then nonsense", bytes: get("/v1/api-key") + "\x00\x01\x02\r\n\r\n", wants: answers("200", invalidRequest)},
	{name: "nonsense, then a good request", bytes: "nonsense\r\n\r\n" + get("/v1/api-key"), wants: answers(invalidRequest)},
	{name: "one create twice at once", bytes: strings.Repeat(post("/v1/recipients", `{"phone_number":"+233241234567"}`,
		"Idempotency-Key: twice-at-once"), 2), wants: answers("2xx", "2xx")},
	{name: "a request and a goodbye", bytes: get("/v1/api-key", "Connection: close") + get("/v1/api-key"), wants: answers("200")},
	{name: "a request and half a goodbye", bytes: get("/v1/api-key"), wants: answers("200"), half: true},
	{name: "a list and half a goodbye", bytes: get("/v1/deliveries"), wants: answers("200"), half: true},
	{name: "a create and half a goodbye", bytes: post("/v1/deliveries", soundOrder, "Idempotency-Key: {idem}"), wants: answers("201"),
		half: true},
	{name: "a quote and half a goodbye", bytes: post("/v1/quotes", quoteBody), wants: answers("200"), half: true},
	{name: "a cancel and half a goodbye", bytes: open("POST /v1/deliveries/{dlv}/cancel") + "\r\n", wants: answers("200"), half: true},
	{name: "a connection for nothing", bytes: "", wants: answers(cut), half: true},
	{name: "one letter", bytes: "G", wants: answers(invalidRequest), half: true},
	{name: "half a request line", bytes: "GET /v1/api", wants: answers(invalidRequest), half: true},
	{name: "half a header", bytes: "GET /v1/api-key HTTP/1.1\r\nHost: {host}\r\nAuthoriz", wants: answers(invalidRequest), half: true},
	{name: "headers without an end", bytes: "GET /v1/api-key HTTP/1.1\r\nHost: {host}\r\n", wants: answers(invalidRequest), half: true},
}

func (g *siege) sizes(t *testing.T) { g.fire(t, hostileSizes) }

// conversations also hangs up without reading, which leaves no one to answer.
func (g *siege) conversations(t *testing.T) {
	g.fire(t, hostileConversations)
	g.impostor(t)
	for i, bytes := range []string{
		get("/v1/deliveries"), post("/v1/deliveries", soundOrder, "Idempotency-Key: {idem}"), trip(length(1<<20), "{"), trip(chunked, "ff\r\n{"),
		"GET /", "",
	} {
		for _, linger := range []int{-1, 0} { // an orderly end, and a reset
			conn := g.dial(t)
			if err := conn.SetLinger(linger); err != nil {
				t.Error(err)
			}
			if _, err := conn.Write([]byte(g.fill(bytes))); err != nil {
				t.Error(err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			g.count.add(func(c *tally) { c.names[fmt.Sprintf("hanging up, %d, %d", i, linger)] = true; c.cut++ })
		}
	}
	g.healthy(t)
}

// impostor stores text that looks like an answer of HTTP, and reads it back
// with every shift that brings another part of it to where a packet begins.
func (g *siege) impostor(t *testing.T) {
	t.Helper()
	const lie = "HTTP/1.1 404 "
	person := g.post("/recipients", m{"phone_number": newPhone()}).is(201).id()
	for i := range 10 {
		notes := strings.Repeat(lie, 500/len(lie))
		g.post("/recipients/"+person+"/addresses", anAddress(set("address", fmt.Sprint(i, notes[:480])), set("delivery_notes", notes))).is(201)
	}
	for shift := range len(lie) {
		g.exchange(t, wire{
			name: fmt.Sprintf("an answer within an answer, shifted by %d", shift), wants: answers("200"),
			bytes: get("/v1/recipients/"+person+"/addresses", "X-Request-ID: "+strings.Repeat("r", 1+shift)),
		})
	}
}
