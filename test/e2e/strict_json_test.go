package e2e

import (
	"math"
	"net/http"
	"strings"
	"testing"
)

func TestABodyThatIsNotOneProperObjectIsRefused(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		for name, body := range map[string]string{
			"empty": "", "white space": " \n", "null": "null", "array": "[]", "string": `"x"`, "number": "5", "true": "true",
			"cut off": `{"phone_number":"+23324`, "trailing comma": `{"phone_number":"+233241234567",}`, "comment": `{}// none`,
			"trailing content": `{"phone_number":"+233241234567"}{}`, "trailing word": `{} x`, "trailing NUL": "{}\x00",
			"single quotes": `{'phone_number':'1'}`, "bare name": `{phone_number:"1"}`, "NaN": `{"name":NaN}`, "hex": `{"name":0x1}`,
			"leading zero": `{"name":01}`, "plus": `{"name":+1}`, "dot": `{"name":1.}`, "byte order mark": "\ufeff{}",
			"duplicate name":              `{"phone_number":"+233241234567","phone_number":"+233241234567"}`,
			"duplicate name in an escape": `{"name":"x","n\u0061me":"y"}`,
			"invalid UTF-8":               "{\"name\":\"\xff\"}", "overlong UTF-8": "{\"name\":\"\xc0\xaf\"}",
			"lone surrogate": `{"name":"\ud800"}`, "reversed surrogates": `{"name":"\udc00\ud800"}`,
			"surrogate in UTF-8": "{\"name\":\"\xed\xa0\x80\"}",
			"NUL in a text":      `{"name":"a\u0000b"}`, "raw control character": "{\"name\":\"a\nb\"}", "unknown escape": `{"name":"\x41"}`,
			"deep": `{"name":` + strings.Repeat("[", 16) + strings.Repeat("]", 16) + `}`,
		} {
			a := c.post("/recipients", body).refused(400, "INVALID_REQUEST")
			if a.text("error.details.line") == "" && a.text("error.details.field") == "" {
				t.Errorf("%s: neither a line nor a field: %s", name, a.body)
			}
		}
		c.post("/recipients", "{\n  \"name\": \"x\",\n  oops\n}").refused(400, "INVALID_REQUEST").
			has("error.details.line", "3", "error.details.column", "3")
		// As deep as allowed, it is a wrong type and no wrong syntax.
		c.post("/recipients", `{"phone_number":"+233241234567","name":`+strings.Repeat("[", 15)+strings.Repeat("]", 15)+`}`).
			invalid("name invalid_type")
	})
}

func TestUnknownFieldsAreNamedWithASuggestion(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, live)
		for field, edit := range map[string]change{
			"recepient>recipient":                                    set("recepient", m{}),
			"Vehicle_Type>vehicle_type":                              set("Vehicle_Type", "bike"),
			"externalId>external_id":                                 set("externalId", "x"),
			"recipient.phone>recipient.phone_number":                 inner("recipient", set("phone", "1")),
			"recipient.address.lat>recipient.address.latitude":       inner("recipient", inner("address", set("lat", 1))),
			"recipient.phoneNumber>recipient.phone_number":           inner("recipient", set("phoneNumber", "1")),
			"recipient.address.lattitude>recipient.address.latitude": inner("recipient", inner("address", set("lattitude", 1))),
			"pickup.label>":                                          inner("pickup", set("label", "x")),
			"payment.goods_valu>payment.goods_value":                 inner("payment", set("goods_valu", 1)),
			"zzz>":                                                   set("zzz", nil),
			"status>":                                                set("status", "delivered"),
		} {
			name, suggestion, _ := strings.Cut(field, ">")
			c.post("/deliveries", anOrder(edit)).refused(400, "INVALID_REQUEST").
				has("error.details.field", name, "error.details.suggestion", suggestion)
		}
		c.send("POST", "/quotes", aTrip(inner("pickup", set("name", "x")))).refused(400, "INVALID_REQUEST").
			has("error.details.field", "pickup.name")
		// Before the fields are judged.
		c.post("/deliveries", m{"vehicle_type": 5, "zzz": 1}).refused(400, "INVALID_REQUEST")
	})
}

func TestABodyMustBeJSONInSizeAndKind(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		fine := func() m { return m{"phone_number": newPhone()} }
		for _, kind := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8",
			"application/json; charset=latin1", `application/json; charset="utf8"`} {
			c.post("/recipients", fine(), with("Content-Type", kind)).is(201)
		}
		c.post("/recipients", fine(), func(r *http.Request) { r.Header.Del("Content-Type") }).is(201)
		c.post("/recipients", fine(), with("Content-Encoding", "identity")).is(201)
		for _, kind := range []string{"text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
			"application/json; charset", "application/json2", "json", ";", "application/problem+json"} {
			c.post("/recipients", fine(), with("Content-Type", kind)).refused(415, "UNSUPPORTED_MEDIA_TYPE")
		}
		for _, coding := range []string{"gzip", "br", "deflate", "x"} {
			c.post("/recipients", fine(), with("Content-Encoding", coding)).refused(415, "UNSUPPORTED_MEDIA_TYPE")
		}

		const most = 64 << 10
		pad := func(n int) string {
			body := string(render(fine()))
			return body + strings.Repeat(" ", n-len(body))
		}
		chunked := func(r *http.Request) { r.ContentLength = -1 }
		c.post("/recipients", pad(most)).is(201)
		c.post("/recipients", pad(most), chunked).is(201)
		c.post("/recipients", pad(most+1)).refused(413, "PAYLOAD_TOO_LARGE")
		c.post("/recipients", pad(most+1), chunked).refused(413, "PAYLOAD_TOO_LARGE")
		c.post("/recipients", pad(4<<20), chunked).refused(413, "PAYLOAD_TOO_LARGE")
		c.post("/recipients", pad(most+1), with("Content-Type", "text/plain")).refused(413, "PAYLOAD_TOO_LARGE")
		// Calls that take no body mind one too.
		c.send("GET", "/deliveries", "{}").is(200)
		c.send("GET", "/deliveries", m{"limit": 5}).refused(400, "INVALID_REQUEST")
		c.send("GET", "/deliveries", "{}", with("Content-Type", "text/html")).refused(415, "UNSUPPORTED_MEDIA_TYPE")
	})
}

func TestTextIsTrimmedMeasuredInCharactersAndFreeOfControls(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		exact := strings.Repeat("😀", 500)
		c.post("/deliveries", anOrder(set("delivery_instructions", "\n "+exact+" \t"))).is(201).has("data.delivery_instructions", exact)
		c.post("/deliveries", anOrder(set("delivery_instructions", exact+"!"))).invalid("delivery_instructions too_long")
		c.post("/deliveries", anOrder(set("delivery_instructions", "   "))).is(201).lacks("data.delivery_instructions")
		c.post("/deliveries", anOrder(set("delivery_instructions", "bell\a"))).invalid("delivery_instructions invalid_format")
		c.post("/deliveries", anOrder(inner("pickup", set("name", "two\nlines")))).invalid("pickup.name invalid_format")
		hostile := `<script>"'; DROP TABLE deliveries; --\ ` + "\u200f\u2028"
		c.post("/deliveries", anOrder(set("delivery_instructions", "x"+hostile+"x"))).is(201).has("data.delivery_instructions", "x"+hostile+"x")
		c.post("/deliveries", anOrder(inner("pickup", set("latitude", math.Copysign(0, -1)), set("longitude", 0)))).invalid("pickup out_of_range")
	})
}
