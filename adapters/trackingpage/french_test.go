package trackingpage_test

import (
	"net/http"
	"strings"
	"testing"

	"waybill/domain"
)

// preferring gets an address with a browser's languages.
func preferring(t *testing.T, languages, address string) answer {
	t.Helper()
	return sendAs(t, http.Header{"Accept-Language": {languages}}, address)
}

func TestThePageIsInTheLanguageOfItsReader(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.book(t, domain.Live)
	at := s.url + "/" + string(d.Reference)
	const french, english = "Votre livraison est enregistrée", "Your parcel is booked"
	for _, c := range []struct{ accepts, query, headline, tag, keeps, other string }{
		{"", "", english, "en", `href="` + string(d.Reference) + `"`, `href="?lang=fr"`},
		{"fr-CI,fr;q=0.9,en;q=0.8", "", french, "fr", `href="` + string(d.Reference) + `"`, `href="?lang=en"`},
		{"tw,en;q=0.5,fr;q=0.4", "", english, "en", `href="` + string(d.Reference) + `"`, `href="?lang=fr"`},
		{"de", "", english, "en", `href="` + string(d.Reference) + `"`, `href="?lang=fr"`},
		{"en", "?lang=fr", french, "fr", `href="` + string(d.Reference) + `?lang=fr"`, `href="?lang=en"`},
		{"fr", "?lang=en", english, "en", `href="` + string(d.Reference) + `?lang=en"`, `href="?lang=fr"`},
		{"fr", "?lang=%22%3E", french, "fr", `href="` + string(d.Reference) + `"`, `href="?lang=en"`},
	} {
		got := preferring(t, c.accepts, at+c.query)
		for _, part := range []string{"<h1>" + c.headline, `<html lang="` + c.tag + `">`, c.keeps, c.other, `/stream?lang=` + c.tag + `"`} {
			if !strings.Contains(got.body, part) {
				t.Errorf("%s %s: no %s in\n%s", c.accepts, c.query, part, got.body)
			}
		}
		if got.Header.Get("Content-Language") != c.tag || got.Header.Get("Vary") != "Accept-Language" {
			t.Errorf("%s %s: %v", c.accepts, c.query, got.Header)
		}
	}
	if body := preferring(t, "fr", at).body; !strings.Contains(body, ">14 mars 2026, 09:27 UTC</time>") || !strings.Contains(body, ">Actualiser</a>") ||
		strings.Contains(body, "Refresh") {
		t.Errorf("in French\n%s", body)
	}
	l := s.listen(t, d.Reference, "203.0.113.9", "?lang=fr&seen=1", "")
	s.move(t, d, "", domain.Assigned)
	l.want(t, "2", "change", "Un livreur va récupérer votre colis")
}

func TestAChosenLanguageStaysOverTheForm(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := string(s.book(t, domain.Live).Reference)
	if got := preferring(t, "en", s.url+"/none?lang=fr"); got.StatusCode != http.StatusNotFound ||
		!strings.Contains(got.body, "Nous ne trouvons pas ce colis") || !strings.Contains(got.body, `<input type="hidden" name="lang" value="fr">`) {
		t.Errorf("%d\n%s", got.StatusCode, got.body)
	}
	for _, from := range []string{"/?reference=" + strings.ToLower(r) + "&lang=fr", "/" + strings.ToLower(r) + "?lang=fr"} {
		if _, to, _ := led(t, s.url+from); to != s.url+"/"+r+"?lang=fr" {
			t.Errorf("%s leads to %s", from, to)
		}
	}
}
