package letters

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
