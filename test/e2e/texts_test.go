package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// No text turns the letters around it, whichever way it came.
func TestNoEdgeTakesTextThatTurnsTheDirectionOfWriting(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		const unseen, joined = "Ama\u202e gpj.exe", "علی\u200cرضا"
		person := c.post("/recipients", m{"phone_number": newPhone(), "name": joined}).is(201).has("data.name", joined).id()
		place := c.post("/pickup-locations", aPlace(set("name", joined))).is(201).has("data.name", joined).id()
		home := func(changes ...change) change { return inner("recipient", inner("address", changes...)) }
		c.post("/deliveries", anOrder(home(set("label", joined), set("municipality", "Kpɔŋ, East/2")))).is(201).
			has("data.dropoff.label", joined, "data.dropoff.municipality", "Kpɔŋ, East/2")

		c.post("/recipients", m{"phone_number": newPhone(), "name": unseen}).invalid("name invalid_format")
		c.post("/recipients/"+person+"/addresses", anAddress(set("label", unseen), set("municipality", unseen), set("delivery_notes", unseen))).
			invalid("label invalid_format", "municipality invalid_format", "delivery_notes invalid_format")
		c.post("/recipients/"+person+"/addresses", anAddress(set("municipality", strings.Repeat("m", 129)))).invalid("municipality too_long")
		c.post("/deliveries", anOrder(inner("recipient", set("name", unseen)), home(set("label", unseen), set("municipality", unseen)),
			inner("pickup", set("name", unseen)))).
			invalid("recipient.name invalid_format", "recipient.address.label invalid_format", "recipient.address.municipality invalid_format",
				"pickup.name invalid_format")
		c.post("/deliveries/bulk", aBulk(anOrder(), anOrder(home(set("municipality", unseen))))).
			refused(422, "BULK_VALIDATION_FAILED").has("error.details.errors.0.index", "1", "error.details.errors.0.field",
			"recipient.address.municipality")
		c.post("/pickup-locations", aPlace(set("name", unseen))).invalid("name invalid_format")
		c.send("PATCH", "/pickup-locations/"+place, m{"name": unseen}).invalid("name invalid_format")

		business := s.newBusiness(t)
		o, _ := s.operator(t)
		o.send("POST", "/businesses", m{"name": unseen}).invalid("name invalid_format")
		o.send("POST", "/businesses/"+business+"/applications", m{"name": unseen}).invalid("name invalid_format")
		o.send("POST", "/businesses/"+business+"/environments/sandbox/pickup-locations", aPlace(set("name", unseen))).invalid(
			"name invalid_format")
		at := []string{"--business", business, "--env", sandbox}
		table := filepath.Join(t.TempDir(), "table.csv")
		if err := os.WriteFile(table, []byte("name,address\n"+unseen+",12 Oxford Street\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"business", "create", "--name", unseen},
			{"app", "create", "--business", business, "--name", unseen},
			append([]string{"pickup-location", "create", "--name", unseen, "--address", "12 Oxford Street"}, at...),
			append([]string{"pickup-location", "import", table}, at...),
		} {
			_, complaint, err := s.tryCommand(args...)
			if err == nil || !strings.Contains(string(complaint), "direction") || !strings.Contains(string(complaint), "U+202E") {
				t.Errorf("%v: %v %s", args[:2], err, complaint)
			}
		}
	})
}
