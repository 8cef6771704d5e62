package strictjson_test

import (
	"strings"
	"testing"

	"waybill/adapters/web/strictjson"
)

// The reasons that Parse gives, as the beginning of a message.
const (
	empty      = "The body is empty"
	notObject  = "The body must be a JSON object, not "
	early      = "JSON ends early"
	unexpected = "Unexpected character "
	noName     = "Expected a field name in double quotes"
	trailing   = "Unexpected content after the JSON object"
	duplicate  = "Duplicate field "
	badUTF8    = "Invalid UTF-8"
	surrogate  = "Lone surrogate "
	badEscape  = "Invalid escape sequence"
	control    = "Unescaped control character "
	nul        = "Forbidden NUL character"
	tooDeep    = "JSON nests deeper than 16 levels"
	byteOrder  = "Unexpected byte order mark"
)

type refusal struct{ name, body, want string }

// refusals lists bodies that must be refused, grouped by what they attack.
var refusals = []refusal{
	{"an empty body", "", empty},
	{"a body of one space", " ", empty},
	{"a body of white space", " \t\r\n\n ", empty},
	{"a lone line feed", "\n", empty},

	{"a top-level null", "null", notObject + "null."},
	{"a top-level null among white space", "\n null \n", notObject + "null."},
	{"a top-level true", "true", notObject + "a boolean."},
	{"a top-level false", "false", notObject + "a boolean."},
	{"a top-level number", "42", notObject + "a number."},
	{"a top-level negative number", "-0.5e3", notObject + "a number."},
	{"a top-level string", `"hello"`, notObject + "a string."},
	{"a top-level empty string", `""`, notObject + "a string."},
	{"a top-level array", "[]", notObject + "an array."},
	{"a top-level array of objects", `[{"a":1}]`, notObject + "an array."},

	{"a byte order mark before an object", "\ufeff{}", byteOrder},
	{"a byte order mark alone", "\ufeff", byteOrder},
	{"UTF-16 with a byte order mark", "\xff\xfe{\x00}\x00", badUTF8},
	{"UTF-16 without a byte order mark", "{\x00}\x00", nul},

	{"plain words", "hello", unexpected + "h"},
	{"a form", "name=Ama&phone=1", unexpected + "n"},
	{"XML", "<a/>", unexpected + "<"},
	{"YAML", "name: Ama", unexpected + "n"},
	{"a shortened null", "nul", early},
	{"a misspelt null", "nulL", unexpected + "n"},
	{"a capital True", `{"a":True}`, unexpected + "T"},
	{"a capital NULL", `{"a":NULL}`, unexpected + "N"},
	{"a literal with a tail", `{"a":truex}`, unexpected + "x"},
	{"undefined", `{"a":undefined}`, unexpected + "u"},
	{"NaN", `{"a":NaN}`, unexpected + "N"},
	{"Infinity", `{"a":Infinity}`, unexpected + "I"},
	{"minus Infinity", `{"a":-Infinity}`, unexpected + "I"},

	{"an open brace", "{", early},
	{"an object cut in a name", `{"na`, early},
	{"an object cut behind a name", `{"name"`, early},
	{"an object cut behind a colon", `{"name":`, early},
	{"an object cut in a string", `{"name":"Am`, early},
	{"an object cut behind a value", `{"name":"Ama"`, early},
	{"an object cut behind a comma", `{"name":"Ama",`, early},
	{"an object cut in a literal", `{"a":tru`, early},
	{"an object cut in a number", `{"a":1.`, early},
	{"an object cut in an exponent", `{"a":1e`, early},
	{"an object cut behind a minus", `{"a":-`, early},
	{"an object cut in an escape", `{"a":"\`, early},
	{"an object cut in a unicode escape", `{"a":"\u12`, early},
	{"an object cut in a surrogate pair", `{"a":"\ud83d\u`, early},
	{"an object cut in a character", "{\"a\":\"\xc3", early},
	{"an object cut in an array", `{"a":[1,2`, early},
	{"a nested object cut", `{"a":{"b":1}`, early},

	{"a second object", "{}{}", trailing},
	{"a second object on the next line", "{}\n{}", trailing},
	{"a trailing comma behind the object", "{},", trailing},
	{"a trailing brace", "{}}", trailing},
	{"a trailing bracket", "{}]", trailing},
	{"a trailing word", `{"a":1} x`, trailing},
	{"a trailing null", "{} null", trailing},
	{"a trailing NUL", "{}\x00", trailing},
	{"a trailing invalid byte", "{}\xff", trailing},
	{"a trailing comment", "{} // done", trailing},
	{"a trailing no-break space", "{}\u00a0", trailing},
	{"a trailing form feed", "{}\f", trailing},

	{"a trailing comma in an object", `{"a":1,}`, unexpected + ","},
	{"a leading comma in an object", `{,"a":1}`, unexpected + ","},
	{"a doubled comma in an object", `{"a":1,,"b":2}`, unexpected + ","},
	{"a missing comma in an object", `{"a":1 "b":2}`, unexpected + `"`},
	{"a missing colon", `{"a" 1}`, unexpected + "1"},
	{"a doubled colon", `{"a"::1}`, unexpected + ":"},
	{"a comma for a colon", `{"a",1}`, unexpected + ","},
	{"a missing value", `{"a":}`, unexpected + "}"},
	{"a name alone", `{"a"}`, unexpected + "}"},
	{"a name alone behind a member", `{"a":1,"b"}`, unexpected + "}"},
	{"a colon alone", `{:1}`, unexpected + ":"},
	{"a semicolon", `{"a":1;"b":2}`, unexpected + ";"},
	{"an equals sign", `{"a"=1}`, unexpected + "="},
	{"a trailing comma in an array", `{"a":[1,]}`, unexpected + ","},
	{"a leading comma in an array", `{"a":[,1]}`, unexpected + ","},
	{"a comma alone in an array", `{"a":[,]}`, unexpected + ","},
	{"a missing comma in an array", `{"a":[1 2]}`, unexpected + "2"},
	{"a colon in an array", `{"a":[1:2]}`, unexpected + ":"},
	{"a brace that closes an array", `{"a":[1}`, unexpected + "}"},
	{"a bracket that closes an object", `{"a":1]`, unexpected + "]"},
	{"a bracket that closes an empty object", `{]`, unexpected + "]"},

	{"a name without quotes", `{a:1}`, unexpected + "a"},
	{"a name in single quotes", `{'a':1}`, unexpected + "'"},
	{"a number as a name", `{1:2}`, noName},
	{"null as a name", `{null:1}`, noName},
	{"true as a name", `{true:1}`, noName},
	{"an object as a name", `{{}:1}`, noName},
	{"an array as a name", `{[]:1}`, noName},
	{"a number as a second name", `{"a":1,2:3}`, noName},
	{"a string in single quotes", `{"a":'x'}`, unexpected + "'"},
	{"a string in backticks", "{\"a\":`x`}", unexpected + "`"},
	{"a string in curly quotes", "{\"a\":\u201cx\u201d}", unexpected + "\u201c"},
	{"a line comment", "{// x\n}", unexpected + "/"},
	{"a block comment", "{/* x */}", unexpected + "/"},
	{"a hash comment", "{# x\n}", unexpected + "#"},

	{"a leading zero", `{"a":01}`, unexpected + "1"},
	{"a negative leading zero", `{"a":-01}`, unexpected + "1"},
	{"a leading plus", `{"a":+1}`, unexpected + "+"},
	{"a leading point", `{"a":.5}`, unexpected + "."},
	{"a trailing point", `{"a":5.}`, unexpected + "}"},
	{"an exponent without digits", `{"a":1e}`, unexpected + "}"},
	{"an exponent with a sign only", `{"a":1e+}`, unexpected + "}"},
	{"an exponent with a point", `{"a":1e1.5}`, unexpected + "."},
	{"a hexadecimal number", `{"a":0x10}`, unexpected + "x"},
	{"an underscore in a number", `{"a":1_000}`, unexpected + "_"},
	{"two points in a number", `{"a":1.2.3}`, unexpected + "."},
	{"two signs", `{"a":--1}`, unexpected + "-"},
	{"a fullwidth digit", "{\"a\":\uff11}", unexpected + "\uff11"},

	{"a no-break space between tokens", "{\u00a0}", unexpected + "U+00A0"},
	{"a vertical tab between tokens", "{\v}", unexpected + "U+000B"},
	{"a form feed between tokens", "{\f}", unexpected + "U+000C"},
	{"a line separator between tokens", "{\u2028}", unexpected + "U+2028"},

	{"a duplicate name", `{"a":1,"a":1}`, duplicate + "a "},
	{"a duplicate name with another between", `{"a":1,"b":2,"a":3}`, duplicate + "a "},
	{"a duplicate name by an escape", `{"a":1,"\u0061":2}`, duplicate + "a "},
	{"a duplicate name by a surrogate pair", `{"😀":1,"\ud83d\ude00":2}`, duplicate + "😀 "},
	{"a duplicate empty name", `{"":1,"":2}`, duplicate + `"" `},
	{"a duplicate name below", `{"a":{"b":1,"b":2}}`, duplicate + "a.b "},
	{"a duplicate name in an array item", `{"a":[{},{"b":1,"b":2}]}`, duplicate + "a[1].b "},
	{"a duplicate name with a null", `{"a":null,"a":null}`, duplicate + "a "},
	{"a duplicate name of a slash", `{"a/b~":1,"a/b~":2}`, duplicate + "a/b~ "},

	{"a NUL in a string", "{\"a\":\"x\x00y\"}", nul},
	{"a NUL in a name", "{\"a\x00\":1}", nul},
	{"a NUL between tokens", "{\x00\"a\":1}", nul},
	{"a NUL before the object", "\x00{}", nul},
	{"an escaped NUL in a string", `{"a":"x\u0000y"}`, nul},
	{"an escaped NUL in a name", `{"a\u0000":1}`, nul},
	{"an escaped NUL behind a backslash", `{"a":"\\\u0000"}`, nul},
	{"an escaped NUL in an array", `{"a":["b",["\u0000"]]}`, nul},

	{"a raw tab in a string", "{\"a\":\"\t\"}", control + "U+0009"},
	{"a raw line feed in a string", "{\"a\":\"x\ny\"}", control + "U+000A"},
	{"a raw carriage return in a name", "{\"a\r\":1}", control + "U+000D"},
	{"a raw escape character in a string", "{\"a\":\"\x1b[31m\"}", control + "U+001B"},

	{"an escape that JSON does not have", `{"a":"\x41"}`, badEscape},
	{"an escaped single quote", `{"a":"\'"}`, badEscape},
	{"an escaped zero", `{"a":"\0"}`, badEscape},
	{"a capital unicode escape", `{"a":"\U0041"}`, badEscape},
	{"a unicode escape without hexadecimal digits", `{"a":"\u00g0"}`, badEscape},
	{"a unicode escape of three digits", `{"a":"\u041"}`, badEscape},
	{"a unicode escape in braces", `{"a":"\u{41}"}`, badEscape},

	{"a lone high surrogate", `{"a":"\ud83d"}`, surrogate + `\ud83d`},
	{"a lone low surrogate", `{"a":"\ude00"}`, surrogate + `\ude00`},
	{"a lone surrogate in capitals", `{"a":"\uD83D"}`, surrogate + `\uD83D`},
	{"swapped surrogates", `{"a":"\ude00\ud83d"}`, surrogate + `\ude00`},
	{"two high surrogates", `{"a":"\ud83d\ud83d"}`, surrogate + `\ud83d`},
	{"a high surrogate before a letter", `{"a":"\ud83dxxxxxxxx"}`, surrogate + `\ud83d`},
	{"a high surrogate before an escape", `{"a":"\ud83d\n12345678"}`, surrogate + `\ud83d`},
	{"a lone surrogate in a name", `{"\udfff":1}`, surrogate + `\udfff`},
	{"a raw surrogate", "{\"a\":\"\xed\xa0\x80\"}", badUTF8},

	{"an invalid byte in a string", "{\"a\":\"\xff\"}", badUTF8},
	{"an invalid byte in a name", "{\"\xfe\":1}", badUTF8},
	{"an invalid byte between tokens", "{\xff}", badUTF8},
	{"an overlong slash", "{\"a\":\"\xc0\xaf\"}", badUTF8},
	{"an overlong NUL", "{\"a\":\"\xc0\x80\"}", badUTF8},
	{"an overlong euro", "{\"a\":\"\xf0\x82\x82\xac\"}", badUTF8},
	{"a lone continuation byte", "{\"a\":\"\x80\"}", badUTF8},
	{"a cut character before a quote", "{\"a\":\"\xe2\x82\"}", badUTF8},
	{"a character beyond Unicode", "{\"a\":\"\xf4\x90\x80\x80\"}", badUTF8},
	{"Latin-1", "{\"a\":\"caf\xe9\"}", badUTF8},

	{"objects 17 deep", deep(`{"a":`, "1", "}", 17), tooDeep},
	{"objects 17 deep, the last empty", deep(`{"a":`, "{}", "}", 16), tooDeep},
	{"arrays 17 deep", `{"a":` + deep("[", "", "]", 16) + "}", tooDeep},
	{"objects and arrays 18 deep", deep(`{"a":[`, "1", "]}", 9), tooDeep},
	{"a million open brackets", `{"a":` + strings.Repeat("[", 1_000_000), tooDeep},
	{"a million open braces", strings.Repeat(`{"":`, 250_000), tooDeep},
	{"depth 17 in the second member", `{"a":1,"b":` + deep("[", "", "]", 16) + "}", tooDeep},
}

// deep wraps the inside n times.
func deep(open, inside, closing string, n int) string {
	return strings.Repeat(open, n) + inside + strings.Repeat(closing, n)
}

func TestAHostileBodyIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	if len(refusals) < 120 {
		t.Fatalf("only %d hostile bodies", len(refusals))
	}
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root, bad := strictjson.Parse([]byte(c.body), nil)
			if bad == nil {
				t.Fatalf("accepted as %s", root.AppendCanonical(nil))
			}
			if root != nil {
				t.Error("a tree came with the error")
			}
			if !strings.HasPrefix(bad.Message, c.want) {
				t.Errorf("message %q, want %q...", bad.Message, c.want)
			}
			if bad.Line < 1 || bad.Column < 1 {
				t.Errorf("place is line %d, column %d", bad.Line, bad.Column)
			}
			if !strings.HasSuffix(bad.Message, ".") || bad.Error() != bad.Message {
				t.Errorf("message %q is no sentence", bad.Message)
			}
			if (bad.Field != "") != strings.HasPrefix(c.want, duplicate) {
				t.Errorf("field is %q", bad.Field)
			}
		})
	}
}
