package e2e

import (
	"fmt"
	"strings"
	"testing"
)

func TestARecipientIsFoundByItsNormalizedNumber(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		phone := newPhone()
		first := c.post("/recipients", m{"phone_number": phone}).is(201).has("data.phone_number", phone).lacks("data.name")
		home := strings.Replace(phone, "+233", "0", 1)
		for _, typed := range []string{
			home, "00" + phone[1:], " " + phone[:4] + " " + phone[4:] + " ", home[:3] + "-" + home[3:6] + " " + home[6:],
		} {
			c.post("/recipients", m{"phone_number": typed}).is(200).has("data.id", first.id(), "data.phone_number", phone)
		}

		// A name is filled in where there is none, and stays.
		named := c.post("/recipients", m{"phone_number": phone, "name": "  Abena Mensah "}).is(200).has("data.name", "Abena Mensah")
		c.post("/recipients", m{"phone_number": phone, "name": "Somebody Else"}).is(200).has("data.name", "Abena Mensah",
			"data.updated_at", named.text("data.updated_at"), "data.created_at", first.text("data.created_at"))
		c.get("/recipients/"+first.id()).is(200).has("data.name", "Abena Mensah")

		// A delivery shows the name of its own request, or the stored one.
		order := anOrder(set("recipient", m{"name": "Aunty Abena", "phone_number": home, "address": anAddress()}))
		c.post("/deliveries", order).is(201).has("data.recipient.id", first.id(), "data.recipient.name", "Aunty Abena",
			"data.recipient.phone_number", phone)
		delete(order["recipient"].(m), "name")
		c.post("/deliveries", order).is(201).has("data.recipient.name", "Abena Mensah")
		c.get("/recipients/"+first.id()).has("data.name", "Abena Mensah")

		nameless := newPhone()
		id := c.post("/recipients", m{"phone_number": nameless}).is(201).id()
		c.post("/deliveries", anOrder(set("recipient", m{"name": "Filled Later", "phone_number": nameless, "address": anAddress()}))).is(201)
		c.get("/recipients/"+id).has("data.name", "Filled Later")
	})
}

func TestARecipientsFieldsAreChecked(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, sandbox)
		for _, bad := range []string{"12", "+233", "phone me", "+1555", "0241234567 ext 3", "+999241234567", "++233241234567"} {
			c.post("/recipients", m{"phone_number": bad}).invalid("phone_number invalid_format")
		}
		c.post("/recipients", m{}).invalid("phone_number required")
		c.post("/recipients", m{"phone_number": nil, "name": nil}).invalid("phone_number required")
		c.post("/recipients", m{"phone_number": 241234567, "name": 5}).invalid("phone_number invalid_type", "name invalid_type")
		c.post("/recipients", m{"phone_number": newPhone(), "name": strings.Repeat("n", 129)}).invalid("name too_long")
		c.post("/recipients", m{"phone_number": newPhone(), "name": "  "}).invalid("name too_short")
		c.post("/recipients", m{"phone_number": newPhone(), "name": "line\nbreak"}).invalid("name invalid_format")
		long := strings.Repeat("ɛ", 128)
		c.post("/recipients", m{"phone_number": newPhone(), "name": long}).is(201).has("data.name", long)
	})
}

func TestAnAddressIsFoundByItsNormalizedText(t *testing.T) {
	everywhere(t, func(t *testing.T, s *server, env string) {
		c := s.caller(t, env)
		person := c.post("/recipients", m{"phone_number": newPhone()}).is(201).id()
		path := "/recipients/" + person + "/addresses"
		for i, same := range [][]string{
			{"12 Ring Road, Accra", "12 RING ROAD, ACCRA", "  12  ring\troad,\n accra ", "12\u00a0Ring\u2003Road, Accra"},
			{"Café Straße", "CAFE\u0301 STRASSE"},
		} {
			first := c.post(path, anAddress(set("address", same[0]), set("label", "first one"))).is(201).
				has("data.recipient_id", person, "data.address", same[0])
			for _, text := range same[1:] {
				c.post(path, anAddress(set("address", text), set("latitude", 1), set("label", "other one"))).is(200).
					has("data.id", first.id(), "data.address", same[0], "data.label", "first one", "data.latitude", "5.58")
			}
			list := c.get(path).is(200).has("meta.limit", fmt.Sprint(i+1), "meta.has_more", "false", "meta.next_cursor", "null")
			if n := list.count("data"); n != i+1 {
				t.Errorf("there are %d addresses, want %d", n, i+1)
			}
			c.get("/recipient-addresses/"+first.id()).is(200).has("data.address", same[0])
		}
		// Within one recipient only.
		other := c.post("/recipients", m{"phone_number": newPhone()}).is(201).id()
		c.post("/recipients/"+other+"/addresses", anAddress(set("address", "12 Ring Road, Accra"))).is(201)
	})
}

