package domain_test

import (
	"net/url"
	"strings"
	"testing"

	"waybill/domain"
)

func TestARefusedAddressIsToldByWhatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://10.0.0.1/x?token=secret":            `Use a host name, not an IP address; it is "10.0.0.1". ` + domain.ListenInstead + ` A server for development takes such an address while all its listeners are on loopback addresses.`,
		"https://intranet/x?token=secret":            `such as hooks.example.com; it is "intranet".`,
		"https://shop.internal":                      `one that the internet knows; it is "shop.internal".`,
		"https://nas.home.arpa":                      `one that the internet knows; it is "nas.home.arpa".`,
		"https://bücher.example":                     `xn--bcher-kva.example; it is "bücher.example".`,
		"https://a\u200bb.example.com":               `it is "a\u200bb.example.com".`,
		"https://" + strings.Repeat("a", 70) + ".io": `it is "` + strings.Repeat("a", 64) + `...".`,
		"https://shop.example.com:9000/secret":       `Use port 443 or 8443; it is "9000".`,
		"http://shop.example.com/secret":             `Use https; it is http.`,
		"gopher://shop.example.com/secret":           `Use https; it is "gopher".`,
		"shop.example.com/hooks?token=secret":        `such as https://example.com/hooks; it is "shop.example.com/hooks".`,
		"me:secret@shop.example.com":                 `such as https://example.com/hooks.`,
	} {
		e := domain.CheckWebhookURL(address, domain.Live, false)
		if e == nil || !strings.HasSuffix(e.Message, want) || strings.Contains(e.Message, "secret") ||
			!strings.HasSuffix(e.Fields[0].Message, want) {
			t.Errorf("%s: %v, want %s at its end", address, e, want)
		}
	}
	key := domain.MakeAPIKey(domain.Live, [32]byte{1})
	signing := domain.FormatSigningSecret([]byte(strings.Repeat("\xfb\xff", domain.SigningSecretBytes/2))) // +/v7
	for _, secret := range []string{key, signing, url.QueryEscape(signing), url.QueryEscape(url.QueryEscape(signing)), "%73" + key[1:]} {
		for _, address := range []string{"https://shop.example.com/hooks?token=" + secret, "https://shop.example.com/" + secret + "/hooks"} {
			if e := domain.CheckWebhookURL(address, domain.Live, true); e == nil || strings.Contains(e.Message, secret[20:]) {
				t.Errorf("%s: %v", address, e)
			}
		}
	}
	if e := domain.CheckWebhookURL("https://shop.example.com/a%2Fb?c=50%25&d=%zz%", domain.Live, true); e != nil {
		t.Errorf("an address without a secret: %v", e)
	}
	for want, c := range map[string]struct {
		env     domain.Environment
		lenient bool
	}{
		`Use https, or http on port 80 or 8080; it is "ftp".`: {domain.Sandbox, false},
		`Use http or https; it is "ftp".`:                     {domain.Live, true},
		`Use https; it is "ftp".`:                             {domain.Live, false},
	} {
		if e := domain.CheckWebhookURL("ftp://shop.example.com", c.env, c.lenient); e == nil || !strings.HasSuffix(e.Message, ": "+want) {
			t.Errorf("%s, lenient %t: %v, want %s", c.env, c.lenient, e, want)
		}
	}
	long := "https://shop.example.com/" + strings.Repeat("x", 2048)
	if e := domain.CheckWebhookURL(long, domain.Live, false); e == nil ||
		!strings.HasSuffix(e.Message, ": must have 1 to 2048 bytes; it has 2073") {
		t.Error(e)
	}
	for _, port := range []string{"0", "65536", "99999999999999999999"} {
		if e := domain.CheckWebhookURL("https://shop.example.com:"+port+"/", domain.Live, true); e == nil ||
			!strings.HasSuffix(e.Message, `port must be 1 to 65535; it is "`+port+`".`) {
			t.Error(e)
		}
	}
	if e := domain.CheckWebhookURL("http://shop.example.com:81", domain.Sandbox, false); !strings.HasSuffix(e.Message,
		`only in the sandbox; it is "81".`) {
		t.Error(e)
	}
}

func TestARefusedWordIsShownSafely(t *testing.T) {
	t.Parallel()
	_, err := domain.ParseScopes("quotes:read,\x1b[2J" + strings.Repeat("x", 99))
	if want := `scope "\x1b[2J` + strings.Repeat("x", 60) + `...";`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s in it", err, want)
	}
}
