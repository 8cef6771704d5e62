package strictjson_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"waybill/adapters/web/strictjson"
)

func mustParse(t testing.TB, body string) *strictjson.Value {
	t.Helper()
	root, bad := strictjson.Parse([]byte(body), nil)
	if bad != nil {
		t.Fatalf("refused %q: %s", body, bad.Message)
	}
	return root
}

func canonical(t testing.TB, body string) string {
	t.Helper()
	return string(mustParse(t, body).AppendCanonical(nil))
}

func TestASoundBodyIsAccepted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, want string }{
		{"an empty object", `{}`, `{}`},
		{"white space everywhere", " \r\n\t{ \"a\" : [ 1 , 2 ] } \n", `{"a":[1,2]}`},
		{"every kind of value", `{"a":null,"b":true,"c":false,"d":1,"e":"x","f":{},"g":[]}`,
			`{"a":null,"b":true,"c":false,"d":1,"e":"x","f":{},"g":[]}`},
		{"an empty name", `{"":1}`, `{"":1}`},
		{"every short escape", `{"a":"\"\\\/\b\f\n\r\t"}`, `{"a":"\"\\/\u0008\u000c\u000a\u000d\u0009"}`},
		{"a surrogate pair", `{"a":"\ud83d\ude00"}`, `{"a":"😀"}`},
		{"an escaped name", `{"\u0061":1}`, `{"a":1}`},
		{"an escaped backslash before u0000", `{"a":"\\u0000"}`, `{"a":"\\u0000"}`},
		{"a delete character", "{\"a\":\"\x7f\"}", "{\"a\":\"\x7f\"}"},
		{"a replacement character sent as such", `{"a":"�\ufffd"}`, `{"a":"��"}`},
		{"a noncharacter", `{"a":"\uffff"}`, "{\"a\":\"\uffff\"}"},
		{"the last code point", `{"a":"\udbff\udfff"}`, "{\"a\":\"\U0010ffff\"}"},
		{"names that differ in case", `{"a":1,"A":2}`, `{"A":2,"a":1}`},
		{"one name on two levels", `{"a":{"a":{"a":1}}}`, `{"a":{"a":{"a":1}}}`},
		{"one name in two items", `{"a":[{"b":1},{"b":1}]}`, `{"a":[{"b":1},{"b":1}]}`},
		{"brackets in strings", `{"a":"[{]}"}`, `{"a":"[{]}"}`},
		{"members and then an array, in order", `{"b":[[],[[]],{}],"a":2}`, `{"a":2,"b":[[],[[]],{}]}`},
		{"objects 16 deep", deep(`{"a":`, "1", "}", 16), deep(`{"a":`, "1", "}", 16)},
		{"arrays 16 deep", `{"a":` + deep("[", "", "]", 15) + "}", `{"a":` + deep("[", "", "]", 15) + "}"},
		{"depth 16 twice", `{"a":` + deep("[", "", "]", 15) + `,"b":` + deep("[", "", "]", 15) + "}",
			`{"a":` + deep("[", "", "]", 15) + `,"b":` + deep("[", "", "]", 15) + "}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := canonical(t, c.body); got != c.want {
				t.Errorf("read as %s, want %s", got, c.want)
			}
		})
	}
}

func TestAnErrorNamesItsPlaceInLinesAndCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body   string
		line, column int
		message      string
	}{
		{"the end of a cut body", "{\n\n\n\n\n\n  ", 7, 3, "JSON ends early at line 7, column 3."},
		{"the end of one line", `{"a":1`, 1, 7, "JSON ends early at line 1, column 7."},
		{"a comma too many", "{\n  \"a\": 1,\n}", 2, 9, "Unexpected character , at line 2, column 9."},
		{"characters, not bytes", `{"é😀":x}`, 1, 7, "Unexpected character x at line 1, column 7."},
		{"the second of two names", "{\"a\":1,\n \"a\":2}", 2, 2, "Duplicate field a at line 2, column 2."},
		{"the escape itself", `{"a":"\\\u0000"}`, 1, 9, "Forbidden NUL character at line 1, column 9."},
		{"the escape, not what looks like it", `{"a":"\\u0000\u0000"}`, 1, 14, "Forbidden NUL character at line 1, column 14."},
		{"half a pair", `{"a":"x\ud83d"}`, 1, 8, `Lone surrogate \ud83d at line 1, column 8.`},
		{"a byte", "{\"a\":\n\"\xff\"}", 2, 2, "Invalid UTF-8 at line 2, column 2."},
		{"the bracket of level 17", "{\"a\":\n" + strings.Repeat("[", 20), 2, 16, "JSON nests deeper than 16 levels at line 2, column 16."},
		{"what follows", "{}\n\n  {}", 3, 3, "Unexpected content after the JSON object at line 3, column 3."},
		{"a name that is none", `{"a":1, 2:3}`, 1, 9, "Expected a field name in double quotes at line 1, column 9."},
		{"a body of another kind", "\n  null", 2, 3, "The body must be a JSON object, not null."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, bad := strictjson.Parse([]byte(c.body), nil)
			if bad == nil {
				t.Fatal("accepted")
			}
			if bad.Line != c.line || bad.Column != c.column || bad.Message != c.message {
				t.Errorf("line %d, column %d: %q", bad.Line, bad.Column, bad.Message)
			}
		})
	}
}

