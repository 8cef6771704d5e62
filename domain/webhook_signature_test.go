package domain_test

import (
	"encoding/base64"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"waybill/domain"
)

// The test vector of the specification's own libraries.
func TestTheSignatureIsThatOfThePublishedVector(t *testing.T) {
	t.Parallel()
	secret, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	if got := domain.FormatSigningSecret(secret); got != "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" {
		t.Errorf("the secret is written %s", got)
	}
	got := domain.SignWebhook([][]byte{secret}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 999e6), []byte(`{"test": 2432232314}`))
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
	if got := domain.SignWebhook(nil, "msg_1", noon, nil); got != "" {
		t.Errorf("signed %q without a secret", got)
	}
}

func random(r *rand.Rand, most int) []byte {
	b := make([]byte, r.IntN(most+1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// receiver returns what an application runs: the public library with its secret.
func receiver(t *testing.T, secret []byte) *standardwebhooks.Webhook {
	t.Helper()
	w, err := standardwebhooks.NewWebhook(domain.FormatSigningSecret(secret))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestThePublicLibraryVerifiesWhatIsSigned(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		var secrets [][]byte
		for range 1 + i%2 { // two during a rotation
			secrets = append(secrets, append([]byte{1}, random(r, domain.SigningSecretBytes)...))
		}
		id, at, body := eventID(i), time.Now(), random(r, 2000)
		signed := func(by [][]byte, body []byte) http.Header {
			h := http.Header{}
			h.Set(domain.HeaderWebhookID, string(id))
			h.Set(domain.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
			h.Set(domain.HeaderWebhookSignature, domain.SignWebhook(by, id, at, body))
			return h
		}
		for n, secret := range secrets {
			if err := receiver(t, secret).Verify(body, signed(secrets, body)); err != nil {
				t.Fatalf("message %d, secret %d of %d: %v", i, n+1, len(secrets), err)
			}
		}
		if receiver(t, append([]byte{2}, secrets[0]...)).Verify(body, signed(secrets, body)) == nil {
			t.Fatalf("message %d: another secret verifies it", i)
		}
		if receiver(t, secrets[0]).Verify(append(body, ' '), signed(secrets, body)) == nil {
			t.Fatalf("message %d: a changed body is verified", i)
		}
	}
}

func TestTheNewestSecretSignsFirst(t *testing.T) {
	t.Parallel()
	both := domain.SignWebhook([][]byte{[]byte("new"), []byte("old")}, "evt_1", noon, []byte("{}"))
	first, second, ok := strings.Cut(both, " ")
	if !ok || first != domain.SignWebhook([][]byte{[]byte("new")}, "evt_1", noon, []byte("{}")) ||
		second != domain.SignWebhook([][]byte{[]byte("old")}, "evt_1", noon, []byte("{}")) {
		t.Errorf("got %s", both)
	}
}
