package e2e

import (
	"strconv"
	"strings"
	"testing"
)

const (
	wrongValue = "422 VALIDATION_ERROR"
	wrongItems = "422 BULK_VALIDATION_FAILED"
	// The sandbox object is refused on live before its fields are read.
	wrongSandbox = wrongValue + "|400 SANDBOX_ONLY_FIELD"
)

// helperPath is where the test helpers of a delivery are. The live host has
// nothing there, whatever is sent.
const helperPath = "/test-helpers/deliveries/{dlv}"

// listenerPath is only in the sandbox, too.
const listenerPath = "/webhook-listeners"

// helped is what a test helper should answer.
func (g *siege) helped(want string) string {
	if g.env == live {
		return nowhere
	}
	return want
}

// wrongKinds are, for a kind of field, JSON values that are of another.
var wrongKinds = map[string][]string{
	"text":   {`5`, `true`, `[]`, `{}`, `["x"]`, `{"$ne":null}`},
	"number": {`"5"`, `""`, `true`, `[]`, `{}`, `[5]`, `{"value":5}`, `"NaN"`},
	"object": {`"x"`, `5`, `false`, `[]`, `[{}]`},
	"yes/no": {`"true"`, `1`, `0`, `"yes"`, `[]`, `{}`},
	"array":  {`"[]"`, `5`, `true`, `{}`, `{"0":{}}`, `{"length":1}`},
}

// fieldsOf says what kind of value each field of each write is, and which of
// them cannot be null.
var fieldsOf = []struct {
	method, path string
	body         func() m
	fields       string // name kind, name kind; ! where it is required
}{
	{"POST", "/deliveries", func() m { return anOrder(set("sandbox", m{})) },
		"external_id text, recipient_id text, recipient_address_id text, recipient object, recipient.name text, " +
			"recipient.phone_number! text, recipient.address! object, recipient.address.label text, recipient.address.address! text, " +
			"recipient.address.latitude! number, recipient.address.longitude! number, recipient.address.municipality text, " +
			"recipient.address.delivery_notes text, pickup object, pickup.name! text, pickup.contact! text, pickup.address! text, " +
			"pickup.latitude! number, pickup.longitude! number, pickup_location_id text, payment! object, payment.type! text, " +
			"payment.goods_value number, vehicle_type! text, delivery_instructions text, sandbox object, sandbox.scenario! text, " +
			"sandbox.step_seconds number"},
	{"POST", "/deliveries/bulk", func() m { return m{} }, "deliveries! array"},
	{"POST", "/quotes", func() m { return aTrip() },
		"pickup object, pickup.latitude! number, pickup.longitude! number, pickup_location_id text, dropoff! object, " +
			"dropoff.latitude! number, dropoff.longitude! number, vehicle_type! text"},
	{"POST", "/recipients", func() m { return m{"phone_number": newPhone()} }, "phone_number! text, name text"},
	{"POST", "/recipients/{rcp}/addresses", func() m { return anAddress() },
		"label text, address! text, latitude! number, longitude! number, municipality text, delivery_notes text"},
	{"POST", "/pickup-locations", func() m { return aPlace() },
		"name! text, contact text, address! text, latitude number, longitude number, active yes/no"},
	{"PATCH", "/pickup-locations/{pkp}", func() m { return m{} },
		"name text, contact text, address text, latitude number, longitude number, active yes/no"},
	{"POST", helperPath + "/transition", func() m { return m{"status": "picked_up"} }, "status! text"},
	{"POST", helperPath + "/simulation", func() m { return m{"scenario": "manual"} }, "scenario! text, step_seconds number"},
	{"POST", "/webhook-endpoints", func() m { return anEndpoint() }, "url! text, event_types array, description text, enabled yes/no"},
	{"PATCH", "/webhook-endpoints/{whe}", func() m { return m{} }, "url text, event_types array, description text, enabled yes/no"},
	{"POST", "/webhook-endpoints/{whe}/rotate-secret", func() m { return m{} }, "overlap_seconds number"},
	{"POST", "/webhook-endpoints/{whe}/recover", func() m { return m{"since": "2026-01-01T00:00:00Z"} }, "since! text, until text, only text"},
	{"POST", listenerPath, func() m { return m{} }, "event_types array"},
}

// with puts raw JSON text in the place of a field.
func rawField(body m, field, raw string) string {
	const slot = "~slot~"
	at := body
	names := strings.Split(field, ".")
	for _, name := range names[:len(names)-1] {
		inner, ok := at[name].(m)
		if !ok {
			inner = m{}
			at[name] = inner
		}
		at = inner
	}
	at[names[len(names)-1]] = slot
	return strings.Replace(string(render(body)), `"`+slot+`"`, raw, 1)
}

