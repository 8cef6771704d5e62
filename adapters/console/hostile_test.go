package console_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"waybill/application/people"
	"waybill/domain"
)

func TestALinkForAPersonOfTwoCustomersLeadsToTheOneOnWhosePageItIsMade(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	other := must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, "Kofi Pharmacy", nil))
	s.join(t, s.business.ID, "both@adom.example", "Both", domain.RoleDeveloper)
	both := s.join(t, other.ID, "both@adom.example", "Both", domain.RoleViewer).Person.ID
	made := s.signedIn(t, domain.RoleAdmin).post("/businesses/"+string(other.ID)+"/people/"+string(both)+"/link", nil)
	link := regexp.MustCompile(portalURL + `/enter/([^<]+)<`).FindStringSubmatch(made.body)
	if link == nil {
		t.Fatalf("no link: %d %s", made.status, made.body)
	}
	entered := must[people.Entered](t)(s.access.Enter(t.Context(), people.Browser{}, link[1]))
	if entered.Session.BusinessID != other.ID || entered.Role != domain.RoleViewer {
		t.Errorf("it lets in as %s of %s, want a viewer of %s", entered.Role, entered.Session.BusinessID, other.ID)
	}
}

func TestAFileThatIsNoTextIsRefusedAndNotStored(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleDispatcher)
	before := s.state(t)
	for _, to := range []string{"/bulk", "/bulk/move"} {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		file := must[io.Writer](t)(form.CreateFormFile("file", "references.csv"))
		_, _ = file.Write([]byte("\xff\xfeA\x00B\x00")) // UTF-16, as spreadsheets save it
		_, _ = must[io.Writer](t)(form.CreateFormField("status")).Write([]byte("assigned"))
		if err := form.Close(); err != nil {
			t.Fatal(err)
		}
		req := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+to, &body))
		req.Header.Set("Content-Type", form.FormDataContentType())
		res := must[*http.Response](t)(r.client.Do(req))
		said := must[[]byte](t)(io.ReadAll(res.Body))
		_ = res.Body.Close()
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(said), "no text in UTF-8") {
			t.Errorf("%s: %d", to, res.StatusCode)
		}
	}
	s.wantSame(t, before, "a file that is no text")
}
