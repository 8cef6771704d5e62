package integrator

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

func TestAWebhookIsBelievedOnlyWithASignatureOfThisSecretAndTime(t *testing.T) {
	t.Parallel()
	key, other := []byte(strings.Repeat("k", 32)), []byte(strings.Repeat("o", 32))
	secret := domain.FormatSigningSecret(key)
	now := time.Date(2026, 11, 21, 10, 0, 0, 400_000_000, time.UTC)
	body := []byte(`{"id":"evt_1"}`)
	signed := func(at time.Time, keys ...[]byte) http.Header {
		h := http.Header{}
		h.Set(domain.HeaderWebhookID, "evt_1")
		h.Set(domain.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
		h.Set(domain.HeaderWebhookSignature, domain.SignWebhook(keys, "evt_1", at, body))
		return h
	}
	with := func(h http.Header, name, value string) http.Header { h.Set(name, value); return h }
	for name, c := range map[string]struct {
		secret string
		header http.Header
		body   []byte
		want   string // empty: valid
	}{
		"now":                 {secret, signed(now, key), body, ""},
		"while it is rotated": {secret, signed(now, other, key), body, ""},
		"a little late":       {secret, signed(now.Add(-webhookTolerance+time.Second), key), body, ""},
		"too late":            {secret, signed(now.Add(-webhookTolerance-time.Second), key), body, "its time is off by 5m"},
		"from the future":     {secret, signed(now.Add(webhookTolerance+2*time.Second), key), body, "its time is off by 5m"},
		"of another secret":   {secret, signed(now, other), body, "no signature"},
		"another body":        {secret, signed(now, key), append([]byte(" "), body...), "no signature"},
		"another ID":          {secret, with(signed(now, key), domain.HeaderWebhookID, "evt_2"), body, "no signature"},
		"another time":        {secret, with(signed(now, key), domain.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix()+1, 10)), body, "no signature"},
		"no signature":        {secret, with(signed(now, key), domain.HeaderWebhookSignature, ""), body, "no signature"},
		"another version":     {secret, with(signed(now, key), domain.HeaderWebhookSignature, "v2"+strings.TrimPrefix(domain.SignWebhook([][]byte{key}, "evt_1", now, body), "v1")), body, "no signature"},
		"no time":             {secret, with(signed(now, key), domain.HeaderWebhookTimestamp, ""), body, "there is no webhook-timestamp"},
		"no headers":          {secret, http.Header{}, body, "there is no webhook-timestamp"},
		"no secret":           {"whsec_", signed(now, []byte{}), body, "the secret cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := VerifyWebhook(c.secret, c.header, c.body, now)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
