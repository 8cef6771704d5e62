package console_test

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

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

func TestAViewerDoesNotReadInAWebhookWhomADeliveryIsFor(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var sent domain.WebhookDelivery
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		e, err := tx.Webhooks.InsertEndpoint(ctx, sample.WebhookEndpoint(s.delivery.Tenant))
		if err == nil {
			sent, err = tx.Webhooks.PublishTo(ctx, e, sample.EndpointEvent(domain.EventEndpointTest, func(f *domain.FeedEvent) {
				f.OccurredAt, f.Payload = s.Clock.Now(), []byte(`{"recipient":{"phone_number":"0277123456"}}`)
			}))
		}
		return err
	})
	path := s.customerAt("/webhooks/" + string(sent.EndpointID) + "/sent/" + string(sent.ID))
	for role, may := range map[domain.Role]bool{
		domain.RoleAdmin: true, domain.RoleDispatcher: true, domain.RoleSupport: true, domain.RoleViewer: false,
	} {
		p := s.signedIn(t, role).get(path)
		if p.status != http.StatusOK || strings.Contains(p.body, "0277123456") != may {
			t.Errorf("%s: %d, reads the phone number: %t, want %t", role, p.status, !may, may)
		}
	}
}

// The link lets the person into all their customers, so that it is for their own mailbox.
func TestALinkForAPersonIsMailedAndLeadsToTheCustomerOnWhosePageItIsMade(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	*s.directory = *people.NewDirectory(s.Store, s.Clock, s.IDs, true)
	other := must[domain.Business](t)(s.tenants.CreateBusiness(t.Context(), operator, "Kofi Pharmacy", nil))
	s.join(t, s.business.ID, "kofi@adom.example", "Kofi", domain.RoleDeveloper)
	efua := s.join(t, other.ID, "efua@adom.example", "Efua", domain.RoleViewer).Person.ID
	made := s.signedIn(t, domain.RoleAdmin).post("/businesses/"+string(other.ID)+"/people/"+string(efua)+"/link", nil)
	if made.status != http.StatusOK || !strings.Contains(made.body, "It goes to efua@adom.example by email") ||
		strings.Contains(made.body, "/enter/") {
		t.Errorf("%d %s", made.status, made.body)
	}
	due := s.Clock.Now().Add(time.Hour)
	sent := slices.DeleteFunc(must[[]domain.Mail](t)(s.Store.Mails().Lease(t.Context(), ports.MailLease{Now: due, Until: due, Limit: 100})), func(m domain.Mail) bool {
		return m.Kind != domain.MailSignInLink
	})
	if len(sent) != 1 || sent[0].PersonID != efua || sent[0].BusinessID != other.ID {
		t.Errorf("%+v, want one mail to a viewer of %s", sent, other.ID)
	}
}
