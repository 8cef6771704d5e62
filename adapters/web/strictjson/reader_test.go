package strictjson_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"waybill/adapters/web/strictjson"
)

const (
	optional = strictjson.Optional
	required = strictjson.Required
)

// read is one way to read the field "f". It returns the value as fmt prints it.
type read func(r *strictjson.Reader) (any, bool)

func text(need strictjson.Need, rules ...strictjson.TextRule) read {
	return func(r *strictjson.Reader) (any, bool) { return r.Text("f", need, rules...) }
}

func number(need strictjson.Need, rules ...strictjson.NumberRule) read {
	return func(r *strictjson.Reader) (any, bool) { return r.Number("f", need, rules...) }
}

func integer(need strictjson.Need, rules ...strictjson.NumberRule) read {
	return func(r *strictjson.Reader) (any, bool) { return r.Integer("f", need, rules...) }
}

func enum(need strictjson.Need) read {
	return func(r *strictjson.Reader) (any, bool) { return r.Enum("f", need, []string{"bike", "car"}) }
}

func boolean(need strictjson.Need) read {
	return func(r *strictjson.Reader) (any, bool) { return r.Bool("f", need) }
}

func decimal(need strictjson.Need) read {
	return func(r *strictjson.Reader) (any, bool) { return r.Decimal("f", need) }
}

func object(need strictjson.Need) read {
	return func(r *strictjson.Reader) (any, bool) { o := r.Object("f", need); return "object", o != nil }
}

func array(need strictjson.Need, rules ...strictjson.CountRule) read {
	return func(r *strictjson.Reader) (any, bool) {
		l := r.Array("f", need, rules...)
		return l.Len(), l != nil
	}
}

func TestASoundFieldIsReadWithItsValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, value string
		read        read
		want        any
	}{
		{"a text", `"Ama"`, text(required), "Ama"},
		{"a text among spaces", `"  Ama Mensah \n"`, text(required, strictjson.Length(10, 10)), "Ama Mensah"},
		{"a text among Unicode spaces", `"\u00a0\u2003\u3000Ama\u0085\u2028"`, text(required), "Ama"},
		{"a blank text without a least length", `" "`, text(optional, strictjson.Length(0, 5)), ""},
		{"a text of the least length", `"é"`, text(required, strictjson.Length(1, 3)), "é"},
		{"a text of the greatest length", `"😀é漢"`, text(required, strictjson.Length(1, 3)), "😀é漢"},
		{"lines in a multi-line text", `"a\nb\r\n\tc"`, text(required, strictjson.Multiline()), "a\nb\r\n\tc"},
		{"a joined emoji", `"👩‍👧"`, text(required, strictjson.Length(3, 3)), "👩‍👧"},
		{"a number", `5.6`, number(required, strictjson.Between(-90, 90)), 5.6},
		{"a number on its lower bound", `-90`, number(required, strictjson.Between(-90, 90)), -90.0},
		{"a number on its upper bound", `9e1`, number(required, strictjson.Between(-90, 90)), 90.0},
		{"a tiny number", `1e-400`, number(required), 0.0},
		{"the greatest float", `1.7976931348623157e308`, number(required), math.MaxFloat64},
		{"an integer", `15`, integer(required, strictjson.Between(1, 300)), 15},
		{"an integer with a fraction of zero", `15.0`, integer(required), 15},
		{"an integer with an exponent", `1.5e1`, integer(required), 15},
		{"a negative integer", `-3`, integer(required), -3},
		{"the greatest integer", `9223372036854775807`, integer(required), math.MaxInt64},
		{"an enum", `"car"`, enum(required), "car"},
		{"true", `true`, boolean(required), true},
		{"false", `false`, boolean(required), false},
		{"an object", `{}`, object(required), "object"},
		{"an empty array", `[]`, array(required), 0},
		{"an array of the greatest count", `[[1,2],{},3]`, array(required, strictjson.Count(1, 3)), 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := strictjson.NewReader(mustParse(t, `{"x":[1],"f":`+c.value+`}`))
			got, ok := c.read(r)
			if !ok || got != c.want || r.Problems() != nil {
				t.Errorf("got %#v, %v, %v", got, ok, r.Problems())
			}
			if !r.Has("f") {
				t.Error("said to be absent")
			}
		})
	}
}

func TestNegativeZeroIsReadAsZero(t *testing.T) {
	t.Parallel()
	x, _ := strictjson.NewReader(mustParse(t, `{"f":-0.0}`)).Number("f", required)
	if math.Signbit(x) {
		t.Error("it kept its sign")
	}
}

