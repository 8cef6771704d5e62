package contract_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waybill/domain"
)

// The vector is computed here as the document tells receivers to, and by the
// program.
func TestTheTestVectorOfWebhooksIsRight(t *testing.T) {
	t.Parallel()
	v, ok := description(t).Webhooks["event"].Post.Extensions["x-waybill-test-vector"].(map[string]any)
	if !ok {
		t.Fatal("ok is false")
	}
	text := func(name string) string { value, _ := v[name].(string); return value }
	body := []byte(text("body"))
	if !json.Valid(body) {
		t.Fatal("json.Valid(body) is false")
	}

	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text("secret"), "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	if len(key) != domain.SigningSecretBytes {
		t.Fatalf("a key of %d bytes, want %d", len(key), domain.SigningSecretBytes)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text("webhook-id") + "." + text("webhook-timestamp") + "." + text("body")))
	signature := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if got := text("webhook-signature"); got != signature {
		t.Fatalf("webhook-signature: %q, want %q", got, signature)
	}

	seconds, err := strconv.ParseInt(text("webhook-timestamp"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if got := domain.SignWebhook([][]byte{key}, domain.ID(text("webhook-id")), time.Unix(seconds, 0), body); got != text("webhook-signature") {
		t.Fatalf("our signature: %q, want %q", got, text("webhook-signature"))
	}
	if got := domain.FormatSigningSecret(key); got != text("secret") {
		t.Fatalf("our secret: %q, want %q", got, text("secret"))
	}
}

func TestTheDocumentNamesEveryEventType(t *testing.T) {
	t.Parallel()
	schemas := description(t).Components.Schemas
	for name, want := range map[string][]string{
		"EventPattern":      domain.EventPatterns(),
		"EventType":         names(domain.EventTypes()),
		"DeliveryEventType": names(domain.DeliveryEventTypes()),
		"WebhookErrorClass": names(domain.ErrorClasses()),
	} {
		var got []string
		values := schemas[name].Value.Examples // a list of values that may grow
		if name == "WebhookErrorClass" {
			values = schemas[name].Value.Enum
		}
		for _, value := range values {
			got = append(got, value.(string))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The waits in the preface are those of the program.
func TestTheDocumentTellsTheRetrySchedule(t *testing.T) {
	t.Parallel()
	short := strings.NewReplacer("h0m0s", " h", "m0s", " min", "s", " s")
	for env, row := range map[domain.Environment]string{domain.Live: "| Live | ", domain.Sandbox: "| Sandbox | "} {
		var waits []string
		for _, wait := range domain.DefaultRetrySchedule(env) {
			waits = append(waits, short.Replace(wait.String()))
		}
		row += strings.Join(waits, ", ") + ": " + strconv.Itoa(len(waits)+1) + " attempts"
		if text := description(t).Info.Description; !strings.Contains(text, row) {
			t.Fatalf("%s: %q lacks %q", env, text, row)
		}
	}
}

func names[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
