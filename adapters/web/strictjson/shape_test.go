package strictjson_test

import (
	"strings"
	"testing"

	"waybill/adapters/web/strictjson"
)

// refused returns why a body is refused, or nil.
func refused(body string, shape strictjson.Shape) *strictjson.SyntaxError {
	_, bad := strictjson.Parse([]byte(body), shape)
	return bad
}

func TestAnUnknownFieldIsNamedWithWhatWasProbablyMeant(t *testing.T) {
	t.Parallel()
	takes := map[string]string{
		"":                  "This call takes delivery_instructions, external_id, payment, pickup, recipient, sandbox, vehicle_type.",
		"recipient":         "recipient takes address, name, phone_number.",
		"recipient.address": "recipient.address takes address, delivery_notes, label, latitude, longitude, municipality.",
	}
	for _, c := range []struct{ name, body, field, suggestion string }{
		{"one letter wrong", `{"recepient":1}`, "recepient", "recipient"},
		{"one letter missing, below", `{"recipient":{"adress":{}}}`, "recipient.adress", "recipient.address"},
		{"two letters swapped", `{"recipeint":1}`, "recipeint", "recipient"},
		{"two letters of a short name swapped", `{"recipient":{"nmae":1}}`, "recipient.nmae", "recipient.name"},
		{"a plural", `{"recipients":1}`, "recipients", "recipient"},
		{"another case", `{"Recipient":1}`, "Recipient", "recipient"},
		{"capitals only", `{"VEHICLE_TYPE":1}`, "VEHICLE_TYPE", "vehicle_type"},
		{"camel case", `{"vehicleType":1}`, "vehicleType", "vehicle_type"},
		{"hyphens", `{"vehicle-type":1}`, "vehicle-type", "vehicle_type"},
		{"a short form", `{"recipient":{"address":{"lat":1}}}`, "recipient.address.lat", "recipient.address.latitude"},
		{"a short form that is no begin", `{"recipient":{"address":{"lng":1}}}`, "recipient.address.lng", "recipient.address.longitude"},
		{"half of a name", `{"recipient":{"phone":1}}`, "recipient.phone", "recipient.phone_number"},
		{"half of a name in camel case", `{"externalRef":1,"vehicle":2}`, "externalRef", "external_id"},
		{"more than a name", `{"recipient":{"addressLine1":1}}`, "recipient.addressLine1", "recipient.address"},
		{"one letter, which begins too much", `{"recipient":{"address":{"l":1}}}`, "recipient.address.l", ""},
		{"letters of a much longer name", `{"din":1}`, "din", ""},
		{"nothing like it", `{"weight":1}`, "weight", ""},
		{"a name of another level", `{"phone_number":1}`, "phone_number", ""},
		{"a short name is not guessed", `{"id":1}`, "id", ""},
		{"an empty name", `{"":1}`, `""`, ""},
		{"a very long name", `{"` + strings.Repeat("r", 9999) + `":1}`, strings.Repeat("r", 64) + "...", ""},
		{"a name with control characters", `{"a\u001b[2Jb\n":1}`, `a\u001b[2Jb\n`, ""},
		{"the first in the order of the body", `{"zzz":1,"aaa":1}`, "zzz", ""},
		{"below before behind", `{"recipient":{"zzz":1},"aaa":1}`, "recipient.zzz", ""},
		{"below a null sibling", `{"pickup":null,"recipient":{"nam":1}}`, "recipient.nam", "recipient.name"},
		{"three levels down", `{"recipient":{"address":{"lattitude":1}}}`,
			"recipient.address.lattitude", "recipient.address.latitude"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bad := refused(c.body, createShape)
			if bad == nil {
				t.Fatal("not found")
			}
			if bad.Field != c.field || bad.Suggestion != c.suggestion {
				t.Errorf("field %q, suggestion %q", bad.Field, bad.Suggestion)
			}
			want := "Unknown field " + c.field + "."
			if c.suggestion != "" {
				want += " Did you mean " + c.suggestion + "?"
			}
			within := ""
			if i := strings.LastIndexByte(c.field, '.'); i >= 0 && c.field[i:] != "." && takes[c.field[:i]] != "" {
				within = c.field[:i]
			}
			want += " " + takes[within]
			if bad.Message != want || bad.Error() != want {
				t.Errorf("message %q", bad.Message)
			}
		})
	}
}