func TestAnUnsoundFieldGetsItsCodeAndMessage(t *testing.T) {
	t.Parallel()
	name, bounds := strictjson.Length(1, 128), strictjson.Between(-90, 90)
	for _, c := range []struct {
		name, value string
		read        read
		code        strictjson.Code
		message     string
	}{
		{"a blank text", `" \t "`, text(optional, name), "too_short", "must have 1 to 128 characters; it has 0"},
		{"a long text", `"` + strings.Repeat("é", 129) + `"`, text(optional, name), "too_long", "must have 1 to 128 characters; it has 129"},
		{"a long note", `"` + strings.Repeat("x", 501) + `"`, text(optional, strictjson.Length(0, 500)), "too_long",
			"must have at most 500 characters; it has 501"},
		{"a text of a wrong fixed length", `"abc"`, text(optional, strictjson.Length(2, 2)), "too_long",
			"must have exactly 2 characters; it has 3"},
		{"a text of more than one character", `"abc"`, text(optional, strictjson.Length(0, 1)), "too_long",
			"must have at most 1 character; it has 3"},
		{"a line feed in a line", `"a\nb"`, text(optional, name), "invalid_format", "must not have control characters; character 2 is U+000A"},
		{"an escape character in lines", `"é\u001b[0m"`, text(optional, strictjson.Multiline()), "invalid_format",
			"must not have control characters; character 2 is U+001B"},
		{"a delete character", `"a\u007fb"`, text(optional), "invalid_format", "must not have control characters; character 2 is U+007F"},
		{"a C1 control character", `"a\u0085b"`, text(optional, strictjson.Multiline()), "invalid_format",
			"must not have control characters; character 2 is U+0085"},
		{"a number for a text", `1`, text(optional), "invalid_type", "must be a string, not a number; put it in double quotes"},
		{"an object for a text", `{}`, text(required), "invalid_type", "must be a string, not an object"},
		{"a text for a number", `"5.6"`, number(required, bounds), "invalid_type", `must be a number, not a string; it is "5.6"`},
		{"another text for a number", `"5.6 N"`, number(required, bounds), "invalid_type", "must be a number, not a string"},
		{"a boolean for a number", `true`, number(required, bounds), "invalid_type", "must be a number, not a boolean; it is true"},
		{"a number below", `-90.5`, number(required, bounds), "out_of_range", "must be between -90 and 90; it is -90.5"},
		{"a number above", `95.20`, number(required, bounds), "out_of_range", "must be between -90 and 90; it is 95.20"},
		{"a number beyond floats", `1e400`, number(required, bounds), "out_of_range", "must be between -90 and 90; it is 1e400"},
		{"a number beyond floats, unbounded", `-1e400`, number(required), "out_of_range", "must be closer to 0; it is -1e400"},
		{"a number of many digits", strings.Repeat("9", 500), number(required, bounds), "out_of_range", "must be between -90 and 90; it is " +
			strings.Repeat("9", 64) + "..."},
		{"a fraction for an integer", `1.5`, integer(required), "invalid_type", "must be a whole number; it is 1.5"},
		{"a tiny fraction for an integer", `1e-400`, integer(required), "invalid_type", "must be a whole number; it is 1e-400"},
		{"a text for an integer", `"15"`, integer(required), "invalid_type", `must be a whole number, not a string; it is "15"`},
		{"an integer above", `301`, integer(required, strictjson.Between(1, 300)), "out_of_range", "must be between 1 and 300; it is 301"},
		{"an integer beyond 64 bits", `1e30`, integer(required), "out_of_range", "must be closer to 0; it is 1e30"},
		{"an array for a decimal", `[1]`, decimal(optional), "invalid_type", "must be a number, not an array"},
		{"an unknown enum", `"plane"`, enum(required), "not_allowed", `must be one of bike, car; it is "plane"`},
		{"an enum in another case", `"Bike"`, enum(required), "not_allowed", `must be one of bike, car; it is "Bike"`},
		{"an enum with a space", `"bike "`, enum(required), "not_allowed", `must be one of bike, car; it is "bike "`},
		{"an empty enum", `""`, enum(optional), "not_allowed", `must be one of bike, car; it is ""`},
		{"a long enum", `"` + strings.Repeat("漢", 65) + `"`, enum(required), "not_allowed", `must be one of bike, car; it is "` + strings.Repeat(
			"漢", 64) + `..."`},
		{"an enum that paints the terminal", `"\u001b[31m"`, enum(required), "not_allowed", `must be one of bike, car; it is "\u001b[31m"`},
		{"a number for an enum", `1`, enum(required), "invalid_type", "must be a string, not a number; put it in double quotes"},
		{"a text for a boolean", `"true"`, boolean(required), "invalid_type", `must be true or false, not a string; it is "true"`},
		{"a number for a boolean", `0`, boolean(optional), "invalid_type", "must be true or false, not a number; it is 0"},
		{"an array for an object", `[]`, object(required), "invalid_type", "must be an object, not an array"},
		{"a text for an object", `"{}"`, object(optional), "invalid_type", "must be an object, not a string"},
		{"an object for an array", `{}`, array(required), "invalid_type", "must be an array, not an object"},
		{"too few items", `[]`, array(required, strictjson.Count(1, 100)), "too_short", "must have 1 to 100 items; it has 0"},
		{"too many items", `[[],[1,1],{},4]`, array(required, strictjson.Count(1, 3)), "too_long", "must have 1 to 3 items; it has 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := strictjson.NewReader(mustParse(t, `{"f":`+c.value+`}`))
			if got, ok := c.read(r); ok {
				t.Errorf("accepted as %v", got)
			}
			want := []strictjson.Problem{{Field: "f", Code: c.code, Message: c.message}}
			if !reflect.DeepEqual(r.Problems(), want) {
				t.Errorf("got %+v", r.Problems())
			}
			if !r.Has("f") {
				t.Error("said to be absent")
			}
		})
	}
}