// kinds sends, for every field of every write, values of every other kind,
// and numbers that no field takes.
func (g *siege) kinds(t *testing.T) {
	for _, op := range fieldsOf {
		unknown := invalidRequest
		if strings.HasPrefix(op.path, helperPath) || strings.HasPrefix(op.path, listenerPath) {
			unknown = g.helped(invalidRequest)
		}
		g.hit(t, op.method+" "+op.path+" with an unknown field", unknown, op.method, g.fill(op.path), m{"x": 1})
		for entry := range strings.SplitSeq(op.fields, ", ") {
			field, kind, _ := strings.Cut(entry, " ")
			field, required := strings.CutSuffix(field, "!")
			body := func() m {
				body := op.body()
				if !strings.HasPrefix(field, "sandbox") {
					delete(body, "sandbox")
				}
				return body
			}
			want := wrongValue
			if strings.HasPrefix(field, "sandbox") {
				want = wrongSandbox
			}
			if strings.HasPrefix(op.path, helperPath) || strings.HasPrefix(op.path, listenerPath) {
				want = g.helped(wrongValue)
			}
			for _, raw := range wrongKinds[kind] {
				g.hit(t, op.method+" "+op.path+": "+field+" is "+raw, want, op.method, g.fill(op.path), rawField(body(), field, raw))
				if op.path == "/deliveries" {
					g.inBulk(t, field+" is "+raw, want, rawField(body(), field, raw))
				}
			}
			if required {
				g.hit(t, op.method+" "+op.path+": "+field+" is null", want, op.method, g.fill(op.path), rawField(body(), field, "null"))
			}
		}
	}
	for _, raw := range wrongKinds["object"] {
		g.inBulk(t, "an item is "+raw, wrongValue, raw)
	}
	g.inBulk(t, "an item is null", wrongValue, "null")
	g.numbers(t)
	g.healthy(t)
}

// inBulk sends what is wrong with an order as the second item of a bulk.
func (g *siege) inBulk(t *testing.T, name, want, order string) {
	t.Helper()
	g.hit(t, "POST /deliveries/bulk: "+name, strings.ReplaceAll(want, wrongValue, wrongItems), "POST", "/deliveries/bulk",
		`{"deliveries":[`+soundOrder+`,`+order+`]}`)
}

// numbers are texts that JSON takes for a number and programs trip over.
func (g *siege) numbers(t *testing.T) {
	digits := strings.Repeat("7", 10_000)
	for raw, want := range map[string]string{
		"1e400": wrongValue, "1e99999999999999999999999999": wrongValue, "90.0000000000001": wrongValue, "9007199254740993": wrongValue,
		digits: wrongValue, "1e" + digits: wrongValue, "1e-999999999": "2xx", "-0.0e-0": "2xx", "0." + digits: "2xx", "1e-" + digits: "2xx",
	} {
		g.hit(t, "latitude of "+brief(raw), want, "POST", "/recipients/"+g.name["{rcp}"]+"/addresses", rawField(anAddress(), "latitude", raw))
	}
	for _, raw := range []string{"0", "301", "1.5", "1e999999999", "1e-999999999", "9223372036854775808"} {
		g.hit(t, "step_seconds of "+raw, wrongSandbox, "POST", "/deliveries",
			rawField(anOrder(set("sandbox", m{"scenario": "manual"})), "sandbox.step_seconds", raw))
		g.hit(t, "step_seconds of "+raw+" for a start", g.helped(wrongValue), "POST", g.fill(helperPath+"/simulation"),
			rawField(m{"scenario": "delivered"}, "step_seconds", raw))
	}
	for _, raw := range []string{`"DELIVERED"`, `" delivered"`, `"running"`, `"dеlivered"`} { // the last has a Cyrillic e
		g.hit(t, "scenario of "+raw, wrongSandbox, "POST", "/deliveries", rawField(anOrder(set("sandbox", m{})), "sandbox.scenario", raw))
		g.hit(t, "status of "+raw, g.helped(wrongValue), "POST", g.fill(helperPath+"/transition"), rawField(m{}, "status", raw))
	}
	for _, raw := range []string{`"BIKE"`, `" bike"`, `""`, `"bike,car"`} {
		g.hit(t, "vehicle_type of "+raw, wrongValue, "POST", "/quotes", rawField(aTrip(), "vehicle_type", raw))
	}
	for _, raw := range []string{`""`, `"RCP_1"`, `"../../recipients"`, `"rcp_\u0001"`, `"rcp_\u202e"`, `"` + strings.Repeat("rcp_", 9_000) + `"`} {
		body := anOrder(drop("recipient"), set("recipient_address_id", g.name["{adr}"]))
		g.hit(t, "recipient_id of "+brief(raw), nowhere, "POST", "/deliveries", rawField(body, "recipient_id", raw))
	}
}

// brief shortens a value for its name.
func brief(raw string) string {
	if len(raw) > 40 {
		return raw[:30] + "... of " + strconv.Itoa(len(raw)) + " bytes"
	}
	return raw
}
