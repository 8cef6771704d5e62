package e2e

import (
	"fmt"
	"strings"
	"testing"
)

const invalidRequest = "400 INVALID_REQUEST"

// The body that the tables break, with everything a create needs.
const soundOrder = `{"recipient":{"name":"Efua Quartey","phone_number":"+233241234567","address":{"address":"17 Palm Crescent, Labone","latitude":5.58,"longitude":-0.19}},` +
	`"pickup":{"name":"Osu kitchen","contact":"+233302000011","address":"8 Cantonments Close","latitude":5.5571,"longitude":-0.1818},` +
	`"payment":{"type":"delivery_only"},"vehicle_type":"bike"}`

// swapped is the sound order with a part of its text replaced.
func swapped(old, new string) string {
	if !strings.Contains(soundOrder, old) {
		panic("not in the sound order: " + old)
	}
	return strings.Replace(soundOrder, old, new, 1)
}

type hostileBody struct{ name, body, want string }

// brokenBodies are no JSON, or JSON that must not be taken.
var brokenBodies = []hostileBody{
	{"an empty body", "", invalidRequest},
	{"white space", " \t\r\n ", invalidRequest},
	{"null", "null", invalidRequest},
	{"true", "true", invalidRequest},
	{"a number", "42", invalidRequest},
	{"a string", `"order"`, invalidRequest},
	{"an array", "[]", invalidRequest},
	{"an array with the order in it", "[" + soundOrder + "]", invalidRequest},
	{"words", "please deliver", invalidRequest},
	{"a form", "vehicle_type=bike&payment=cod", invalidRequest},
	{"XML", `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>`, invalidRequest},
	{"YAML", "vehicle_type: bike\n", invalidRequest},
	{"a multipart form", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x--", invalidRequest},
	{"gzip", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00\x43\xbf\xa6\xa3\x02\x00\x00\x00", invalidRequest},
	{"a serialized Java object", "\xac\xed\x00\x05sr\x00", invalidRequest},

	{"two orders", soundOrder + soundOrder, invalidRequest},
	{"an order and a line of another", soundOrder + "\n{}", invalidRequest},
	{"an order and a brace", soundOrder + "}", invalidRequest},
	{"an order and a comma", soundOrder + ",", invalidRequest},
	{"an order and a NUL", soundOrder + "\x00", invalidRequest},
	{"an order and a form feed", soundOrder + "\f", invalidRequest},
	{"an order and a comment", soundOrder + " // gift", invalidRequest},
	{"an order behind a comment", "/* gift */" + soundOrder, invalidRequest},
	{"an order behind a hash comment", "# gift\n" + soundOrder, invalidRequest},
	{"an order behind a guard against inclusion", ")]}',\n" + soundOrder, invalidRequest},
	{"a comment inside", swapped(`"vehicle_type"`, `/* gift */"vehicle_type"`), invalidRequest},
	{"a byte order mark", "\ufeff" + soundOrder, invalidRequest},
	{"UTF-16, little endian", utf16Text(soundOrder, false), invalidRequest},
	{"UTF-16, big endian", utf16Text(soundOrder, true), invalidRequest},
	{"UTF-32", "\x00\x00\x00{\x00\x00\x00}", invalidRequest},
	{"no-break space between tokens", swapped(`,"vehicle_type"`, ",\u00a0\"vehicle_type\""), invalidRequest},
	{"a line separator between tokens", swapped(`,"vehicle_type"`, ",\u2028\"vehicle_type\""), invalidRequest},

	{"single quotes", strings.ReplaceAll(soundOrder, `"`, `'`), invalidRequest},
	{"typographic quotes", swapped(`"bike"`, `“bike”`), invalidRequest},
	{"names without quotes", swapped(`"vehicle_type"`, `vehicle_type`), invalidRequest},
	{"a value without quotes", swapped(`"bike"`, `bike`), invalidRequest},
	{"a comma too many", swapped(`"bike"}`, `"bike",}`), invalidRequest},
	{"two commas", swapped(`,"vehicle_type"`, `,,"vehicle_type"`), invalidRequest},
	{"a comma too few", swapped(`,"vehicle_type"`, `"vehicle_type"`), invalidRequest},
	{"a colon too few", swapped(`"vehicle_type":`, `"vehicle_type"`), invalidRequest},
	{"two colons", swapped(`"vehicle_type":`, `"vehicle_type"::`), invalidRequest},
	{"an equals sign", swapped(`"vehicle_type":`, `"vehicle_type"=`), invalidRequest},
	{"brackets that do not match", swapped(`"bike"}`, `"bike"]`), invalidRequest},
	{"a number as a name", swapped(`"vehicle_type":`, `1:`), invalidRequest},
	{"null as a name", swapped(`"vehicle_type":`, `null:`), invalidRequest},

	{"a name twice", swapped(`"vehicle_type":"bike"`, `"vehicle_type":"bike","vehicle_type":"bike"`), invalidRequest},
	{"a name twice, once escaped", swapped(`"vehicle_type":"bike"`, `"vehicle_type":"bike","vehicle\u005ftype":"car"`), invalidRequest},
	{"a nested name twice", swapped(`"latitude":5.58`, `"latitude":5.58,"latitude":90`), invalidRequest},
	{"an unknown name twice", swapped(`{"recipient"`, `{"x":1,"x":1,"recipient"`), invalidRequest},
	{"a duplicate that differs in null", swapped(`"vehicle_type":"bike"`, `"vehicle_type":null,"vehicle_type":"bike"`), invalidRequest},
	{"an unknown field", swapped(`"vehicle_type"`, `"fee_override":0,"vehicle_type"`), invalidRequest},
	{"an unknown nested field", swapped(`"name":"Efua Quartey"`, `"name":"Efua Quartey","id":"rcp_1"`), invalidRequest},
	{"an unknown field two levels down", swapped(`"latitude":5.58`, `"latitude":5.58,"plus_code":"X"`), invalidRequest},
	{"an unknown field that is null", swapped(`"vehicle_type"`, `"status":null,"vehicle_type"`), invalidRequest},
	{"a field of the answer", swapped(`"vehicle_type"`, `"delivery_fee":0,"vehicle_type"`), invalidRequest},
	{"a field of another tenant", swapped(`"vehicle_type"`, `"business_id":"biz_1","vehicle_type"`), invalidRequest},
	{"a name in capitals", swapped(`"vehicle_type"`, `"VEHICLE_TYPE"`), invalidRequest},
	{"a name in camel case", swapped(`"vehicle_type"`, `"vehicleType"`), invalidRequest},
	{"a name with the Kelvin sign", swapped(`"pickup":{`, "\"pic\u212aup\":{"), invalidRequest},
	{"a name with white space", swapped(`"vehicle_type"`, `"vehicle_type "`), invalidRequest},
	{"an empty name", swapped(`"vehicle_type"`, `"":1,"vehicle_type"`), invalidRequest},
	{"the prototype's name", swapped(`"vehicle_type"`, `"__proto__":{"admin":true},"vehicle_type"`), invalidRequest},
	{"an operator of a document store", swapped(`"vehicle_type"`, `"$where":"1==1","vehicle_type"`), invalidRequest},
	{"a long unknown name", swapped(`"vehicle_type"`, `"`+strings.Repeat("n", 30_000)+`":1,"vehicle_type"`), invalidRequest},
	{"an unknown name that is markup", swapped(`"vehicle_type"`, `"<script>alert(1)</script>":1,"vehicle_type"`), invalidRequest},
	{"an unknown name of control characters", swapped(`"vehicle_type"`, `"\u001b[2J\u0007\r\n":1,"vehicle_type"`), invalidRequest},
	{"6,000 unknown names", "{" + manyNames(6_000) + "}", invalidRequest},
	{"9,000 equal names", "{" + strings.Repeat(`"a":1,`, 9_000) + `"a":1}`, invalidRequest},

	{"17 levels of objects", strings.Repeat(`{"a":`, 17) + "1" + strings.Repeat("}", 17), invalidRequest},
	{"17 levels of arrays", swapped(`"bike"`, strings.Repeat("[", 17)+strings.Repeat("]", 17)), invalidRequest},
	{"10,000 levels of arrays", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), invalidRequest},
	{"10,000 levels of objects", strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), invalidRequest},
	{"60,000 open brackets", swapped(`"bike"`, strings.Repeat("[", 60_000)), invalidRequest},

	{"NaN", swapped(`5.58`, `NaN`), invalidRequest},
	{"Infinity", swapped(`5.58`, `Infinity`), invalidRequest},
	{"minus Infinity", swapped(`5.58`, `-Infinity`), invalidRequest},
	{"a hexadecimal number", swapped(`5.58`, `0x05`), invalidRequest},
	{"an octal number", swapped(`5.58`, `05`), invalidRequest},
	{"a plus sign", swapped(`5.58`, `+5.58`), invalidRequest},
	{"no digit before the point", swapped(`5.58`, `.58`), invalidRequest},
	{"no digit behind the point", swapped(`5.58`, `5.`), invalidRequest},
	{"an empty exponent", swapped(`5.58`, `5e`), invalidRequest},
	{"a signed empty exponent", swapped(`5.58`, `5e+`), invalidRequest},
	{"two minus signs", swapped(`-0.19`, `--0.19`), invalidRequest},
	{"two points", swapped(`5.58`, `5.5.8`), invalidRequest},
	{"a decimal comma", swapped(`5.58`, `5,58`), invalidRequest},
	{"grouped digits", swapped(`5.58`, `5_580`), invalidRequest},
	{"Arabic digits", swapped(`5.58`, `٥`), invalidRequest},
	{"a big integer of JavaScript", swapped(`5.58`, `5n`), invalidRequest},
	{"a capital True", swapped(`"bike"`, `True`), invalidRequest},
	{"undefined", swapped(`"bike"`, `undefined`), invalidRequest},

	{"an escaped NUL", swapped("Efua", `Ef\u0000ua`), invalidRequest},
	{"a raw NUL", swapped("Efua", "Ef\x00ua"), invalidRequest},
	{"an escaped NUL in a name", swapped(`"vehicle_type"`, `"vehicle_type\u0000"`), invalidRequest},
	{"a lone high surrogate", swapped("Efua", `Ef\ud83dua`), invalidRequest},
	{"a lone low surrogate", swapped("Efua", `Ef\ude00ua`), invalidRequest},
	{"surrogates the wrong way round", swapped("Efua", `\ude00\ud83d`), invalidRequest},
	{"two high surrogates", swapped("Efua", `\ud83d\ud83d\ude00`), invalidRequest},
	{"half a surrogate pair in an escape", swapped("Efua", `\ud83d\u00`), invalidRequest},
	{"a lone surrogate in a name", swapped(`"vehicle_type"`, `"\udc00"`), invalidRequest},
	{"a surrogate in UTF-8", swapped("Efua", "Ef\xed\xa0\xbdua"), invalidRequest},
	{"a stray continuation byte", swapped("Efua", "Ef\x80ua"), invalidRequest},
	{"a cut sequence", swapped("Efua", "Ef\xc3"), invalidRequest},
	{"an overlong slash", swapped("Efua", "Ef\xc0\xaf"), invalidRequest},
	{"an overlong NUL", swapped("Efua", "Ef\xc0\x80"), invalidRequest},
	{"beyond Unicode", swapped("Efua", "Ef\xf4\x90\x80\x80"), invalidRequest},
	{"Latin-1", swapped("Efua", "Ren\xe9"), invalidRequest},
	{"byte FF", swapped("Efua", "\xff\xff"), invalidRequest},
	{"invalid UTF-8 between tokens", swapped(`,"vehicle_type"`, ",\xfe\"vehicle_type\""), invalidRequest},
	{"a raw line feed in a string", swapped("Efua", "Ef\nua"), invalidRequest},
	{"a raw tab in a string", swapped("Efua", "Ef\tua"), invalidRequest},
	{"a raw escape character in a string", swapped("Efua", "\x1b[31mEfua"), invalidRequest},
	{"an unknown escape", swapped("Efua", `Ef\ua`), invalidRequest},
	{"a hexadecimal escape", swapped("Efua", `\x45fua`), invalidRequest},
	{"an escape that ends early", swapped("Efua", `\u12`), invalidRequest},
	{"an escape with braces", swapped("Efua", `\u{1F600}`), invalidRequest},
	{"an escape of no hexadecimal digits", swapped("Efua", `\u00zz`), invalidRequest},
	{"a string over two lines", swapped("Efua", "Ef\\\nua"), invalidRequest},

	// Odd, and yet what it says is clear.
	{"16 levels in a field of another kind", swapped(`"bike"`, strings.Repeat("[", 15)+strings.Repeat("]", 15)), "422 VALIDATION_ERROR"},
	{"white space everywhere", " \n" + strings.ReplaceAll(strings.ReplaceAll(soundOrder, `:`, " :\t"), `,"`, "\r\n,\"") + "\n ", "201"},
	{"everything escaped", escapedText(soundOrder), "201"},
	{"a surrogate pair, escaped", swapped("Efua", `\ud83d\ude00`), "201"},
	{"a replacement character", swapped("Efua", "\ufffd"), "201"},
	{"a noncharacter", swapped("Efua", `\uffff`), "201"},
	{"the last code point", swapped("Efua", "\U0010ffff"), "201"},
	{"an escaped backslash before u0000", swapped("Efua", `\\u0000`), "201"},
	{"an empty object", "{}", "422 VALIDATION_ERROR"},
}

func manyNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"%x":1`, i)
	}
	return strings.Join(names, ",")
}

func utf16Text(text string, bigEndian bool) string {
	var b strings.Builder
	for i := range len(text) {
		if bigEndian {
			b.WriteString("\x00" + text[i:i+1])
		} else {
			b.WriteString(text[i:i+1] + "\x00")
		}
	}
	return b.String()
}

// escapedText writes every character within quotes as an escape.
func escapedText(text string) string {
	var b strings.Builder
	quoted := false
	for _, c := range text {
		if c == '"' {
			quoted = !quoted
		}
		if quoted && c != '"' {
			fmt.Fprintf(&b, `\u%04X`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// bodies sends text that is no sound JSON.
func (g *siege) bodies(t *testing.T) {
	table := brokenBodies
	for at := 9; at < len(soundOrder); at += 17 {
		table = append(table, hostileBody{fmt.Sprintf("an order cut at byte %d", at), soundOrder[:at], invalidRequest})
	}
	for _, c := range table {
		g.hit(t, "body: "+c.name, c.want, "POST", "/deliveries", c.body)
		// As an item it may mean something else, such as no item; it is refused or sound all the same.
		want := map[bool]string{true: "4xx", false: c.want + "|4xx"}[c.want == invalidRequest]
		g.hit(t, "item: "+c.name, want, "POST", "/deliveries/bulk", `{"deliveries":[`+c.body+`]}`)
	}
	for _, path := range []string{"/quotes", "/recipients", "/recipients/" + g.name["{rcp}"] + "/addresses", "/pickup-locations",
		"/deliveries/bulk",
		"/webhook-endpoints", "/webhook-endpoints/" + g.name["{whe}"] + "/recover"} {
		for _, body := range []string{"", "null", "[]", "{", `{"x":1}`, "\xff", `{"a":"\ud800"}`} {
			g.hit(t, fmt.Sprintf("body %q for %.12s", body, path), invalidRequest, "POST", path, body)
		}
	}
	for _, body := range []string{"null", "[]", "{", `{"reason":"late"}`, `{} {}`, "\x00", `""`} {
		g.hit(t, fmt.Sprintf("cancel with body %q", body), invalidRequest, "POST", "/deliveries/"+g.name["{dlv}"]+"/cancel", body)
		g.hit(t, fmt.Sprintf("test event with body %q", body), invalidRequest, "POST", "/webhook-endpoints/"+g.name["{whe}"]+"/test", body)
		g.hit(t, fmt.Sprintf("rotation with body %q", body), invalidRequest, "POST", "/webhook-endpoints/"+g.name["{whe}"]+"/rotate-secret", body)
		g.hit(t, fmt.Sprintf("deletion with body %q", body), invalidRequest, "DELETE", "/webhook-endpoints/"+g.name["{whe}"], body)
		g.hit(t, fmt.Sprintf("listener with body %q", body), g.helped(invalidRequest), "POST", listenerPath, body)
		g.hit(t, fmt.Sprintf("fetch with body %q", body), nowhere, "POST", listenerPath+"/"+g.name["{whe}"]+"/fetch", body)
		g.hit(t, fmt.Sprintf("stop with body %q", body), g.helped(invalidRequest), "DELETE", g.fill(helperPath+"/simulation"), body)
	}
	for _, body := range []string{"", "null", "[]", "{", "\xff", `"assigned"`, `{"status":"assigned"`, `{"status":"assigned"}{}`,
		`{"status":"assigned","status":"failed"}`,
		`{"Status":"assigned"}`, `{"status":"assigned","reason_code":"other"}`, `{"scenario":"delivered","status":"assigned"}`,
		`{"scenario":"stalled","scenario":"manual"}`,
		`{"sandbox":{"scenario":"delivered"}}`, `{"scenario":"delivered","steps":[{"to":"delivered"}]}`,
		`{"scenario":"manual","step_seconds":15,"next_step_at":null}`,
		`{"scenario":"\ud800"}`, `{"scenario":"manual\u0000"}`, strings.Repeat(`{"scenario":`, 17) + "1" + strings.Repeat("}", 17)} {
		g.hit(t, fmt.Sprintf("transition with body %.60q", body), g.helped(invalidRequest), "POST", g.fill(helperPath+"/transition"), body)
		g.hit(t, fmt.Sprintf("start with body %.60q", body), g.helped(invalidRequest), "POST", g.fill(helperPath+"/simulation"), body)
	}
	g.hit(t, "a transition of nothing", g.helped(wrongValue), "POST", g.fill(helperPath+"/transition"), "{}")
	g.hit(t, "a start of nothing", g.helped(wrongValue), "POST", g.fill(helperPath+"/simulation"), "{}")
	g.healthy(t)
}
