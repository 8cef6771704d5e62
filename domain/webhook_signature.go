package domain

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"time"
)

// The names of the headers in the Standard Webhooks specification.
const (
	HeaderWebhookID        = "webhook-id"
	HeaderWebhookTimestamp = "webhook-timestamp"
	HeaderWebhookSignature = "webhook-signature"
	HeaderWebhookAttempt   = "x-webhook-attempt" // not signed
)

// SigningSecretBytes is the length of a secret before encoding.
const SigningSecretBytes = 32

const secretPrefix = "whsec_"

// FormatSigningSecret returns a secret as receivers configure it.
func FormatSigningSecret(secret []byte) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(secret)
}

// SignWebhook returns the signature of a message under each secret, as one header value. The time
// counts in whole seconds.
func SignWebhook(secrets [][]byte, id ID, at time.Time, body []byte) string {
	header := ""
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(string(id) + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		if header != "" {
			header += " "
		}
		header += "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return header
}