func TestAnUnknownFieldInAnArrayItemIsNamedWithItsIndex(t *testing.T) {
	t.Parallel()
	body := `{"deliveries":[{},17,null,{"recipient":{"adress":1}},{"x":1}]}`
	bad := refused(body, bulkShape)
	if bad == nil || bad.Field != "deliveries[3].recipient.adress" ||
		bad.Suggestion != "deliveries[3].recipient.address" {
		t.Errorf("got %+v", bad)
	}
	nested := strictjson.Object{"m": strictjson.ArrayOf(strictjson.ArrayOf(strictjson.Object{"a": strictjson.Leaf}))}
	bad = refused(`{"m":[[],[{"a":1},{"b":1}]]}`, nested)
	if bad == nil || bad.Field != "m[1][1].b" {
		t.Errorf("got %+v", bad)
	}
}

func TestKnownFieldsPassWhateverTheirKind(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{}`,
		createBody,
		`{"recipient":"a string"}`,
		`{"recipient":[{"unknown":1}]}`,
		`{"recipient":null,"pickup":true}`,
		`{"external_id":{"anything":{"goes":1}}}`,
	} {
		if bad := refused(body, createShape); bad != nil {
			t.Errorf("%s: %s", body, bad.Message)
		}
	}
	for _, body := range []string{`{"deliveries":[]}`, `{"deliveries":[1,null,[]]}`, `{"deliveries":{"x":1}}`} {
		if bad := refused(body, bulkShape); bad != nil {
			t.Errorf("%s: %s", body, bad.Message)
		}
	}
}

func TestABodyOfNoFieldsRefusesEveryField(t *testing.T) {
	t.Parallel()
	if bad := refused(`{}`, strictjson.Object{}); bad != nil {
		t.Error(bad.Message)
	}
	if bad := refused(`{"a":1}`, strictjson.Object{}); bad == nil || bad.Message != "Unknown field a. This call takes none." {
		t.Errorf("got %+v", bad)
	}
}

func TestOfManyFieldsNoneIsListed(t *testing.T) {
	t.Parallel()
	shape := strictjson.Object{}
	for i := range 12 {
		shape[string(rune('a'+i))] = strictjson.Leaf
	}
	if bad := refused(`{"zzz":1}`, shape); bad.Message != "Unknown field zzz. This call takes a, b, c, d, e, f, g, h, i, j, k, l." {
		t.Error(bad.Message)
	}
	shape["m"] = strictjson.Leaf
	if bad := refused(`{"zzz":1}`, shape); bad.Message != "Unknown field zzz." {
		t.Error(bad.Message)
	}
}

func TestOfTwoEqualSuggestionsTheFirstInTheAlphabetIsGiven(t *testing.T) {
	t.Parallel()
	shape := strictjson.Object{"cart": strictjson.Leaf, "card": strictjson.Leaf, "care": strictjson.Leaf}
	for range 50 { // maps are walked in random order
		if bad := refused(`{"carx":1}`, shape); bad.Suggestion != "card" {
			t.Fatalf("suggested %s", bad.Suggestion)
		}
	}
}

// Parse reports the first error of the body, so that it need not read the rest.
func TestTheFirstOfWhatIsWrongIsTold(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"x":1,"recipient":{`:                  "Unknown field x.",
		`{"recipient":{"x":"\ud800"}}`:          "Unknown field recipient.x.",
		`{"recipient":{"name":"\ud800"},"x":1}`: "Lone surrogate",
		`{"recipient":{},"recipient":{},"x":1}`: "Duplicate field recipient",
		`{"x":1,"x":2}`:                         "Unknown field x.",
		`{"x":1} and more`:                      "Unknown field x.",
		`{"x"`:                                  "Unknown field x.",
		`{"recipient":[{"x":1,"x":2}]}`:         "Duplicate field recipient[0].x",
		`{"deliv\u0065ries":1}`:                 "Unknown field deliveries.",
		`{"r\u0065cipient":{"n\u0061mes":1}}`:   "Unknown field recipient.names.",
	} {
		if bad := refused(body, createShape); bad == nil || !strings.HasPrefix(bad.Message, want) {
			t.Errorf("%s: %v", body, bad)
		}
	}
	if bad := refused(`{"r\u0065cipient":{"n\u0061me":"\u0041ma"}}`, createShape); bad != nil {
		t.Error(bad.Message)
	}
}
