package e2e

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// aBulk is the body of a bulk create.
func aBulk(orders ...m) m {
	items := make([]any, len(orders))
	for i, o := range orders {
		items[i] = o
	}
	return m{"deliveries": items}
}

// manyOrders are n of them, each with an external_id and changes of its own.
func manyOrders(n int, changes ...func(i int) change) []m {
	orders := make([]m, n)
	for i := range orders {
		orders[i] = anOrder(set("external_id", newExternalID()))
		for _, c := range changes {
			c(i)(orders[i])
		}
	}
	return orders
}

// outcomes checks what became of the items in turn, each "created" or the code
// it failed with, and that status, counts and message agree with that.
func (a *answer) outcomes(want ...string) *answer {
	a.t.Helper()
	created := 0
	for i, outcome := range want {
		at := "data.results." + strconv.Itoa(i)
		a.has(at+".index", strconv.Itoa(i))
		if outcome == "created" {
			created++
			a.has(at+".status", "created", at+".delivery.status", "booked").lacks(at + ".error")
		} else {
			a.has(at+".status", "failed", at+".error.code", outcome).lacks(at + ".delivery")
		}
	}
	failed := len(want) - created
	status, message := 201, fmt.Sprintf("%d deliveries booked.", created)
	switch {
	case failed > 0:
		status = 207
		message = fmt.Sprintf("%d of %d deliveries booked. data.results says which failed and why; send those again under a new Idempotency-Key.",
			created, len(want))
	case created == 1:
		message = "1 delivery booked."
	}
	a.is(status).has("success", "true", "statusCode", strconv.Itoa(status), "message", message,
		"data.created", strconv.Itoa(created), "data.failed", strconv.Itoa(failed))
	if n := a.count("data.results"); n != len(want) {
		a.t.Errorf("%s: %d results for %d items", a.what, n, len(want))
	}
	if location := a.header.Get("Location"); location != "" {
		a.t.Errorf("%s: many records have the one Location %s", a.what, location)
	}
	return a
}

// times is an outcome for each of many items.
func times(outcome string, n int) []string { return slices.Repeat([]string{outcome}, n) }

// booked are the IDs that a bulk created, in the order of its results.
func (a *answer) booked() []string {
	var ids []string
	for i := range a.count("data.results") {
		if id := a.text("data.results." + strconv.Itoa(i) + ".delivery.id"); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestABulkBooksEachItemInOrder(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		for _, n := range []int{1, 2, 100} {
			c := s.caller(t, env)
			place := c.post("/pickup-locations", aPlace()).is(201).id()
			vehicles, fees := []string{"bike", "car", "truck"}, []string{"19", "27.5", ""}
			orders := manyOrders(n, func(i int) change { return set("vehicle_type", vehicles[i%3]) }, func(i int) change {
				if i%2 == 0 {
					return set("payment", m{"type": "cod", "goods_value": i + 1})
				}
				return func(o m) { apply(o, []change{drop("pickup"), set("pickup_location_id", place)}) }
			})
			a := c.post("/deliveries/bulk", aBulk(orders...)).outcomes(times("created", n)...).replayed(false)

			last := ""
			for i, o := range orders {
				at := "data.results." + strconv.Itoa(i) + ".delivery"
				a.has(at+".external_id", o["external_id"].(string), at+".environment", env, at+".vehicle_type", vehicles[i%3],
					at+".delivery_fee", fees[i%3], at+".recipient.phone_number", o["recipient"].(m)["phone_number"].(string),
					at+".pickup.name", []string{"Osu kitchen", "Tema depot"}[i%2])
				if made := a.text(at + ".created_at"); made < last {
					t.Errorf("item %d was made at %s, the one before at %s", i, made, last)
				} else {
					last = made
				}
				id := a.text(at + ".id")
				if now := c.get("/deliveries/" + id).is(200); now.text("data") != a.text(at) {
					t.Errorf("item %d is %s, the answer was %s", i, now.text("data"), a.text(at))
				}
				c.get("/deliveries/"+id+"/events").is(200).lacks("data.1").
					has("data.0.type", "delivery.created", "data.0.status", "booked", "data.0.sequence", "1", "data.0.occurred_at",
						a.text(at+".created_at"))
			}
			if listed := walk(t, c, "/deliveries", 30); !slices.Equal(listed, a.booked()) {
				t.Errorf("%d deliveries are listed in another order or number than the %d of the request", len(listed), n)
			}
		}
	})
}

