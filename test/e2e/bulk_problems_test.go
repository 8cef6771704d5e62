package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// problems checks that a bulk of so many items is refused for exactly these
// reasons, in this order, each as "index code" or "index code field".
func (a *answer) problems(items int, want ...string) *answer {
	a.t.Helper()
	a.refused(422, "BULK_VALIDATION_FAILED")
	var got []string
	broken := map[string]bool{}
	for i := range a.count("error.details.errors") {
		at := "error.details.errors." + strconv.Itoa(i)
		index := a.text(at + ".index")
		broken[index] = true
		got = append(got, strings.TrimSpace(index+" "+a.text(at+".code")+" "+a.text(at+".field")))
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			a.t.Errorf("%s told, from problem %d on, %q, want %q", a.what, i, got[min(i, len(got)):], want[min(i, len(want)):])
			break
		}
	}
	noun := func(n int, one string) string {
		return fmt.Sprintf("%d %s%s", n, one, map[bool]string{false: "s"}[n == 1])
	}
	return a.has("message", noun(len(want), "problem")+" in "+strconv.Itoa(len(broken))+" of "+noun(items, "item")+"; nothing was created.")
}

func TestTheNumberOfItemsIsOneToAHundred(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		for body, problem := range map[string]string{
			`{}`: "required", `{"deliveries":null}`: "required", `{"deliveries":[]}`: "too_short",
			`{"deliveries":{}}`: "invalid_type", `{"deliveries":"[]"}`: "invalid_type", `{"deliveries":1}`: "invalid_type",
			`{"deliveries":true}`: "invalid_type",
			`{"deliveries":[` + strings.Repeat("null,", 100) + `null]}`: "too_long",
		} {
			c.post("/deliveries/bulk", body).invalid("deliveries " + problem)
		}
		orders := manyOrders(101)
		orders[7] = m{"vehicle_type": "boat"}
		c.post("/deliveries/bulk", aBulk(orders...)).invalid("deliveries too_long").
			has("message", "deliveries: must have 1 to 100 items; it has 101")
		if n := len(c.get("/deliveries").ids()); n != 0 {
			t.Errorf("refusals left %d deliveries behind", n)
		}
	})
}

func TestAnUnknownFieldAnywhereInABulkIsNamed(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		unknown := func(body any, field, suggestion, message string) {
			t.Helper()
			a := c.post("/deliveries/bulk", body).refused(400, "INVALID_REQUEST").
				has("error.details.field", field, "message", "Unknown field "+field+"."+message)
			if suggestion == "" {
				a.lacks("error.details.suggestion")
			} else {
				a.has("error.details.suggestion", suggestion)
			}
		}
		orders := manyOrders(101)
		orders[100]["rider"] = nil
		orders[3] = m{"sandbox": 5}
		unknown(aBulk(orders...), "deliveries[100].rider", "", " deliveries[100] takes delivery_instructions, external_id, payment, pickup, "+
			"pickup_location_id, recipient, recipient_address_id, recipient_id, sandbox, vehicle_type.")
		unknown(`{"deliveries":[{},[],5,{"recipient":{"address":{"lattitude":1}}}]}`, "deliveries[3].recipient.address.lattitude",
			"deliveries[3].recipient.address.latitude", " Did you mean deliveries[3].recipient.address.latitude? "+
				"deliveries[3].recipient.address takes address, delivery_notes, label, latitude, longitude, municipality.")
		unknown(`{"delivereis":[]}`, "delivereis", "deliveries", " Did you mean deliveries? This call takes deliveries.")
		unknown(`{"deliveries":[{}],"sandbox":{}}`, "sandbox", "", " This call takes deliveries.")
		// A body of the other call is no body of this one, and the other way round.
		unknown(`{"vehicle_type":"bike"}`, "vehicle_type", "", " This call takes deliveries.")
		c.post("/deliveries", aBulk(anOrder())).refused(400, "INVALID_REQUEST").has("error.details.field", "deliveries")
		// A name twice is told with its place.
		c.post("/deliveries/bulk", `{"deliveries":[{},{"payment":{"type":"cod","type":"cod"}}]}`).refused(400, "INVALID_REQUEST").
			has("error.details.field", "deliveries[1].payment.type")
	})
}

