package integrator

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"waybill/domain"
)

// webhookTolerance is how far the time of a webhook may be off: what was
// recorded and is sent again later must not pass.
const webhookTolerance = 5 * time.Minute

// VerifyWebhook checks what every receiver has to before it believes a webhook:
// one of the signatures is made with the secret, and the time is about now.
func VerifyWebhook(secret string, h http.Header, body []byte, now time.Time) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return errors.New("the secret cannot be read")
	}
	seconds, err := strconv.ParseInt(h.Get(domain.HeaderWebhookTimestamp), 10, 64)
	if err != nil {
		return errors.New("there is no " + domain.HeaderWebhookTimestamp)
	}
	at := time.Unix(seconds, 0)
	want := domain.SignWebhook([][]byte{key}, domain.ID(h.Get(domain.HeaderWebhookID)), at, body)
	signed := false
	for _, signature := range strings.Fields(h.Get(domain.HeaderWebhookSignature)) { // two while a secret is rotated
		signed = hmac.Equal([]byte(signature), []byte(want)) || signed
	}
	if !signed {
		return errors.New("no signature was made with this secret")
	}
	if off := now.Sub(at).Abs(); off > webhookTolerance {
		return fmt.Errorf("its time is off by %s", off.Round(time.Second))
	}
	return nil
}
