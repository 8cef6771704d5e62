package domain_test

import (
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

// addresses lists where an endpoint may have which URL: l live, s sandbox, d development.
var addresses = map[string]string{
	"https://hooks.example.com":                       "lsd",
	"https://hooks.example.com/":                      "lsd",
	"https://hooks.example.com/a/b?c=d&e=%20":         "lsd",
	"HTTPS://HOOKS.Example.COM/x":                     "lsd",
	"https://hooks.example.com:443/x":                 "lsd",
	"https://hooks.example.com:8443/x":                "lsd",
	"https://hooks.example.com:/x":                    "lsd",
	"https://example.com.":                            "lsd",
	"https://xn--bcher-kva.example/x":                 "lsd",
	"https://my_hooks.example.com":                    "lsd",
	"https://3com.example":                            "lsd",
	"https://127.0.0.1.nip.io":                        "lsd", // its resolution decides
	"https://internal.example.com":                    "lsd",
	"https://localhost.example.com":                   "lsd",
	"https://arpa.example.com":                        "lsd",
	"https://example.com/ü":                           "lsd",
	"https://example.com/%00":                         "lsd",
	"https://" + strings.Repeat("a", 63) + ".example": "lsd",

	"http://hooks.example.com":       "sd",
	"http://hooks.example.com:80":    "sd",
	"http://hooks.example.com:8080":  "sd",
	"http://hooks.example.com:443":   "d",
	"http://hooks.example.com:8443":  "d",
	"http://hooks.example.com:22":    "d",
	"https://hooks.example.com:80":   "d",
	"https://hooks.example.com:8080": "d",
	"https://hooks.example.com:22":   "d",
	"https://hooks.example.com:6379": "d",
	"https://hooks.example.com:0443": "d",
	"https://hooks.example.com:0":    "",

	"http://localhost:3000/hooks":                     "d",
	"https://localhost":                               "d",
	"https://hooks":                                   "d",
	"https://hooks.":                                  "d",
	"https://hooks.localhost":                         "d",
	"https://a.b.localhost.":                          "d",
	"https://printer.local":                           "d",
	"https://PRINTER.LOCAL":                           "d",
	"https://metadata.google.internal":                "d",
	"https://nas.home.arpa":                           "d",
	"https://home.arpa":                               "d",
	"https://127.0.0.1":                               "d",
	"https://127.0.0.1.":                              "d",
	"https://8.8.8.8":                                 "d",
	"https://8.8.8.8:8443/x":                          "d",
	"https://127.1":                                   "d",
	"https://2130706433":                              "d",
	"https://0x7f000001":                              "d",
	"https://0x7f.0x0.0x0.0x1":                        "d",
	"https://0177.0.0.01":                             "d",
	"https://127.0.0.0x1":                             "d",
	"https://1.2.3.4.5":                               "d",
	"https://[::1]":                                   "d",
	"https://[2606:4700::1111]:8443":                  "d",
	"https://[::ffff:127.0.0.1]":                      "d",
	"https://[fe80::1%25eth0]":                        "d",
	"https://example..com":                            "d",
	"https://example.com..":                           "d",
	"https://.example.com":                            "d",
	"https://bücher.example":                          "d",
	"https://example。com":                             "d", // resolvers treat it as a dot
	"https://hooks。internal":                          "d",
	"https://１２７.０.０.１":                               "d",
	"https://%e3%80%82.example.com":                   "d",
	"https://a!b.example.com":                         "d",
	"https://" + strings.Repeat("a", 64) + ".example": "d",
	"https://" + strings.Repeat("abcdefg.", 32) + "example.com": "d",

	"":                                   "",
	" ":                                  "",
	"https://":                           "",
	"https:///x":                         "",
	"https://:443":                       "",
	"https:hooks.example.com":            "",
	"https:/hooks.example.com":           "",
	"//hooks.example.com":                "",
	"hooks.example.com":                  "",
	"hooks.example.com:443":              "",
	"/hooks":                             "",
	"ftp://hooks.example.com":            "",
	"file:///etc/passwd":                 "",
	"gopher://hooks.example.com":         "",
	"ws://hooks.example.com":             "",
	"javascript:alert(1)":                "",
	"https://user@hooks.example.com":     "",
	"https://user:pw@hooks.example.com":  "",
	"https://@hooks.example.com":         "",
	"https://a:443@hooks.example.com":    "",
	"https://hooks.example.com/#":        "",
	"https://hooks.example.com/#a":       "",
	"https://hooks.example.com#@b.com":   "",
	"https://hooks.example.com:port":     "",
	"https://hooks.example.com:-1":       "",
	"https://hooks.example.com:80:80":    "",
	"https://hooks.example.com /x":       "",
	" https://hooks.example.com":         "",
	"https://hooks.example.com\n":        "",
	"https://hooks.example.com/\r\nX: y": "",
	"https://hooks.example.com\x00":      "",
	"https://a\\b.example.com":           "",
	"https://127.0.0.%31":                "",
	"https://[::1":                       "",
	"https://::1":                        "",
	"https://%zz.example.com":            "",
	"https://<hooks>.example.com":        "d",
}

func TestTheRulesForAddressesOfEndpoints(t *testing.T) {
	t.Parallel()
	if len(addresses) < 60 {
		t.Errorf("only %d addresses", len(addresses))
	}
	for address, where := range addresses {
		for _, c := range []struct {
			mark    string
			env     domain.Environment
			lenient bool
		}{{"l", domain.Live, false}, {"s", domain.Sandbox, false}, {"d", domain.Live, true}, {"d", domain.Sandbox, true}} {
			err := domain.CheckWebhookURL(address, c.env, c.lenient)
			if allowed := strings.Contains(where, c.mark); allowed != (err == nil) {
				t.Errorf("%q in %s, lenient %v: %v, want allowed %v", address, c.env, c.lenient, err, allowed)
			}
			if err == nil {
				continue
			}
			asError(t, err, domain.KindInvalid, domain.CodeWebhookURLNotAllowed)
			if len(err.Fields) != 1 || err.Fields[0].Field != "url" || !strings.HasSuffix(err.Message, err.Fields[0].Message) {
				t.Errorf("%q: %+v", address, err)
			}
		}
	}
}

func TestAnAddressMayHave2048Bytes(t *testing.T) {
	t.Parallel()
	const start = "https://hooks.example.com/"
	longest := start + strings.Repeat("a", domain.MaxWebhookURL-len(start))
	if err := domain.CheckWebhookURL(longest, domain.Live, false); err != nil {
		t.Error(err)
	}
	for _, lenient := range []bool{false, true} {
		if domain.CheckWebhookURL(longest+"a", domain.Live, lenient) == nil {
			t.Errorf("2,049 bytes pass; lenient %v", lenient)
		}
	}
}

func TestSecretsSignBesideEachOtherForTheOverlap(t *testing.T) {
	t.Parallel()
	names := func(e domain.WebhookEndpoint, at time.Time) string {
		var all []string
		for _, s := range e.ActiveSecrets(at) {
			all = append(all, string(s.Sealed))
		}
		return strings.Join(all, " ")
	}
	e := domain.WebhookEndpoint{Secrets: []domain.SigningSecret{{Sealed: []byte("a")}}}
	e.Rotate([]byte("b"), time.Hour, noon)
	if !e.UpdatedAt.Equal(noon) {
		t.Errorf("updated at %v", e.UpdatedAt)
	}
	for at, want := range map[time.Duration]string{0: "b a", time.Hour - time.Millisecond: "b a", time.Hour: "b", 1000 * time.Hour: "b"} {
		if got := names(e, noon.Add(at)); got != want {
			t.Errorf("after %v %q sign, want %q", at, got, want)
		}
	}
	e.Rotate([]byte("c"), time.Hour, noon.Add(time.Minute)) // a ends at once
	if got := names(e, noon.Add(time.Minute)); got != "c b" {
		t.Errorf("after a second rotation %q sign", got)
	}
	e.Rotate([]byte("d"), 0, noon.Add(2*time.Minute))
	if got := names(e, noon.Add(2*time.Minute)); got != "d" {
		t.Errorf("after a rotation without overlap %q sign", got)
	}
	var first domain.WebhookEndpoint
	first.Rotate([]byte("a"), time.Hour, noon)
	if got := names(first, noon); got != "a" {
		t.Errorf("of a new endpoint %q sign", got)
	}
}

func TestEnablingAnEndpointStartsAfresh(t *testing.T) {
	t.Parallel()
	e := domain.WebhookEndpoint{Enabled: true, URL: "https://a.example", EventTypes: []string{"*"}, Health: failing(9, noon)}
	if e.Status() != domain.EndpointFailing {
		t.Errorf("status %s", e.Status())
	}
	yes, no, same, other := true, false, "https://a.example", "https://b.example"
	for name, c := range map[string]domain.WebhookEndpointChange{
		"nothing": {}, "same": {URL: &same, EventTypes: []string{"*"}, Enabled: &yes},
	} {
		if e.Apply(c, noon) || !e.UpdatedAt.IsZero() {
			t.Errorf("%s changed it to %+v", name, e)
		}
	}
	if e.Health.Failures != 9 {
		t.Error("enabling an enabled endpoint forgets its health")
	}
	paused := e
	paused.Health = failing(10, noon)
	if !paused.Apply(domain.WebhookEndpointChange{Enabled: &yes}, noon) || paused.Health != (domain.WebhookHealth{}) {
		t.Errorf("enabling a paused endpoint leaves it paused: %+v", paused.Health)
	}
	moved := e
	if !moved.Apply(domain.WebhookEndpointChange{URL: &other}, noon) || moved.Health != (domain.WebhookHealth{}) {
		t.Errorf("what failed at another address counts on: %+v", moved.Health)
	}
	if !e.Apply(domain.WebhookEndpointChange{Enabled: &no}, noon) || e.Status() != domain.EndpointDisabled ||
		e.Disabled != domain.DisabledByCaller {
		t.Errorf("disabled: %+v", e)
	}
	at := noon.Add(sec)
	if !e.Apply(domain.WebhookEndpointChange{Enabled: &yes, URL: &other, EventTypes: []string{"delivery.*"}}, at) ||
		e.Status() != domain.EndpointHealthy || e.Disabled != "" || e.Health != (domain.WebhookHealth{}) ||
		e.URL != other || e.EventTypes[0] != "delivery.*" || !e.UpdatedAt.Equal(at) {
		t.Errorf("enabled: %+v", e)
	}
}
