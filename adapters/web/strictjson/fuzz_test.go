package strictjson_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"waybill/adapters/web/strictjson"
)

// FuzzParse compares Parse with encoding/json. Parse refuses what encoding/json refuses. What
// Parse accepts means the same to both. What only Parse refuses has a reason that encoding/json
// does not check.
func FuzzParse(f *testing.F) {
	for _, c := range refusals {
		if len(c.body) < 1000 {
			f.Add([]byte(c.body))
		}
	}
	f.Add([]byte(createBody))
	f.Add([]byte(`{"a":[1.0,10e-1,-0,1e400],"b":{"\u00e9":"\ud83d\ude00"},"c":[true,false,null]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) > 16<<10 {
			return
		}
		given := bytes.Clone(body)
		root, bad := strictjson.Parse(body, nil)
		if !bytes.Equal(body, given) {
			t.Fatal("the body was changed")
		}
		if (root == nil) == (bad == nil) {
			t.Fatal("neither or both of tree and error")
		}
		if bad != nil {
			checkRefusal(t, body, bad)
			return
		}
		if !utf8.Valid(body) {
			t.Fatal("accepted invalid UTF-8")
		}
		want := decode(t, body)
		form := root.AppendCanonical(nil)
		if len(form) > 3*len(body) {
			t.Fatalf("%d bytes became %d", len(body), len(form))
		}
		if got := decode(t, form); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s became %s", body, form)
		}
		again, bad := strictjson.Parse(form, nil)
		if bad != nil {
			t.Fatalf("%s: %s", form, bad.Message)
		}
		if second := again.AppendCanonical(nil); !bytes.Equal(second, form) {
			t.Fatalf("%s became %s", form, second)
		}
		if shaped, bad := strictjson.Parse(body, bulkShape); bad == nil && !bytes.Equal(shaped.AppendCanonical(nil), form) {
			t.Fatalf("%s became another body by its shape", body)
		}
		readCreate(strictjson.NewReader(root))
	})
}

func checkRefusal(t *testing.T, body []byte, bad *strictjson.SyntaxError) {
	t.Helper()
	lines := 1 + bytes.Count(body, []byte("\n"))
	if bad.Line < 1 || bad.Line > lines || bad.Column < 1 || bad.Column > len(body)+1 || !utf8.ValidString(bad.Message) ||
		len(bad.Message) > 4000 {
		t.Fatalf("%q: %+v", body, bad)
	}
	if !json.Valid(body) {
		return
	}
	for _, reason := range []string{notObject, duplicate, badUTF8, surrogate, nul, tooDeep} {
		if strings.HasPrefix(bad.Message, reason) {
			return
		}
	}
	t.Fatalf("%q is JSON, yet %s", body, bad.Message)
}

// decode returns encoding/json's view of a body, with exact numbers.
func decode(t *testing.T, body []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("accepted %q: %v", body, err)
	}
	if d.More() {
		t.Fatalf("accepted content behind %q", body)
	}
	return normal(v)
}

// normal gives equal numbers one text. It leaves exponents that are too long to compute to
// other tests.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			v[name] = normal(value)
		}
	case []any:
		for i, value := range v {
			v[i] = normal(value)
		}
	case json.Number:
		_, exp, _ := strings.Cut(strings.ToLower(string(v)), "e")
		if len(strings.TrimLeft(exp, "+-0")) > 5 {
			return "a number"
		}
		// Below that, the value counts and not its spelling.
		if r, _ := new(big.Rat).SetString(string(v)); r.Num().BitLen() < 1000 && r.Denom().BitLen() < 1000 {
			return r.RatString()
		}
		return "a number"
	}
	return v
}