func TestADuplicateFieldIsNamedByItsPath(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"a":1,"a":2}`:                                           "a",
		`{"recipient":{"name":1,"name":2}}`:                       "recipient.name",
		`{"deliveries":[{},{"recipient":{"a":[[1,{"b":1,"b":2}`:   "deliveries[1].recipient.a[0][1].b",
		`{"a":{"x":1},"b":{"x":1,"x":2}}`:                         "b.x",
		`{"a\u001b[31m":{"x":1,"x":2}}`:                           `a\u001b[31m.x`,
		`{"` + strings.Repeat("n", 99) + `":{"x":1,"\u0078":2}}`:  strings.Repeat("n", 64) + "....x",
		`{"deliveries":[[],[],{"b":[{"c":1},{"c":1}],"b":true}]}`: "deliveries[2].b",
	} {
		_, bad := strictjson.Parse([]byte(body), nil)
		if bad == nil || bad.Field != want {
			t.Errorf("%s: got %+v, want field %s", body, bad, want)
		}
	}
}

func TestParseLeavesTheBodyAloneAndKeepsNoneOfIt(t *testing.T) {
	t.Parallel()
	body := []byte(`{"b":"x\ny","a":"plain","a":1}`)
	before := bytes.Clone(body)
	_, _ = strictjson.Parse(body, nil)
	if !bytes.Equal(body, before) {
		t.Errorf("a refused body became %s", body)
	}

	body = []byte(`{"b":"x\ny","a":"plain"}`)
	before = bytes.Clone(body)
	root, bad := strictjson.Parse(body, nil)
	if bad != nil || !bytes.Equal(body, before) {
		t.Fatalf("body became %s, %v", body, bad)
	}
	clear(body)
	if got := string(root.AppendCanonical(nil)); got != `{"a":"plain","b":"x\u000ay"}` {
		t.Errorf("the tree changed with the body: %s", got)
	}
}

func TestARefusedBodyLeavesNoTraceInTheNextOne(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for _, c := range refusals {
				if len(c.body) > 10_000 {
					continue
				}
				if _, bad := strictjson.Parse([]byte(c.body), nil); bad == nil {
					t.Errorf("%s: accepted", c.name)
				}
				root, bad := strictjson.Parse([]byte(`{"b":"\u0062","a":[1]}`), nil)
				if bad != nil {
					t.Errorf("after %s: %s", c.name, bad.Message)
					return
				}
				if got := string(root.AppendCanonical(nil)); got != `{"a":[1],"b":"b"}` {
					t.Errorf("after %s: %s", c.name, got)
				}
			}
		})
	}
	group.Wait()
}

func TestALaterBodyLeavesEarlierTreesAlone(t *testing.T) {
	t.Parallel()
	var roots []*strictjson.Value
	for i := range 100 {
		roots = append(roots, mustParse(t, fmt.Sprintf(`{"\u0062":"\u0062%d","a":["%d",{}]}`, i, i)))
		mustParse(t, `{"other":[1,2,3,4,{"x":null,"y":"\u0079"}]}`)
	}
	for i, root := range roots {
		if got, want := string(root.AppendCanonical(nil)), fmt.Sprintf(`{"a":["%d",{}],"b":"b%d"}`, i, i); got != want {
			t.Errorf("tree %d is %s", i, got)
		}
	}
}

func TestParseAllocatesAHandfulOfTimesHoweverLongTheBody(t *testing.T) {
	body, least := []byte(createBody), 1000.0
	for range 50 { // the pool may have been emptied before one run or another
		least = min(least, testing.AllocsPerRun(1, func() { _, _ = strictjson.Parse(body, nil) }))
	}
	if least > 3 {
		t.Errorf("%v allocations for a create", least)
	}
}

func TestManyTinyValuesAreReadWholeAndTooManyAreRefused(t *testing.T) {
	t.Parallel()
	values := func(n int) string { return `{"a":[` + strings.Repeat("1,", n-1) + `1]}` }
	if body := values(9_000); canonical(t, body) != body {
		t.Error("it came out changed")
	}
	if root, bad := strictjson.Parse([]byte(values(500_000)), nil); root != nil || bad == nil || !bad.TooMany {
		t.Errorf("half a million values were read: %v", bad)
	}
}