func TestNullAndAbsenceAreTheSame(t *testing.T) {
	t.Parallel()
	readings := map[string]func(strictjson.Need) read{
		"text":    func(n strictjson.Need) read { return text(n, strictjson.Length(1, 5)) },
		"number":  func(n strictjson.Need) read { return number(n, strictjson.Between(1, 5)) },
		"integer": func(n strictjson.Need) read { return integer(n, strictjson.Between(1, 5)) },
		"decimal": decimal, "enum": enum, "boolean": boolean, "object": object,
		"array": func(n strictjson.Need) read { return array(n, strictjson.Count(1, 5)) },
	}
	for kind, reading := range readings {
		for _, body := range []string{`{}`, `{"f":null}`, `{"F":"other"}`, `{"x":{"f":1}}`} {
			r := strictjson.NewReader(mustParse(t, body))
			if _, ok := reading(optional)(r); ok || r.Problems() != nil || r.Has("f") {
				t.Errorf("optional %s in %s: %v, %v", kind, body, ok, r.Problems())
			}
			_, ok := reading(required)(r)
			want := []strictjson.Problem{{Field: "f", Code: "required", Message: "this field is required"}}
			if ok || !reflect.DeepEqual(r.Problems(), want) {
				t.Errorf("required %s in %s: %v, %+v", kind, body, ok, r.Problems())
			}
		}
	}
}

func TestAllProblemsAreNotedInTheOrderOfReading(t *testing.T) {
	t.Parallel()
	r := strictjson.NewReader(mustParse(t, `{
		"vehicle_type": "plane",
		"recipient": {"name": " ", "address": {"latitude": 95, "longitude": "x"}},
		"sandbox": "delivered",
		"tags": ["a", 1, null, ""]
	}`))
	recipient := r.Object("recipient", required)
	recipient.Text("phone_number", required)
	recipient.Text("name", optional, strictjson.Length(1, 128))
	address := recipient.Object("address", required)
	address.Number("latitude", required, strictjson.Between(-90, 90))
	address.Number("longitude", required, strictjson.Between(-180, 180))
	address.Reject("", strictjson.CodeNotAllowed, "Outside the service area.")
	r.Enum("vehicle_type", required, []string{"bike"})
	r.Object("sandbox", optional).Text("scenario", required) // silent: sandbox itself is noted
	tags := r.Array("tags", optional)
	for i := range tags.Len() {
		tags.Text(i, strictjson.Length(1, 9))
	}
	tags.Reject(0, strictjson.CodeNotAllowed, "No such tag.")
	recipient.Reject("phone_number", strictjson.CodeInvalidFormat, "No phone number.")

	want := "recipient.phone_number required, recipient.name too_short, recipient.address.latitude out_of_range, " +
		"recipient.address.longitude invalid_type, recipient.address not_allowed, vehicle_type not_allowed, " +
		"sandbox invalid_type, tags[1] invalid_type, tags[2] required, tags[3] too_short, tags[0] not_allowed, " +
		"recipient.phone_number invalid_format"
	for name, reader := range map[string]*strictjson.Reader{"root": r, "recipient": recipient, "address": address} {
		var got []string
		for _, p := range reader.Problems() {
			got = append(got, fmt.Sprint(p.Field, " ", p.Code))
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %s", name, s)
		}
	}
}

