package web_test

import (
	"testing"

	"waybill/adapters/web"
)

func TestJSONOfYAMLKeepsOrderAndTexts(t *testing.T) {
	t.Parallel()
	got, err := web.JSONOf([]byte("z: {b: 1, a: -2.50, 404: yes}\nwhen: 2026-11-27T08:00:00Z\nday: 2026-11-27\n" +
		"none: ~\nempty: {}\nlist: [true, 'true', \"<b> \\n\"]\ntext: |\n  two\n  lines\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"z":{"b":1,"a":-2.5,"404":"yes"},"when":"2026-11-27T08:00:00Z","day":"2026-11-27",` +
		`"none":null,"empty":{},"list":[true,"true","<b> \n"],"text":"two\nlines\n"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, broken := range []string{"a: [1\n", "a: &x 1\nb: *x\n", "a: &x {b: 1}\nc: {<<: *x}\n", "? [1, 2]\n: 3\n"} {
		if got, err := web.JSONOf([]byte(broken)); err == nil {
			t.Errorf("%q is taken for %s", broken, got)
		}
	}
}