// What one item adds to the directory is there for the next.
func TestTheItemsOfABulkShareTheDirectory(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		phone := newPhone()
		to := func(house int) change {
			return set("recipient", m{"phone_number": phone, "address": anAddress(set("address", fmt.Sprintf("%d Palm Crescent", house)))})
		}
		same := c.post("/deliveries/bulk", aBulk(manyOrders(3, func(int) change { return to(0) })...)).outcomes(times("created", 3)...)
		for _, i := range []string{"1", "2"} {
			same.has("data.results."+i+".delivery.recipient.id", same.text("data.results.0.delivery.recipient.id"),
				"data.results."+i+".delivery.dropoff.id", same.text("data.results.0.delivery.dropoff.id"))
		}
		c.post("/deliveries/bulk", aBulk(manyOrders(100, func(i int) change { return to(i + 1) })...)).outcomes(times("created", 100)...)
		c.post("/deliveries/bulk", aBulk(manyOrders(98, func(i int) change { return to(i + 101) })...)).outcomes(times("created", 98)...)
		// One more address makes 200, the most there may be; what is known goes on.
		streets := func(house ...int) m {
			return aBulk(manyOrders(3, func(i int) change { return to(house[i]) })...)
		}
		c.post("/deliveries/bulk", streets(500, 501, 0)).refused(422, "BULK_VALIDATION_FAILED").
			has("error.details.errors.0.index", "1", "error.details.errors.0.code", "VALIDATION_ERROR",
				"error.details.errors.0.field", "recipient.address").lacks("error.details.errors.1")
		c.post("/deliveries/bulk", streets(500, 500, 0)).outcomes(times("created", 3)...)
		c.get("/recipients/"+same.text("data.results.0.delivery.recipient.id")+"/addresses").is(200).has("meta.limit", "200")
	})
}

func TestAnItemThatCannotBeBookedStopsNoOther(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		taken := c.post("/deliveries", anOrder(set("external_id", newExternalID()))).is(201)
		conflict := takenMessage(taken.text("data.external_id"), taken.id())
		orders := manyOrders(4)
		orders[1]["external_id"] = taken.text("data.external_id")
		key := newKeyText()
		a := c.post("/deliveries/bulk", aBulk(orders...), idem(key)).outcomes("created", "EXTERNAL_ID_CONFLICT", "created", "created").
			has("data.results.1.error.message", conflict)
		c.get("/recipients" + escaped("phone_number", orders[1]["recipient"].(m)["phone_number"].(string))).is(200).lacks("data.0")

		// All of them, and it is still an answer and no refusal.
		all := c.post("/deliveries/bulk", aBulk(orders...)).outcomes(times("EXTERNAL_ID_CONFLICT", 4)...)
		all.has("data.results.1.error.message", conflict, "data.results.0.error.message",
			takenMessage(orders[0]["external_id"].(string), a.booked()[0]))
		if n := len(c.get("/deliveries").ids()); n != 4 {
			t.Errorf("there are %d deliveries, want 4", n)
		}

		// Mended and sent alone, what failed is booked.
		orders[1]["external_id"] = newExternalID()
		c.post("/deliveries/bulk", aBulk(orders[1])).outcomes("created").replayed(false)
		c.post("/deliveries/bulk", aBulk(orders...), idem(key)).refused(409, "IDEMPOTENCY_CONFLICT")
	})
}

func TestABulkIsReplayedToTheByte(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		taken := manyOrders(1)[0]
		c.post("/deliveries", taken).is(201)
		for _, try := range []struct {
			body     m
			outcomes []string
		}{
			{aBulk(manyOrders(3)...), times("created", 3)},
			{aBulk(append(manyOrders(2), taken)...), []string{"created", "created", "EXTERNAL_ID_CONFLICT"}},
			{aBulk(taken), times("EXTERNAL_ID_CONFLICT", 1)},
		} {
			key := newKeyText()
			first := c.post("/deliveries/bulk", try.body, idem(key)).outcomes(try.outcomes...).replayed(false)
			if ids := first.booked(); len(ids) > 0 {
				// What was answered is what was booked, whatever becomes of it.
				c.send("POST", "/deliveries/"+ids[0]+"/cancel", nil).is(200)
			}
			for range 2 {
				again := c.post("/deliveries/bulk", try.body, idem(key)).outcomes(try.outcomes...).replayed(true)
				if !bytes.Equal(again.body, first.body) {
					t.Errorf("the replay is %s, the answer was %s", again.body, first.body)
				}
				if again.header.Get("X-Request-ID") == first.header.Get("X-Request-ID") {
					t.Error("the replay repeats the request ID")
				}
			}
		}
		if n := len(c.get("/deliveries").ids()); n != 6 {
			t.Errorf("there are %d deliveries, want 6", n)
		}
	})
}