func TestReadingBelowNothingIsHarmless(t *testing.T) {
	t.Parallel()
	var r *strictjson.Reader
	r.Text("a", required)
	r.Object("b", required).Array("c", required).Len()
	r.Reject("a", strictjson.CodeRequired, "x")
	if r.Has("a") || r.Problems() != nil {
		t.Error("nothing has a field or a problem")
	}
	empty := strictjson.NewReader(nil)
	if empty.Text("a", optional); empty.Problems() != nil || empty.Has("a") {
		t.Error("a missing body is not empty")
	}
	var none *strictjson.Value
	if string(none.AppendCanonical(nil)) != "{}" {
		t.Error("a missing body is not {}")
	}
	if empty.Text("a", required); len(empty.Problems()) != 1 {
		t.Error("a missing body has what is required")
	}
}

func TestItemsOfAnArrayAreReadUnderTheirIndex(t *testing.T) {
	t.Parallel()
	r := strictjson.NewReader(mustParse(t, `{"m":[{"a":[{"b":1}]},7,{"a":[{"b":"x"}]}]}`))
	list := r.Array("m", required)
	for i := range list.Len() {
		inner := list.Object(i).Array("a", required)
		for j := range inner.Len() {
			inner.Object(j).Text("b", required)
		}
	}
	want := []strictjson.Problem{
		{Field: "m[0].a[0].b", Code: "invalid_type", Message: "must be a string, not a number; put it in double quotes"},
		{Field: "m[1]", Code: "invalid_type", Message: "must be an object, not a number"},
	}
	if !reflect.DeepEqual(r.Problems(), want) {
		t.Errorf("got %+v", r.Problems())
	}
	events := strictjson.NewReader(mustParse(t, `{"e":["*","x"]}`))
	types := events.Array("e", required)
	if v, ok := types.Enum(0, []string{"*"}); v != "*" || !ok {
		t.Error("the first is allowed")
	}
	if _, ok := types.Enum(1, []string{"*"}); ok || events.Problems()[0].Field != "e[1]" {
		t.Errorf("got %+v", events.Problems())
	}
}

func TestADetachedItemKeepsItsProblemsToItself(t *testing.T) {
	t.Parallel()
	root := strictjson.NewReader(mustParse(t, `{"deliveries":[{"recipient":{}},{"recipient":{"name":"Ama"}},null,"x",[]]}`))
	list := root.Array("deliveries", required, strictjson.Count(1, 100))
	want := []string{
		"[{recipient.name required this field is required}]",
		"[]",
		"[{ invalid_type must be an object, not null}]",
		"[{ invalid_type must be an object, not a string}]",
		"[{ invalid_type must be an object, not an array}]",
	}
	for i := range list.Len() {
		item := list.Detached(i)
		item.Object("recipient", required).Text("name", required)
		if item.Has("recipient") != (i < 2) {
			t.Errorf("item %d: wrong presence", i)
		}
		if i > 1 {
			item.Reject("recipient", strictjson.CodeRequired, "nothing more to say")
		}
		if got := fmt.Sprint(item.Problems()); got != want[i] {
			t.Errorf("item %d: %s", i, got)
		}
	}
	if root.Problems() != nil {
		t.Errorf("the request got %+v", root.Problems())
	}
}

func TestMoneyIsReadExactly(t *testing.T) {
	t.Parallel()
	r := strictjson.NewReader(mustParse(t, `{"goods_value":1.000}`))
	amount, ok := r.Decimal("goods_value", optional)
	if units, err := amount.MinorUnits(2, 100); !ok || units != 100 || err != nil {
		t.Errorf("%d, %v, %v", units, ok, err)
	}
}

func TestPtrIsNilOnlyForWhatIsAbsent(t *testing.T) {
	t.Parallel()
	r := strictjson.NewReader(mustParse(t, `{"active":false,"name":null}`))
	if p := strictjson.Ptr(r.Bool("active", optional)); p == nil || *p {
		t.Error("false is lost")
	}
	if p := strictjson.Ptr(r.Text("name", optional)); p != nil {
		t.Error("null is something")
	}
}

func TestNoMessageRepeatsWhatTheCallerWrote(t *testing.T) {
	t.Parallel()
	secret := "svc_live_key_0241234567"
	r := strictjson.NewReader(mustParse(t, `{"f":"`+secret+`\u0001`+secret+`"}`))
	for _, reading := range []read{
		text(required), text(required, strictjson.Length(1, 3), strictjson.Multiline()), number(required), integer(required),
		decimal(required), boolean(required), object(required), array(required),
	} {
		reading(r)
	}
	if len(r.Problems()) != 8 || strings.Contains(fmt.Sprint(r.Problems()), secret) {
		t.Errorf("got %+v", r.Problems())
	}
}