// itemCase is an item and its problems, each as "code" or "code field".
type itemCase struct {
	item     any
	problems []string
}

func bad(item any, problems ...string) itemCase { return itemCase{item, problems} }

// wrong tells of fields that are not acceptable by themselves.
func wrong(fields ...string) []string {
	var problems []string
	for _, f := range fields {
		problems = append(problems, "VALIDATION_ERROR "+f)
	}
	return problems
}

// brokenItems are items of a bulk with everything that can be wrong with one.
func brokenItems(c *client, foreign *client) []itemCase {
	person := c.post("/recipients", m{"phone_number": newPhone()}).is(201).id()
	other := c.post("/recipients", m{"phone_number": newPhone()}).is(201).id()
	home := c.post("/recipients/"+person+"/addresses", anAddress()).is(201).id()
	away := c.post("/recipients/"+person+"/addresses", anAddress(set("address", "10 Downing Street"), set("latitude", 51.5))).is(201).id()
	theirs := foreign.post("/recipients", m{"phone_number": newPhone()}).is(201).id()
	theirHome := foreign.post("/recipients/"+theirs+"/addresses", anAddress()).is(201).id()
	place := c.post("/pickup-locations", aPlace()).is(201).id()
	closed := c.post("/pickup-locations", aPlace(set("active", false))).is(201).id()
	noContact := c.post("/pickup-locations", aPlace(drop("contact"))).is(201).id()
	noPoint := c.post("/pickup-locations", aPlace(drop("latitude", "longitude"))).is(201).id()
	outside := c.post("/pickup-locations", aPlace(set("latitude", 51.5))).is(201).id()
	theirPlace := foreign.post("/pickup-locations", aPlace()).is(201).id()
	to := func(recipient, address any) change {
		return func(o m) {
			apply(o, []change{drop("recipient"), set("recipient_id", recipient), set("recipient_address_id", address)})
		}
	}
	from := func(place any) change {
		return func(o m) { apply(o, []change{drop("pickup"), set("pickup_location_id", place)}) }
	}
	cases := []itemCase{
		bad(nil, "VALIDATION_ERROR"), bad(5, "VALIDATION_ERROR"), bad("order", "VALIDATION_ERROR"), bad(true, "VALIDATION_ERROR"),
		bad([]any{anOrder()}, "VALIDATION_ERROR"),
		bad(m{}, append(wrong("payment", "vehicle_type"), "RECIPIENT_SHAPE_CONFLICT", "PICKUP_SHAPE_CONFLICT")...),

		bad(anOrder(set("external_id", 5)), wrong("external_id")...),
		bad(anOrder(set("external_id", " ")), wrong("external_id")...),
		bad(anOrder(set("external_id", long(129))), wrong("external_id")...),
		bad(anOrder(set("external_id", "a\u202eb")), wrong("external_id")...),
		bad(anOrder(set("recipient", "Ama")), wrong("recipient")...),
		bad(anOrder(set("recipient", m{})), wrong("recipient.phone_number", "recipient.address")...),
		bad(anOrder(inner("recipient", set("name", long(129)))), wrong("recipient.name")...),
		bad(anOrder(inner("recipient", set("phone_number", "12"))), wrong("recipient.phone_number")...),
		bad(anOrder(inner("recipient", set("address", []any{}))), wrong("recipient.address")...),
		bad(anOrder(inner("recipient", inner("address", drop("address"), set("latitude", 91), set("longitude", "x")))),
			wrong("recipient.address.address", "recipient.address.latitude", "recipient.address.longitude")...),
		bad(anOrder(inner("recipient", inner("address", set("label", long(65)), set("municipality", long(129)),
			set("delivery_notes", long(501))))),
			wrong("recipient.address.label", "recipient.address.municipality", "recipient.address.delivery_notes")...),
		bad(anOrder(set("pickup", 5)), wrong("pickup")...),
		bad(anOrder(set("pickup", m{})), wrong("pickup.name", "pickup.contact", "pickup.address", "pickup.latitude", "pickup.longitude")...),
		bad(anOrder(inner("pickup", set("contact", nil), set("address", "x"))), wrong("pickup.contact", "pickup.address")...),
		bad(anOrder(drop("payment")), wrong("payment")...),
		bad(anOrder(set("payment", m{"type": "card"})), wrong("payment.type")...),
		bad(anOrder(set("payment", m{"type": "delivery_only", "goods_value": 5})), wrong("payment.goods_value")...),
		bad(anOrder(set("payment", m{"type": "cod", "goods_value": 1.001})), wrong("payment.goods_value")...),
		bad(anOrder(set("vehicle_type", "boat")), wrong("vehicle_type")...),
		bad(anOrder(set("delivery_instructions", long(501))), wrong("delivery_instructions")...),
		bad(anOrder(drop("recipient"), set("recipient_id", 5), set("recipient_address_id", m{})),
			wrong("recipient_id", "recipient_address_id")...),
		bad(anOrder(drop("pickup"), set("pickup_location_id", 5)), wrong("pickup_location_id")...),

		bad(anOrder(to(person, home), set("recipient", anOrder()["recipient"])), "RECIPIENT_SHAPE_CONFLICT"),
		bad(anOrder(set("recipient_id", person)), "RECIPIENT_SHAPE_CONFLICT"),
		bad(anOrder(set("recipient_address_id", home)), "RECIPIENT_SHAPE_CONFLICT"),
		bad(anOrder(to(person, nil)), "RECIPIENT_SHAPE_CONFLICT"),
		bad(anOrder(to(nil, home)), "RECIPIENT_SHAPE_CONFLICT"),
		bad(anOrder(drop("recipient")), "RECIPIENT_SHAPE_CONFLICT"),
		bad(anOrder(set("pickup_location_id", place)), "PICKUP_SHAPE_CONFLICT"),
		bad(anOrder(drop("pickup")), "PICKUP_SHAPE_CONFLICT"),

		bad(anOrder(set("payment", m{"type": "cod"})), "COD_GOODS_VALUE_REQUIRED"),
		bad(anOrder(set("payment", m{"type": "cod", "goods_value": nil})), "COD_GOODS_VALUE_REQUIRED"),
		bad(anOrder(set("payment", m{"type": "cod", "goods_value": 0})), "COD_GOODS_VALUE_REQUIRED"),
		bad(anOrder(set("payment", m{"type": "cod", "goods_value": -1})), "COD_GOODS_VALUE_REQUIRED"),

		bad(anOrder(to("rcp_x", home)), "NOT_FOUND"), bad(anOrder(to("x\u0007", home)), "NOT_FOUND"), bad(anOrder(to(unknown("rcp_"), home)), "NOT_FOUND"),
		bad(anOrder(to(theirs, theirHome)), "NOT_FOUND"), bad(anOrder(to(person, theirHome)), "NOT_FOUND"),
		bad(anOrder(to(person, "adr_x")), "NOT_FOUND"), bad(anOrder(to(person, unknown("adr_"))), "NOT_FOUND"),
		bad(anOrder(to(other, home)), "NOT_FOUND"), bad(anOrder(to("", "")), "NOT_FOUND"),

		bad(anOrder(from("here")), "PICKUP_LOCATION_NOT_FOUND"), bad(anOrder(from("x\u0007")), "PICKUP_LOCATION_NOT_FOUND"), bad(anOrder(from(unknown("pkp_"))), "PICKUP_LOCATION_NOT_FOUND"),
		bad(anOrder(from(theirPlace)), "PICKUP_LOCATION_NOT_FOUND"),
		bad(anOrder(from(closed)), "PICKUP_LOCATION_INACTIVE"),
		bad(anOrder(from(noContact)), "PICKUP_LOCATION_INCOMPLETE"), bad(anOrder(from(noPoint)), "PICKUP_LOCATION_INCOMPLETE"),

		bad(anOrder(inner("pickup", set("latitude", 51.5))), wrong("pickup")...),
		bad(anOrder(inner("recipient", inner("address", set("latitude", 51.5)))), wrong("recipient.address")...),
		bad(anOrder(from(outside)), wrong("pickup_location_id")...),
		bad(anOrder(to(person, away)), wrong("recipient_address_id")...),

		// Several at once, in the order in which a single create would come to them.
		bad(anOrder(from(outside), to(person, away)), wrong("pickup_location_id", "recipient_address_id")...),
		bad(anOrder(drop("pickup"), set("vehicle_type", "boat"), set("payment", m{"type": "cod"})),
			"VALIDATION_ERROR vehicle_type", "PICKUP_SHAPE_CONFLICT", "COD_GOODS_VALUE_REQUIRED"),
		bad(anOrder(to("rcp_x", home), from(closed), set("payment", m{"type": "cod"})), "COD_GOODS_VALUE_REQUIRED", "NOT_FOUND",
			"PICKUP_LOCATION_INACTIVE"),
		bad(anOrder(set("recipient_id", person), set("pickup_location_id", place), set("external_id", 1)),
			"VALIDATION_ERROR external_id", "RECIPIENT_SHAPE_CONFLICT", "PICKUP_SHAPE_CONFLICT"),
		bad(anOrder(set("recipient", 5), set("recipient_id", person), from("here")),
			"VALIDATION_ERROR recipient", "RECIPIENT_SHAPE_CONFLICT", "PICKUP_LOCATION_NOT_FOUND"),
		bad(anOrder(to("rcp_x", home), inner("pickup", set("latitude", 51.5))), "VALIDATION_ERROR pickup", "NOT_FOUND"),
	}
	if c.env == sandbox {
		cases = append(cases,
			bad(anOrder(set("sandbox", 5)), wrong("sandbox")...),
			bad(anOrder(set("sandbox", m{})), wrong("sandbox.scenario")...),
			bad(anOrder(set("sandbox", m{"scenario": "none", "step_seconds": 301})), wrong("sandbox.scenario", "sandbox.step_seconds")...))
	}
	return cases
}

func TestEveryProblemOfEveryItemIsToldAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.loner(t, env)
		cases := brokenItems(c, s.loner(t, env))
		people := len(walk(t, c, "/recipients", 100))
		var items []any
		var want []string
		for _, broken := range cases {
			for _, p := range broken.problems {
				want = append(want, strconv.Itoa(len(items))+" "+p)
			}
			items = append(items, broken.item)
			if len(items)%5 == 1 { // with sound ones among them
				items = append(items, anOrder(set("external_id", newExternalID())))
			}
		}
		key := newKeyText()
		a := c.post("/deliveries/bulk", m{"deliveries": items}, idem(key)).problems(len(items), want...)

		// What a single create says of the item is what is said of it here.
		at := 0
		for _, broken := range cases {
			problem := "error.details.errors." + strconv.Itoa(at)
			at += len(broken.problems)
			if _, object := broken.item.(m); !object {
				if message := a.text(problem + ".message"); !strings.HasPrefix(message, "must be an object, not ") {
					t.Errorf("%v is told as %q", broken.item, message)
				}
				continue
			}
			code, _, _ := strings.Cut(broken.problems[0], " ")
			single := c.post("/deliveries", broken.item)
			single.refused(map[bool]int{true: 404, false: 422}[code == "NOT_FOUND"], code)
			if len(broken.problems) == 1 && single.text("message") != a.text(problem+".message") {
				t.Errorf("alone %s, in a bulk %q", single.body, a.text(problem+".message"))
			}
		}
		if n := len(c.get("/deliveries").ids()); n != 0 {
			t.Errorf("refusals left %d deliveries behind", n)
		}
		if n := len(walk(t, c, "/recipients", 100)); n != people {
			t.Errorf("refusals left %d recipients behind", n-people)
		}
		// The key is free for a request without those problems.
		c.post("/deliveries/bulk", aBulk(anOrder()), idem(key)).outcomes("created").replayed(false)
	})
}

