package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// receiver is an integrator's server on this machine.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []received
	status int // that it answers
}

// received is one request to it.
type received struct {
	header http.Header
	body   []byte
	tree   *answer
}

func newReceiver(t testing.TB) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusOK}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil || req.Method != http.MethodPost {
			t.Errorf("a webhook came as %s: %v", req.Method, err)
		}
		r.mu.Lock()
		r.got = append(r.got, received{req.Header, body, &answer{t: t, what: "the webhook", body: body, tree: parse(body)}})
		status := r.status
		r.mu.Unlock()
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "noted")
	}))
	t.Cleanup(r.Close)
	return r
}

// answers sets the status of all answers from now on.
func (r *receiver) answers(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received{}, r.got...)
}

// awaits returns the first n requests, once there are that many.
func (r *receiver) awaits(t testing.TB, n int) []received {
	t.Helper()
	eventually(t, strconv.Itoa(n)+" webhooks have arrived", func() bool { return len(r.all()) >= n })
	return r.all()[:n]
}

// signedBy says under which of the secrets there is a signature, computed as
// the description says.
func (got received) signedBy(t testing.TB, secrets ...string) []bool {
	t.Helper()
	seconds, err := strconv.ParseInt(got.header.Get("webhook-timestamp"), 10, 64)
	if age := time.Since(time.Unix(seconds, 0)); err != nil || age < -5*time.Minute || age > 5*time.Minute {
		t.Errorf("webhook-timestamp is %q", got.header.Get("webhook-timestamp"))
	}
	signed := make([]bool, len(secrets))
	for i, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) != 32 {
			t.Fatalf("the secret %q is none: %v", secret, err)
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(got.header.Get("webhook-id") + "." + got.header.Get("webhook-timestamp") + "."))
		mac.Write(got.body)
		want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for part := range strings.SplitSeq(got.header.Get("webhook-signature"), " ") {
			signed[i] = signed[i] || hmac.Equal([]byte(part), []byte(want))
		}
	}
	return signed
}

// endpoint makes one at the receiver, and returns it with its secret.
func (c *client) endpoint(r *receiver, changes ...change) (id, secret string) {
	c.t.Helper()
	made := c.post("/webhook-endpoints", apply(m{"url": r.URL + "/hooks"}, changes)).is(201)
	return made.id(), made.text("data.secret")
}

// sent lists what was sent to an endpoint.
func (c *client) sent(endpoint, query string) *answer {
	c.t.Helper()
	return c.get("/webhook-endpoints/" + endpoint + "/deliveries" + query).is(200)
}
