package web

import "testing"

func TestAHostInOtherLettersIsWrittenInASCII(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://bücher.example":                  "https://xn--bcher-kva.example",
		"https://BÜCHER.example:8443/a%2Fb?c=ü#x": "https://xn--bcher-kva.example:8443/a%2Fb?c=ü#x",
		"https://b%C3%BCcher.example/a":           "https://xn--bcher-kva.example/a",
		"https://straße.example/":                 "https://xn--strae-oqa.example/", // not strasse, as browsers do
		"https://shop。example/":                   "https://shop.example/",
		"https://１２７.０.０.１/":                      "https://127.0.0.1/", // so that the rules see what it is
		"https://shop.example/ü":                  "https://shop.example/ü",
		"https://Shop.example":                    "https://Shop.example",
		"https://user@bücher.example":             "https://user@bücher.example",
		"https://a\u202ebücher.example":           "https://a\u202ebücher.example",
		"https://xn--ü.example":                   "https://xn--ü.example",
		"bücher.example":                          "bücher.example", "": "", "https://[::1%25ü]/": "https://[::1%25ü]/",
	} {
		if got := ASCIIHost(address); got != want {
			t.Errorf("%q became %q, want %q", address, got, want)
		}
	}
}