func TestTwoItemsOfABulkCannotShareAnExternalID(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		name := newExternalID()
		orders := manyOrders(8)
		orders[2]["external_id"], orders[4]["external_id"], orders[7]["external_id"] = name, "  "+name+" ", name
		orders[5]["external_id"] = strings.ToUpper(name) // case matters
		orders[6]["external_id"], orders[0]["external_id"] = nil, nil
		orders[4]["vehicle_type"] = "boat"
		c.post("/deliveries/bulk", aBulk(orders...)).
			problems(8, "4 VALIDATION_ERROR vehicle_type", "4 DUPLICATE_EXTERNAL_ID external_id", "7 DUPLICATE_EXTERNAL_ID external_id").
			has("error.details.errors.1.message", "external_id "+name+" is already that of item 2.",
				"error.details.errors.2.message", "external_id "+name+" is already that of item 2.")
		// One that is not acceptable anyway is no duplicate, and is not repeated to the caller.
		orders = manyOrders(2, func(int) change { return set("external_id", "a\u202eb") })
		a := c.post("/deliveries/bulk", aBulk(orders...)).problems(2, "0 VALIDATION_ERROR external_id", "1 VALIDATION_ERROR external_id")
		if strings.Contains(string(a.body), "\u202e") {
			t.Errorf("what cannot be printed is repeated: %s", a.body)
		}
		if n := len(c.get("/deliveries").ids()); n != 0 {
			t.Errorf("refusals left %d deliveries behind", n)
		}
	})
}

