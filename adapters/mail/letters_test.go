package mail

import (
	"strings"
	"testing"

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
