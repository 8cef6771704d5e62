package strictjson_test

import (
	"strings"
	"testing"
	"time"

	"waybill/adapters/web/strictjson"
)

func TestOneNumberHasOneForm(t *testing.T) {
	t.Parallel()
	nines := strings.Repeat("9", 30)
	for _, c := range []struct {
		want     string
		spelling []string
	}{
		{"0", []string{"0", "-0", "0.0", "-0.000", "0e5", "0E-5", "-0e+99", "0e99999999999999999999999"}},
		{"1", []string{"1", "1.0", "1e0", "1E-0", "10e-1", "0.1e1", "0.001e+3", "1000e-3", "1.000",
			"1e0000000000000000000000", "1e-0000000000000000000000", "10e-0000000000000000000001"}},
		{"-1", []string{"-1", "-1.0", "-10e-1"}},
		{"15e-1", []string{"1.5", "1.50", "15e-1", "0.15e1", "150E-2"}},
		{"5e-2", []string{"0.05", "0.050", "5e-2", "50e-3", "0.0005e2"}},
		{"1e2", []string{"100", "1e2", "100.00", "0.1e3", "1E+0002"}},
		{"10203e1", []string{"102030", "102030.0", "1020.30e2"}},
		{"1e999999999", []string{"1e999999999", "10e999999998", "0.1e1000000000", "1.0E+999999999"}},
		{"1e-999999999", []string{"1e-999999999", "10e-1000000000", "0.01e-999999997"}},
		{"1e999999999999999999", []string{"1e999999999999999999", "0.1e1000000000000000000", "10e999999999999999998"}},
		{"1e1000000000000000000", []string{"1e1000000000000000000", "10e999999999999999999", "0.1e1000000000000000001"}},
		{"1e-1000000000000000000", []string{"1e-1000000000000000000", "0.1e-999999999999999999"}},
		{"1e-999999999999999999", []string{"10e-1000000000000000000", "1e-999999999999999999"}},
		{"1e1" + strings.Repeat("0", 30), []string{"10e" + nines, "100e" + strings.Repeat("9", 29) + "8", "1e1" + strings.Repeat("0", 30)}},
		{"1e" + nines, []string{"0.1e1" + strings.Repeat("0", 30), "1e" + nines, "1e+000" + nines}},
		{"12345678901234568e6", []string{"12345678901234567890123", "12345678901234567890.123e3"}},
		{"219e-1", []string{"21.9", "21.899999999999999", "0.21899999999999999e2"}},
	} {
		for _, s := range c.spelling {
			if got := canonical(t, `{"n":`+s+`}`); got != `{"n":`+c.want+`}` {
				t.Errorf("%s became %s, want %s", s, got, c.want)
			}
		}
	}
}

func TestCloseNumbersStayApart(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"21.9", "21.89999999999999"},
		{"9007199254740992", "9007199254740994"},
		{"1e400", "1e401"},
		{"1e-400", "0"},
		{"1e-400", "-1e-400"},
		{"1e99999999999999999999", "1e99999999999999999998"},
		{"1e99999999999999999999", "1e-99999999999999999999"},
		{"1", "-1"},
		{"1", `"1"`},
		{"1.2e1", "1.2"},
	} {
		a, b := canonical(t, `{"n":`+pair[0]+`}`), canonical(t, `{"n":`+pair[1]+`}`)
		if a == b {
			t.Errorf("%s and %s are both %s", pair[0], pair[1], a)
		}
	}
}

func TestDocumentsThatMeanTheSameHaveOneForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, a, b string }{
		{"order of names", `{"a":1,"b":{"c":2,"d":3}}`, `{"b":{"d":3,"c":2},"a":1}`},
		{"white space", `{"a":[1,2]}`, "{\n\t\"a\" : [ 1 , 2 ]\r\n}"},
		{"escapes in strings", `{"a":"é/\"😀"}`, `{"a":"\u00e9\/\u0022\uD83D\uDE00"}`},
		{"escapes in names", `{"é":1}`, `{"\u00E9":1}`},
		{"line feeds", `{"a":"\n"}`, `{"a":"\u000A"}`},
		{"numbers in arrays", `{"a":[1,10,0]}`, `{"a":[1.0,1e1,-0]}`},
	} {
		if a, b := canonical(t, c.a), canonical(t, c.b); a != b {
			t.Errorf("%s: %s and %s", c.name, a, b)
		}
	}
}

func TestDocumentsThatDifferHaveDifferentForms(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, body := range []string{
		`{}`, `{"a":null}`, `{"a":{}}`, `{"a":[]}`, `{"a":""}`, `{"a":0}`, `{"a":false}`, `{"a":true}`,
		`{"a":"null"}`, `{"a":"0"}`, `{"a":[null]}`, `{"a":[1,2]}`, `{"a":[2,1]}`, `{"a":[[1],2]}`, `{"a":[1,[2]]}`,
		`{"a":[12]}`, `{"a":"1,2"}`, `{"a":"\\n"}`, `{"a":"\n"}`, `{"a":"n"}`, `{"a":"\u00e9"}`, `{"a":"e\u0301"}`,
		`{"A":null}`, `{"":null}`, `{"a":null,"b":null}`, `{"a,b":null}`, `{"a\":null,\"b":null}`, `{"a":{"b":1}}`,
		`{"a":{},"b":1}`, `{"a":"\u0001"}`, `{"a":"u0001"}`, `{"a":"\\u0001"}`, `{"a":" "}`, `{"a":"  "}`,
	} {
		form := canonical(t, body)
		if other, clash := seen[form]; clash {
			t.Errorf("%s and %s are both %s", body, other, form)
		}
		seen[form] = body
	}
}

func TestHugeNumbersCostNoMoreThanTheirText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("7", 500_000)
	for _, n := range []string{
		"1e999999999", "1e-999999999", "-1e999999999999999999999999", "1e" + long, "1e-" + long, long, "0." + long,
		long + "." + long + "e-" + long, "1" + strings.Repeat("0", 500_000), "0." + strings.Repeat("0", 500_000) + "1",
	} {
		root := mustParse(t, `{"n":`+n+`}`)
		started := time.Now()
		form := root.AppendCanonical(nil)
		value, _ := strictjson.NewReader(root).Decimal("n", strictjson.Required)
		_, _ = value.MinorUnits(2, 100)
		strictjson.NewReader(root).Number("n", strictjson.Required)
		strictjson.NewReader(root).Integer("n", strictjson.Required)
		if spent := time.Since(started); spent > 20*time.Second { // many minutes, where it is written out
			t.Errorf("%.20s... took %v", n, spent)
		}
		if len(form) > len(n)+32 {
			t.Errorf("%.20s... became %d bytes", n, len(form))
		}
	}
}

func TestTheCanonicalFormIsAppendedAndAllocatesNothing(t *testing.T) {
	root := mustParse(t, createBody)
	if got := string(root.AppendCanonical([]byte("POST /v1/deliveries\n"))); !strings.HasPrefix(got,
		"POST /v1/deliveries\n{\"delivery_instructions\":") {
		t.Errorf("got %.60s", got)
	}
	buf := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { root.AppendCanonical(buf) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