func TestTheSandboxFieldOfAnyItemRefusesABulkOnLive(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, live)
		simulated := anOrder(set("sandbox", m{"scenario": "manual"}))
		key := newKeyText()
		crowd := append(manyOrders(100), simulated)
		for name, body := range map[string]any{
			"alone": aBulk(simulated), "the last of three": aBulk(anOrder(), anOrder(), simulated), "one of 101": aBulk(crowd...),
			"beside broken items": `{"deliveries":[5,{},null,{"sandbox":{"scenario":"manual"}}]}`,
			"broken itself":       `{"deliveries":[{"sandbox":1,"vehicle_type":1}]}`, "empty": `{"deliveries":[{"sandbox":{}}]}`,
		} {
			t.Log(name)
			c.post("/deliveries/bulk", body, idem(key)).refused(400, "SANDBOX_ONLY_FIELD")
		}
		if n := len(c.get("/deliveries").ids()); n != 0 {
			t.Errorf("refusals left %d deliveries behind", n)
		}
		// What is not there is not refused.
		c.post("/deliveries/bulk", aBulk(anOrder(set("sandbox", nil))), idem(key)).outcomes("created")

		c = c.in(sandbox)
		a := c.post("/deliveries/bulk", aBulk(simulated, anOrder())).outcomes("created", "created")
		for _, i := range []string{"0", "1"} {
			a.has("data.results."+i+".delivery.simulation.scenario", "manual", "data.results."+i+".delivery.simulation.status", "idle")
		}
	})
}

func TestABulkMayHaveAMebibyte(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		const most = 1 << 20
		// Valid to the last field: 100 orders with notes that are long on the wire.
		wide := strings.Repeat(`\ud83d\ude00`, 418)
		orders := make([]string, 100)
		for i := range orders {
			orders[i] = strings.Replace(string(render(anOrder(inner("recipient", inner("address", set("delivery_notes", "~slot~"))),
				set("delivery_instructions", "~slot~")))), `"~slot~"`, `"`+wide+`"`, 2)
		}
		large := `{"deliveries":[` + strings.Join(orders, ",") + `]}`
		if len(large) < most-20<<10 || len(large) > most {
			t.Fatalf("the body has %d bytes", len(large))
		}
		pad := func(body string, n int) string { return body + strings.Repeat(" ", n-len(body)) }
		chunked := func(r *http.Request) { r.ContentLength = -1 }
		c.post("/deliveries/bulk", pad(large, most)).outcomes(times("created", 100)...)
		c.post("/deliveries/bulk", pad(string(render(aBulk(anOrder()))), most), chunked).outcomes("created")
		for _, send := range []option{func(*http.Request) {}, chunked, with("Content-Type", "text/plain")} {
			c.post("/deliveries/bulk", pad(large, most+1), send).refused(413, "PAYLOAD_TOO_LARGE").
				has("message", "The body is larger than 1 MiB, the most this call takes. Send less in one request.")
		}
		c.post("/deliveries/bulk", aBulk(anOrder()), with("Content-Type", "text/plain")).refused(415, "UNSUPPORTED_MEDIA_TYPE")
		c.post("/deliveries/bulk?dry_run=true", aBulk(anOrder())).refused(400, "INVALID_REQUEST").has("error.details.field", "dry_run")
		if n := len(walk(t, c, "/deliveries", 100)); n != 101 {
			t.Errorf("there are %d deliveries, want 101", n)
		}
	})
}
