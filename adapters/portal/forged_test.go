package portal_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

func TestASecretEndsWhenTheListSaysAndNeverByAnotherNumber(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r, e := s.signedIn(t, s.house, domain.RoleDeveloper), s.house.endpoint
	action, form := r.get(hooks(e, "/rotate")).form(t, "Rotate")
	for _, seconds := range []string{"18446744074", "-1", "3601", "604801", "", "0x0", "+0", "9223372036854775807"} {
		form.Set("overlap_seconds", seconds)
		if p := r.post(action, form); p.status != http.StatusUnprocessableEntity || p.secret() != "" ||
			!strings.Contains(p.body, "Choose one of the list.") {
			t.Errorf("%q seconds: %d", seconds, p.status)
		}
	}
	now := must[domain.WebhookEndpoint](t)(s.Store.Read().Webhooks.EndpointOf(t.Context(), s.house.business.ID, e.ID))
	if !now.UpdatedAt.Equal(e.UpdatedAt) || len(now.ActiveSecrets(s.Clock.Now().Add(time.Second))) != 1 {
		t.Errorf("the endpoint was changed: %v", now.UpdatedAt)
	}
}

func TestAFormWithAnIDThatIsTakenIsAnsweredAsOneThatWasSentWhoseEverItIs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, s.house, domain.RoleDeveloper)
	answers := map[string]bool{}
	for whose, once := range map[string]domain.ID{"one of the API": s.house.endpoint.ID, "another business's": s.other.endpoint.ID} {
		form := newEndpointForm(s, s.house)
		form.Set("once", string(once))
		p := r.post("/webhooks", form)
		_, told, _ := strings.Cut(p.body, "No second endpoint was made")
		told, _, _ = strings.Cut(told, "</div>")
		answers[told] = true
		if p.status != http.StatusConflict || told == "" {
			t.Errorf("%s: %d\n%s", whose, p.status, p.body)
		}
	}
	owner := s.signedIn(t, s.house, domain.RoleOwner)
	form := newKey(s, s.house)
	form.Set("once", string(s.other.key[domain.Sandbox].ID))
	if p := owner.post(s.house.keysPath(domain.Sandbox), form); p.status != http.StatusConflict ||
		!strings.Contains(p.body, "No second key was made") {
		t.Errorf("the key of another business: %d", p.status)
	}
	if len(answers) != 1 {
		t.Errorf("the answers differ: %v", answers)
	}
}