func TestAnAddressesFieldsAreChecked(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.caller(t, live)
		path := "/recipients/" + c.post("/recipients", m{"phone_number": newPhone()}).is(201).id() + "/addresses"
		c.post(path, m{}).invalid("address required", "latitude required", "longitude required")
		c.post(path, m{"label": strings.Repeat("l", 65), "address": "x", "latitude": -90.0001, "longitude": "0",
			"municipality": strings.Repeat("m", 129), "delivery_notes": strings.Repeat("d", 501)}).
			invalid("label too_long", "address too_short", "latitude out_of_range", "longitude invalid_type",
				"municipality too_long", "delivery_notes too_long")
		c.post(path, anAddress(set("address", strings.Repeat("a", 501)))).invalid("address too_long")
		// The directory takes any place on earth, and the longest texts.
		full := m{"label": strings.Repeat("ł", 64), "address": strings.Repeat("ŋ", 500), "latitude": -90, "longitude": 180,
			"municipality": strings.Repeat("ŋ", 64), "delivery_notes": "Gate\n" + strings.Repeat("ŋ", 495)}
		pole := c.post(path, full).is(201).has("data.latitude", "-90", "data.longitude", "180",
			"data.delivery_notes", full["delivery_notes"].(string), "data.label", full["label"].(string))
		// A delivery there is refused, on the field that names it.
		person := pole.text("data.recipient_id")
		c.post("/deliveries", anOrder(drop("recipient"), set("recipient_id", person), set("recipient_address_id", pole.id()))).
			invalid("recipient_address_id out_of_range")
		c.post("/deliveries", anOrder(inner("recipient", inner("address", set("latitude", 12))))).
			invalid("recipient.address out_of_range")
	})
}

func TestRecipientsAreListedAndFiltered(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.loner(t, sandbox)
		base := newPhone()[:11]
		var ids []string
		for i, name := range []string{"Nana Yaw", "nana esi", "Kofi 50%", "Kofi_B", ""} {
			body := m{"phone_number": base + fmt.Sprintf("%02d", i)}
			if name != "" {
				body["name"] = name
			}
			ids = append(ids, c.post("/recipients", body).is(201).id())
		}
		find := func(query string, want ...int) {
			t.Helper()
			var expected []string
			for _, i := range want {
				expected = append(expected, ids[i])
			}
			if got := c.get("/recipients" + query).is(200).ids(); fmt.Sprint(got) != fmt.Sprint(expected) {
				t.Errorf("%s found %v, want %v", query, got, expected)
			}
		}
		find("", 0, 1, 2, 3, 4)
		find(escaped("search", "NANA"), 0, 1)
		find(escaped("search", " nana e "), 1)
		find(escaped("search", "%"), 2) // no wildcard
		find(escaped("search", "_"), 3)
		find(escaped("search", `\`))
		find(escaped("search", base[4:]), 0, 1, 2, 3, 4)
		find(escaped("search", base[1:]+"03"), 3)
		find(escaped("phone_number", base+"04"), 4)
		find("?phone_number="+base+"04", 4) // the plus came unencoded
		find(escaped("phone_number", base+"99"))
		c.get("/recipients" + escaped("phone_number", "0"+base[4:]+"04")).invalid("phone_number invalid_format")
		c.get("/recipients" + escaped("search", strings.Repeat("é", 129))).invalid("search too_long")
		find(escaped("search", strings.Repeat("é", 128)))
	})
}