func TestTheKeyOfABulkIsForNothingElse(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		key, order := newKeyText(), anOrder()
		c.post("/deliveries/bulk", aBulk(order), idem(key)).outcomes("created")
		conflict := func(path string, body any) {
			t.Helper()
			c.post(path, body, idem(key)).refused(409, "IDEMPOTENCY_CONFLICT").lacks("data")
		}
		conflict("/deliveries", order)
		conflict("/recipients", m{"phone_number": newPhone()})
		conflict("/deliveries/bulk", aBulk(order, anOrder()))
		// It is looked up before anything in the body is judged, and after its syntax.
		conflict("/deliveries/bulk", aBulk())
		conflict("/deliveries/bulk", aBulk(manyOrders(101)...))
		conflict("/deliveries/bulk", aBulk(m{}, anOrder(set("sandbox", m{"scenario": "manual"}))))
		c.post("/deliveries/bulk", aBulk(anOrder(set("vehicel_type", "bike"))), idem(key)).refused(400, "INVALID_REQUEST")

		single := newKeyText()
		c.post("/deliveries", order, idem(single)).is(201)
		c.post("/deliveries/bulk", aBulk(order), idem(single)).refused(409, "IDEMPOTENCY_CONFLICT")
		if n := len(c.get("/deliveries").ids()); n != 2 {
			t.Errorf("there are %d deliveries, want 2", n)
		}
	})
}

func TestTenEqualBulksAtOnceBookEachItemOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		key, body := newKeyText(), aBulk(manyOrders(12)...)
		answers := atOnce(t, 10, func(int) (*answer, error) { return c.try("POST", "/deliveries/bulk", body, idem(key)) })
		created, final := 0, c.post("/deliveries/bulk", body, idem(key)).outcomes(times("created", 12)...).replayed(true)
		for _, a := range answers {
			if a.status == 409 {
				a.refused(409, "IDEMPOTENCY_IN_PROGRESS")
				// No server died here, so no request has to wait for a lease.
				if wait := a.number(t, "Retry-After"); wait != 1 {
					t.Errorf("Retry-After is %d beside a bulk that runs", wait)
				}
				continue
			}
			if !bytes.Equal(a.is(201).body, final.body) {
				t.Errorf("two answers: %s and %s", a.body, final.body)
			}
			if a.header.Get("Idempotent-Replayed") == "" {
				created++
			}
		}
		if created != 1 {
			t.Errorf("%d of the answers say created, want 1", created)
		}
		if listed := walk(t, c, "/deliveries", 100); !slices.Equal(listed, final.booked()) {
			t.Errorf("there are %d deliveries, want the 12 of the answer", len(listed))
		}
	})
}

func TestBulksThatWantTheSameExternalIDsShareThem(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, live)
		const items = 10
		var names [items]string
		for i := range names {
			names[i] = newExternalID()
		}
		answers := atOnce(t, 4, func(int) (*answer, error) {
			orders := manyOrders(items, func(i int) change { return set("external_id", names[i]) })
			return c.try("POST", "/deliveries/bulk", aBulk(orders...), idem(newKeyText()))
		})
		owner := map[string]string{}
		for _, a := range answers {
			for i := range items {
				at := "data.results." + strconv.Itoa(i)
				if a.text(at+".status") == "created" {
					if owner[names[i]] != "" {
						t.Errorf("external_id %d was booked twice", i)
					}
					owner[names[i]] = a.text(at + ".delivery.id")
				}
			}
		}
		if len(owner) != items {
			t.Errorf("%d of %d items were booked", len(owner), items)
		}
		for _, a := range answers {
			for i := range items {
				at := "data.results." + strconv.Itoa(i) + ".error"
				if _, failed := a.lookup(at); failed {
					a.has(at+".code", "EXTERNAL_ID_CONFLICT", at+".message", takenMessage(names[i], owner[names[i]]))
				}
			}
		}
	})
}

// atOnce makes n requests together and waits for their answers.
func atOnce(t *testing.T, n int, ask func(i int) (*answer, error)) []*answer {
	t.Helper()
	answers := make([]*answer, n)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			var err error
			if answers[i], err = ask(i); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return answers
}

// takenMessage is what a second use of an external_id is told.
func takenMessage(externalID, delivery string) string {
	return "external_id " + externalID + " is already delivery " + delivery + ". Read it with GET /deliveries/{id}, or send another " +
		"external_id."
}
