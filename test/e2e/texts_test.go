package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
	"waybill/ports"
)

// What other people see holds nothing that they cannot see, whichever way it came.
func TestNoEdgeTakesTextThatOthersCannotSee(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		const unseen, joined = "Ama\u202e gpj.exe", "علی\u200cرضا"
		person := c.post("/recipients", m{"phone_number": newPhone(), "name": joined}).is(201).has("data.name", joined).id()
		place := c.post("/pickup-locations", aPlace(set("name", joined))).is(201).has("data.name", joined).id()
		home := func(changes ...change) change { return inner("recipient", inner("address", changes...)) }
		c.post("/deliveries", anOrder(home(set("label", joined), set("municipality", "Kpɔŋ (East) 2")))).is(201).
			has("data.dropoff.label", joined, "data.dropoff.municipality", "Kpɔŋ (East) 2")

		c.post("/recipients", m{"phone_number": newPhone(), "name": unseen}).invalid("name invalid_format")
		c.post("/recipients/"+person+"/addresses", anAddress(set("label", unseen), set("municipality", "Accra, Ghana"))).
			invalid("label invalid_format", "municipality invalid_format")
		c.post("/recipients/"+person+"/addresses", anAddress(set("municipality", strings.Repeat("m", 65)))).invalid("municipality too_long")
		c.post("/recipients/"+person+"/addresses", anAddress(set("municipality", joined))).invalid("municipality invalid_format")
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
			if err == nil || !strings.Contains(string(complaint), "invisible") || !strings.Contains(string(complaint), "U+202E") {
				t.Errorf("%v: %v %s", args[:2], err, complaint)
			}
		}
	})
}

// One length, and one code for what is beyond it, wherever a name comes in.
func TestANameThatIsTooLongIsToldAlikeByEveryEdge(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		long := strings.Repeat("é", domain.NameRule.Most+1)
		s.caller(t, env).post("/pickup-locations", aPlace(set("name", long))).invalid("name too_long")
		business := s.newBusiness(t)
		o, _ := s.operator(t)
		o.send("POST", "/businesses", m{"name": long}).invalid("name too_long")
		o.send("POST", "/businesses/"+business+"/environments/"+env+"/pickup-locations", aPlace(set("name", long))).invalid("name too_long")
		table := filepath.Join(t.TempDir(), "table.csv")
		if err := os.WriteFile(table, []byte("name,address\n"+long+",12 Oxford Street\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"business", "create", "--name", long},
			{"app", "create", "--business", business, "--name", long},
			{"operator", "create", "--kind", "read-only", "--name", long},
			{"pickup-location", "create", "--business", business, "--env", env, "--name", long, "--address", "12 Oxford Street"},
			{"pickup-location", "import", "--business", business, "--env", env, table},
		} {
			_, complaint, err := s.tryCommand(append(args, "--json")...)
			coded := strings.Contains(string(complaint), `"too_long"`) || args[1] == "import" // which tells its table line by line
			if err == nil || !coded || !strings.Contains(string(complaint), domain.NameRule.String()) {
				t.Errorf("%v: %v %s", args[:2], err, complaint)
			}
		}
	})
}

// A text from before the rule is shown, and an address that has one can be used.
func TestTextsFromBeforeTheRuleAreStillShownAndUsed(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		person := c.post("/recipients", m{"phone_number": newPhone()}).is(201)
		store, err := gormstore.Open(t.Context(), s.database(),
			gormstore.Options{TransactionPooler: s.vars["WAYBILL_DATABASE_POOLER"] == "transaction"})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		tenant := domain.Tenant{BusinessID: domain.ID(s.commonBusiness(t)), ApplicationID: domain.ID(c.app), Environment: domain.Environment(env)}
		old := domain.Address{
			ID: domain.ID(strings.Replace(person.id(), "rcp_", "adr_", 1)), RecipientID: domain.ID(person.id()), Label: "Ho\u202eme",
			Text: "3 Old Street", MatchKey: "3 old street", Coordinates: domain.Coordinates{Latitude: thereLatitude, Longitude: thereLongitude},
			Municipality: strings.Repeat("Accra, Ghana\u200b ", 8) + "x", CreatedAt: domain.Millis(person.instant("data.created_at")),
		}
		if err := store.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			_, _, err := tx.Recipients.AddAddress(ctx, tenant, old)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		c.get("/recipient-addresses/"+string(old.ID)).is(200).has("data.municipality", old.Municipality, "data.label", old.Label)
		c.post("/recipients/"+person.id()+"/addresses", anAddress(set("address", "3 OLD Street"))).is(200).has("data.id", string(old.ID),
			"data.municipality", old.Municipality)
		c.post("/deliveries", anOrder(drop("recipient"), set("recipient_id", person.id()), set("recipient_address_id", string(old.ID)))).is(201).
			has("data.dropoff.municipality", old.Municipality, "data.dropoff.label", old.Label)
	})
}
