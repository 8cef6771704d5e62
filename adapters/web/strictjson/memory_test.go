package strictjson_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"waybill/adapters/web/strictjson"
)

// list returns as many items as make n bytes. A number in the form counts them.
func list(n int, form string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(form, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// A client's body costs us at most a few times its size in memory, whatever it contains. A body
// that is refused at its beginning costs next to nothing.
//
// This test runs alone: it counts the memory of the process.
func TestABodyCostsLittleMoreThanItsSize(t *testing.T) {
	const size = 900 << 10
	const kib = 1 << 10
	texts := func(wrong string) string { return `{"deliveries":[{` + wrong + `}]}` }
	for _, c := range []struct {
		name, body string
		most       uint64 // allocated in all, whether or not it is held
		refused    bool
	}{
		{"unknown names", "{" + list(size, `"n#":1`) + "}", 256 * kib, true},
		{"unknown names in an item", texts(list(size, `"n#":1`)), 256 * kib, true},
		{"unknown names in the last of many items", `{"deliveries":[` + list(size/2, `{}`)[:20_000] + `,{` + list(size/2, `"n#":1`) + "}]}",
			2048 * kib, true},
		{"names where a text belongs", texts(`"external_id":{` + list(size, `"n#":1`) + "}"), 256 * kib, true},
		{"objects where a text belongs", texts(`"external_id":[` + list(size, `{"a":1}`) + "]"), 2048 * kib, true},
		{"empty items", `{"deliveries":[` + list(size, "{}") + "]}", 2048 * kib, true},
		{"nested items", `{"deliveries":[` + list(size, strings.Repeat("[", 13)+strings.Repeat("]", 13)) + "]}", 2048 * kib, true},
		{"a million brackets", `{"deliveries":` + strings.Repeat("[", size), 256 * kib, true},
		{"one long unknown name", `{"` + strings.Repeat("a", size) + `":1}`, 4 * size, true},
		{"a broken begin", `{"deliveries":[}` + strings.Repeat(" ", size), 256 * kib, true},
		{"a long text", texts(`"external_id":"` + strings.Repeat("a", size) + `"`), 2 * size, false},
		{"a long text of escapes", texts(`"external_id":"` + strings.Repeat(`\n`, size/2) + `"`), 6 * size, false},
		{"a long number", texts(`"external_id":` + strings.Repeat("9", size)), 2 * size, false},
	} {
		body := []byte(c.body)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		root, bad := strictjson.Parse(body, bulkShape)
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > c.most {
			t.Errorf("%s: %d KiB were allocated for %d, want at most %d", c.name, allocated>>10, len(body)>>10, c.most>>10)
		}
		if (bad != nil) != c.refused {
			t.Errorf("%s: %v", c.name, bad)
		}
		runtime.KeepAlive(root)
	}
}

func TestAValueThatIsWrongInManyPlacesIsToldInAHundred(t *testing.T) {
	t.Parallel()
	root := mustParse(t, `{"all":[`+list(5000, `"#"`)+`]}`)
	r := strictjson.NewReader(root)
	items := r.Array("all", strictjson.Required)
	for i := range items.Len() {
		items.Enum(i, []string{"right"})
		r.Reject("all", strictjson.CodeInvalidFormat, "wrong")
	}
	if n := len(r.Problems()); n != 100 {
		t.Errorf("%d problems are told of %d", n, 2*items.Len())
	}
}

func TestALongNumberIsReadWithoutReckoningWithIt(t *testing.T) {
	for _, number := range []string{strings.Repeat("9", 900<<10), "1e" + strings.Repeat("9", 900<<10), "0." + strings.Repeat("0", 900<<10) +
		"1", "1e999999999", "-1e-999999999"} {
		root := mustParse(t, `{"n":`+number+`}`)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := strictjson.NewReader(root)
		r.Number("n", strictjson.Required)
		r.Integer("n", strictjson.Required)
		r.Decimal("n", strictjson.Required)
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8<<20 {
			t.Errorf("%.20s...: %d KiB were allocated for %d", number, allocated>>10, len(number)>>10)
		}
	}
}
