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

	"github.com/stretchr/testify/require"

	"waybill/domain"
)

// The vector is computed here as the document tells receivers to, and by the
// program.
func TestTheTestVectorOfWebhooksIsRight(t *testing.T) {
	t.Parallel()
	v, ok := description(t).Webhooks["event"].Post.Extensions["x-waybill-test-vector"].(map[string]any)
	require.True(t, ok)
	text := func(name string) string { value, _ := v[name].(string); return value }
	body := []byte(text("body"))
	require.True(t, json.Valid(body))

	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text("secret"), "whsec_"))
	require.NoError(t, err)
	require.Len(t, key, domain.SigningSecretBytes)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text("webhook-id") + "." + text("webhook-timestamp") + "." + text("body")))
	require.Equal(t, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)), text("webhook-signature"))

	seconds, err := strconv.ParseInt(text("webhook-timestamp"), 10, 64)
	require.NoError(t, err)
	require.Equal(t, text("webhook-signature"), domain.SignWebhook([][]byte{key}, domain.ID(text("webhook-id")), time.Unix(seconds, 0), body))
	require.Equal(t, text("secret"), domain.FormatSigningSecret(key))
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
		for _, value := range schemas[name].Value.Enum {
			got = append(got, value.(string))
		}
		require.Equal(t, want, got, name)
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
		require.Contains(t, description(t).Info.Description, row+strings.Join(waits, ", ")+": "+strconv.Itoa(len(waits)+1)+" attempts", env)
	}
}

func names[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
