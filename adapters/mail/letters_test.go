package mail

import (
	"strings"
	"testing"

	"waybill/adapters/brand"
	"waybill/domain"
	"waybill/ports"
)

func TestEveryKindHasATextThatNamesTheBusinessEscapesNamesAndLoadsNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range domain.MailKinds() {
		m, err := Renderer{}.Render(ports.Letter{Kind: kind, Name: "<b>Ama", Business: "Adom Foods", Link: "https://portal.example/enter/x",
			Page: "https://portal.example/"})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if !strings.Contains(m.Subject, "Adom Foods") || !strings.Contains(m.HTML, "&lt;b&gt;Ama") || !strings.Contains(m.Text, "<b>Ama") {
			t.Errorf("%s: %q\n%s", kind, m.Subject, m.HTML)
		}
		for _, remote := range []string{"<b>", "<img", "<script", "src=", "url(", "<link", "@import"} {
			if strings.Contains(m.HTML, remote) {
				t.Errorf("%s has %s", kind, remote)
			}
		}
	}
}

func TestEveryMailHasTheCompanyAndItsSupportContact(t *testing.T) {
	t.Parallel()
	r := Renderer{brand.New(brand.Options{Name: "Kofi & Co", SupportURL: "https://kofi.example/help?a=1&b=2", SupportEmail: "help@kofi.example",
		Accent: "#ffcc00"})}
	for _, kind := range domain.MailKinds() {
		m, err := r.Render(ports.Letter{Kind: kind, Name: "Ama", Business: "Adom Foods", Link: "https://portal.example/enter/x", Page: "https://portal.example/"})
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"Kofi & Co\n", "https://kofi.example/help?a=1&b=2", "help@kofi.example"} {
			if !strings.Contains(m.Text, part) {
				t.Errorf("%s: no %q in\n%s", kind, part, m.Text)
			}
		}
		for _, part := range []string{"Kofi &amp; Co", `href="https://kofi.example/help?a=1&amp;b=2"`, `href="mailto:help@kofi.example"`} {
			if !strings.Contains(m.HTML, part) {
				t.Errorf("%s: no %q in\n%s", kind, part, m.HTML)
			}
		}
		if strings.Contains(m.HTML, "background:") && !strings.Contains(m.HTML, "background:"+r.Brand.Button()) || strings.Contains(m.Text+m.HTML, "Waybill") {
			t.Errorf("%s: another brand in\n%s", kind, m.HTML)
		}
	}
}

func TestNamesAreShortAndNoLinksInWhatTheyAreShownIn(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"URGENT: verify your account at http://evil.example/login": "URGENT: verify your account at http:// evil. ex…",
		"www.evil.example": "www. evil. example", "log in at evil.example": "log in at evil. example", "ama@evil.example": "ama@evil. example",
		"evil．example": "evil． example", "10.0.0.1": "10. 0. 0. 1", strings.Repeat("Ɔ", 128): strings.Repeat("Ɔ", 47) + "…",
		"Ama Mensah": "Ama Mensah", "J. K. Mensah Jr.": "J. K. Mensah Jr.", "Kofi \"KO\" Mensah": "Kofi \"KO\" Mensah", "Adom Foods Ltd.": "Adom Foods Ltd.",
	} {
		if got := named(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
	const evil = "Click http://evil.example/login or www.evil.example "
	for _, kind := range domain.MailKinds() {
		m, err := Renderer{}.Render(ports.Letter{Kind: kind, Name: evil, Business: evil, By: evil, App: evil, Passkey: evil, Device: evil,
			Changes: []ports.KeyChange{{Kind: domain.MailKeyCreated, App: evil, By: evil}}})
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{"name": m.Name, "subject": m.Subject, "text": m.Text, "HTML": m.HTML} {
			if strings.Contains(text, "evil.example") || strings.Contains(text, "http://evil") {
				t.Errorf("%s: the %s has a link: %s", kind, what, text)
			}
		}
		if n := len([]rune(m.Subject)); n > 120 {
			t.Errorf("%s: the subject has %d characters", kind, n)
		}
	}
}
